//! [`Queue`]: the contract of both delta queues, as plain values.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::{Deltas, Object, ObjectName, Replacement, ResourceVersion, Undecodable};

/// A delta queue between a reflector and a store: a plain value without IO, clock or
/// lock. [`SharedQueue`](crate::SharedQueue) wraps one for two tasks.
///
/// # Contract
/// - What [`pop`](Self::pop) hands out is *in flight* until [`done`](Self::done). The
///   queue takes changes meanwhile, and treats in-flight keys as known: a delete that
///   arrives while its add is being processed is kept. (B57)
/// - [`has_synced`](Self::has_synced) turns true when everything the first `replace`
///   queued has been processed, or with the first change if that comes before any
///   `replace`; it never turns false again.
///
/// # Upstream
/// `cache.Queue`; the queue's lock is held while an item is processed there.
pub trait Queue<T: Object>: Send {
    /// Queues an object that the watch found added.
    fn add(&mut self, obj: Arc<T>);

    /// Queues a new version of an object.
    fn update(&mut self, obj: Arc<T>);

    /// Queues a delete, whose final state may be unreadable.
    fn delete(
        &mut self,
        name: ObjectName,
        final_state: Option<Arc<T>>,
        resource_version: Option<&ResourceVersion>,
    );

    /// Queues the news that an object is there in a version that does not decode.
    fn undecodable(&mut self, undecodable: Arc<Undecodable>);

    /// Queues whatever makes `list` the whole truth.
    fn replace(&mut self, list: Replacement<T>, resource_version: Option<&ResourceVersion>);

    /// Repeats every stored object without a pending change.
    fn resync(&mut self);

    /// Notes that nothing else happened up to `resource_version`.
    fn bookmark(&mut self, resource_version: &ResourceVersion);

    /// Takes out the oldest work: of `max` keys at most, and never across the end of
    /// the initial population. `None` if there is none, or while some is in flight.
    fn pop(&mut self, max: NonZeroUsize) -> Option<Popped<T>>;

    /// The work in flight has been processed.
    fn done(&mut self);

    /// Whether the initial population has been processed.
    fn has_synced(&self) -> bool;

    /// Keys (or entries) that wait, without those in flight.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the producer should wait for the consumer.
    fn is_full(&self) -> bool;
}

/// What [`Queue::pop`] hands out.
pub struct Popped<T> {
    /// The work.
    pub work: Work<T>,
    /// Whether it belongs to the initial population.
    pub is_in_initial_list: bool,
    /// Once the work is in the store, the store is as of this version.
    pub checkpoint: Option<ResourceVersion>,
}

/// One piece of work for the consumer of a queue.
pub enum Work<T> {
    /// Deltas of distinct keys, to be applied in order.
    Deltas(Vec<(ObjectName, Deltas<T>)>),
    /// A whole list that replaces the store at once.
    ReplacedAll(ReplacedAll<T>),
    /// Repeat every stored object.
    SyncAll,
    /// Nothing but the checkpoint.
    Bookmark,
}

/// A whole list, in the server's order.
///
/// # Upstream
/// `cache.ReplacedAllInfo`.
#[doc(alias = "ReplacedAllInfo")]
pub struct ReplacedAll<T> {
    /// The namespace that the list is about; `None`: everything.
    pub namespace: Option<Arc<str>>,
    /// The objects, in list order; of several with one name the last one counts.
    pub objects: Vec<(ObjectName, Arc<T>)>,
    /// Objects that are there but do not decode: to be kept, not deleted.
    pub undecodable: Vec<Arc<Undecodable>>,
}

impl<T> fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deltas(batch) => f.debug_tuple("Deltas").field(batch).finish(),
            Self::ReplacedAll(all) => write!(f, "ReplacedAll({})", all.objects.len()),
            Self::SyncAll => f.write_str("SyncAll"),
            Self::Bookmark => f.write_str("Bookmark"),
        }
    }
}

impl<T> fmt::Debug for Popped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Popped")
            .field("work", &self.work)
            .field("is_in_initial_list", &self.is_in_initial_list)
            .field("checkpoint", &self.checkpoint)
            .finish()
    }
}
