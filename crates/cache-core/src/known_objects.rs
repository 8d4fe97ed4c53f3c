//! [`KnownObjects`]: what the queue may ask of the store behind it.

use std::sync::Arc;

use crate::ObjectName;

/// The store behind a queue, as far as the queue asks: what deletes are worth keeping,
/// which objects a relist no longer has, what a resync repeats.
///
/// # Locks
/// Called under the queue's lock: an implementation must not call back into the queue.
///
/// # Upstream
/// `cache.KeyListerGetter`.
#[doc(alias = "KeyListerGetter")]
pub trait KnownObjects<T>: Send + Sync {
    /// The stored object of that name, by a version that decoded.
    fn known(&self, name: &ObjectName) -> Option<Arc<T>>;

    /// Whether anything is known under that name, be it only as undecodable.
    fn is_known(&self, name: &ObjectName) -> bool {
        self.known(name).is_some()
    }

    /// Visits every name that is known; without an object where no version decoded.
    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectName, Option<&Arc<T>>));
}
