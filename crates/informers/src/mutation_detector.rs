//! [`MutationDetector`]: finds cached objects that were changed in place.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informers_cache_core::{Object, ObjectName};
use informers_processor::Notification;

use crate::handle_deltas::Told;

/// How often all objects are looked at, as in client-go.
pub(crate) const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// A switch for tests and debugging: finds objects of the cache that were changed in place.
///
/// Objects are shared by `Arc`, so that safe code can change one only through interior
/// mutability: a `Mutex`, a `Cell` or an atomic inside a type of one's own. Every handler
/// and lister then sees a state that no server ever sent. This takes a fingerprint of each
/// object when it is stored and compares it once a second, and when the object leaves.
///
/// # Memory
/// A key, a reference and eight bytes for each object, and the time of one fingerprint of
/// each object a second.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use informers::{InformerOptions, MutationDetector};
///
/// # #[derive(serde::Deserialize)]
/// struct Seen { /* metadata, and */ times: AtomicU32 }
/// let detector = MutationDetector::new(|seen: &Seen| {
///     u64::from(seen.times.load(Ordering::Relaxed))
/// });
/// # fn with<T: informers::Object>(options: InformerOptions<T>, detector: MutationDetector<T>) {
/// let options = options.with_mutation_detector(detector);
/// # }
/// ```
///
/// # Upstream
/// `cache.MutationDetector`, which copies each object and ends the process.
pub struct MutationDetector<T> {
    fingerprint: Box<dyn Fn(&T) -> u64 + Send + Sync>,
    on_mutation: Box<dyn Fn(&ObjectName) + Send + Sync>,
    seen: Mutex<HashMap<ObjectName, (Arc<T>, u64)>>,
}

impl<T> MutationDetector<T> {
    /// Compares objects by `fingerprint`, for example a hash of their serialised form. What
    /// is found is logged as an error.
    pub fn new(fingerprint: impl Fn(&T) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            fingerprint: Box::new(fingerprint),
            on_mutation: Box::new(|name| {
                tracing::error!(object = %name, "a cached object was changed in place");
            }),
            seen: Mutex::default(),
        }
    }

    /// What is done about an object that was changed, instead of a log line. It is called
    /// once for each change, from a task of the informer.
    #[must_use]
    pub fn on_mutation(mut self, act: impl Fn(&ObjectName) + Send + Sync + 'static) -> Self {
        self.on_mutation = Box::new(act);
        self
    }

    /// Looks at every object.
    pub(crate) fn check(&self) {
        let mut changed = Vec::new();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, (obj, fingerprint)) in &mut *seen {
            let now = (self.fingerprint)(obj);
            if now != *fingerprint {
                *fingerprint = now;
                changed.push(name.clone());
            }
        }
        drop(seen);
        changed.iter().for_each(&self.on_mutation);
    }
}

impl<T: Object> MutationDetector<T> {
    /// Takes over what the store took over, and looks at what left it.
    pub(crate) fn follow(&self, told: &Told<T>) {
        let mut changed = Vec::new();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (notification, _) in told {
            let name = notification.name();
            let stored = match notification {
                Notification::Add { obj, .. } => Some(obj),
                Notification::Update { new, .. } => Some(new),
                Notification::Delete(_) => None,
            };
            let left = match stored {
                Some(obj) => seen.insert(name.clone(), (Arc::clone(obj), (self.fingerprint)(obj))),
                None => seen.remove(&name),
            };
            if let Some((obj, fingerprint)) = left
                && (self.fingerprint)(&obj) != fingerprint
            {
                changed.push(name);
            }
        }
        drop(seen);
        changed.iter().for_each(&self.on_mutation);
    }
}

impl<T> fmt::Debug for MutationDetector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MutationDetector")
    }
}
