//! [`Cache`]: the objects decoded last.

use std::sync::{Arc, Mutex, PoisonError};

/// A fixed number of places; an object's serial number says which is its own.
///
/// # Locks
/// One a place, held for a comparison and the copy of a pointer.
pub(super) struct Cache<K>(Box<[Mutex<Place<K>>]>);

struct Place<K>(Option<(u64, Arc<K>)>);

impl<K> Cache<K> {
    pub(super) fn new(places: usize) -> Self {
        Self((0..places).map(|_| Mutex::new(Place(None))).collect())
    }

    pub(super) fn get(&self, serial: u64) -> Option<Arc<K>> {
        let place = self
            .place(serial)?
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &place.0 {
            Some((own, decoded)) if *own == serial => Some(Arc::clone(decoded)),
            _ => None,
        }
    }

    pub(super) fn put(&self, serial: u64, decoded: &Arc<K>) {
        let Some(place) = self.place(serial) else {
            return;
        };
        let new = Place(Some((serial, Arc::clone(decoded))));
        let old = std::mem::replace(
            &mut *place.lock().unwrap_or_else(PoisonError::into_inner),
            new,
        );
        // Outside of the lock: the last owner of a large object frees it here.
        drop(old);
    }

    fn place(&self, serial: u64) -> Option<&Mutex<Place<K>>> {
        let places = u64::try_from(self.0.len())
            .ok()
            .filter(|places| *places > 0)?;
        let place = usize::try_from(serial % places).ok()?;
        self.0.get(place)
    }
}

#[cfg(test)]
mod tests;
