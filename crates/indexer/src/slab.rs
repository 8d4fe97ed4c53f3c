//! [`Slab`]: the entries of a store by slot, in chunks that a snapshot can share.

use std::sync::Arc;

use informers_cache_core::ObjectName;

/// Entries in a chunk. A snapshot of a million objects shares 16 thousand chunks, and
/// the first write to a shared chunk copies 64 entries (about 1 µs).
const CHUNK: usize = 64;

/// One stored object.
pub(crate) struct Entry<T> {
    pub(crate) name: ObjectName,
    pub(crate) obj: Arc<T>,
}

/// A run of [`CHUNK`] slots. Immutable while anyone else holds it.
pub(crate) struct Chunk<T>([Option<Entry<T>>; CHUNK]);

/// Entries by slot. Slots are reused, and stay where they are otherwise.
pub(crate) struct Slab<T> {
    chunks: Vec<Arc<Chunk<T>>>,
    /// Slots below `end` without an entry.
    free: Vec<u32>,
    /// Every slot from here on was never used.
    end: u32,
}

impl<T> Slab<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            chunks: Vec::with_capacity(capacity.div_ceil(CHUNK)),
            free: Vec::new(),
            end: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.end as usize - self.free.len()
    }

    pub(crate) fn get(&self, slot: u32) -> &Entry<T> {
        entry(&self.chunks, slot).expect("a slot in use has an entry")
    }

    pub(crate) fn insert(&mut self, entry: Entry<T>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.end;
            self.end = slot
                .checked_add(1)
                .expect("a store has less than 2^32 objects");
            slot
        });
        if slot as usize == self.chunks.len() * CHUNK {
            self.chunks.push(Arc::new(Chunk([const { None }; CHUNK])));
        }
        *self.place(slot) = Some(entry);
        slot
    }

    /// Exchanges the object of a slot in use.
    pub(crate) fn replace(&mut self, slot: u32, obj: Arc<T>) -> Arc<T> {
        let entry = self.place(slot).as_mut();
        std::mem::replace(&mut entry.expect("a slot in use has an entry").obj, obj)
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Entry<T> {
        let entry = self.place(slot).take();
        self.free.push(slot);
        entry.expect("a slot in use has an entry")
    }

    /// Shares every chunk as it is now.
    pub(crate) fn chunks(&self) -> Vec<Arc<Chunk<T>>> {
        self.chunks.clone()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Entry<T>)> {
        slots(&self.chunks)
    }

    /// Whether most of the memory is empty.
    pub(crate) fn is_sparse(&self) -> bool {
        crate::is_sparse(self.len(), self.end as usize)
    }

    pub(crate) fn bytes(&self) -> usize {
        let chunk = size_of::<Chunk<T>>() + 2 * size_of::<usize>();
        self.chunks.capacity() * size_of::<usize>()
            + self.chunks.len() * chunk
            + self.free.capacity() * size_of::<u32>()
    }

    fn place(&mut self, slot: u32) -> &mut Option<Entry<T>> {
        let slot = slot as usize;
        &mut Arc::make_mut(&mut self.chunks[slot / CHUNK]).0[slot % CHUNK]
    }
}

/// The entry of a slot in chunks that a [`Slab`] shared.
pub(crate) fn entry<T>(chunks: &[Arc<Chunk<T>>], slot: u32) -> Option<&Entry<T>> {
    let slot = slot as usize;
    chunks.get(slot / CHUNK)?.0[slot % CHUNK].as_ref()
}

/// The entries and their slots in chunks that a [`Slab`] shared.
pub(crate) fn slots<T>(chunks: &[Arc<Chunk<T>>]) -> impl Iterator<Item = (u32, &Entry<T>)> {
    let places = chunks.iter().flat_map(|chunk| &chunk.0);
    (0..)
        .zip(places)
        .filter_map(|(slot, place)| Some((slot, place.as_ref()?)))
}

impl<T> Chunk<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.0.iter().flatten()
    }
}

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self(std::array::from_fn(|place| self.0[place].clone()))
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            obj: Arc::clone(&self.obj),
        }
    }
}
