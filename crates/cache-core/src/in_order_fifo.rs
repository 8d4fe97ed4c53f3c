//! [`InOrderFifo`]: the watch's own order, across keys.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hashbrown::HashSet;

use crate::population::Population;
use crate::replacement::ReplacementItem;
use crate::{
    DeleteReason, Deleted, Delta, Deltas, Object, ObjectName, Popped, Queue, ReplacedAll,
    Replacement, ResourceVersion, Undecodable, Work,
};

/// Capacity that an empty queue keeps; what a burst needed beyond it is returned.
const KEPT_CAPACITY: usize = 1024;

enum Entry<T> {
    Delta {
        name: ObjectName,
        delta: Delta<T>,
        version: Option<ResourceVersion>,
    },
    ReplacedAll {
        all: ReplacedAll<T>,
        version: Option<ResourceVersion>,
    },
    SyncAll,
    Bookmark(ResourceVersion),
}

/// A queue that keeps the order of the watch across keys: every change is one entry, a
/// relist is one atomic entry, and so is a resync.
///
/// Consecutive changes of distinct keys leave together, so that the store takes them
/// under one lock.
///
/// # Memory
/// [`is_full`](Queue::is_full) from [`DEPTH`](Self::DEPTH) entries on, which makes the
/// reflector wait before it reads on; a whole list is one entry.
///
/// # Upstream
/// `cache.RealFIFO` with atomic events, batches and bookmarks.
#[doc(alias = "RealFIFO")]
pub struct InOrderFifo<T> {
    entries: VecDeque<Entry<T>>,
    /// How many entries are being processed.
    in_flight: usize,
    population: Population,
}

impl<T: Object> InOrderFifo<T> {
    /// Entries from which on the producer is asked to wait. client-go keeps its queue
    /// locked while processing from 2,000 entries on.
    pub const DEPTH: usize = 2000;

    /// An empty queue.
    pub fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            in_flight: 0,
            population: Population::default(),
        }
    }

    /// Makes it synced only once each of `namespaces` had its first
    /// [`Replacement::in_namespace`].
    #[must_use]
    pub fn awaiting_namespaces(mut self, namespaces: impl IntoIterator<Item = Arc<str>>) -> Self {
        self.population = Population::of_namespaces(namespaces);
        self
    }

    fn push(&mut self, name: ObjectName, delta: Delta<T>, version: Option<ResourceVersion>) {
        self.population.on_change();
        self.entries.push_back(Entry::Delta {
            name,
            delta,
            version,
        });
    }

    /// The longest prefix of single deltas with distinct keys, up to `max`.
    fn pop_batch(&mut self, max: usize) -> Popped<T> {
        let mut keys = HashSet::new();
        let mut batch = Vec::new();
        let mut checkpoint = None;
        while batch.len() < max {
            let Some(Entry::Delta { name, .. }) = self.entries.front() else {
                break;
            };
            // A set for one key would cost more than the change itself.
            let repeated = match batch.len() {
                0 => false,
                1 => batch.first().is_some_and(|(first, _)| first == name),
                _ => keys.contains(name),
            };
            if repeated {
                break;
            }
            let Some(Entry::Delta {
                name,
                delta,
                version,
            }) = self.entries.pop_front()
            else {
                unreachable!("the front was a delta");
            };
            if batch.len() == 1 {
                keys.extend(
                    batch
                        .iter()
                        .map(|(first, _): &(ObjectName, _)| first.clone()),
                );
            }
            if !batch.is_empty() {
                keys.insert(name.clone());
            }
            checkpoint = version.or(checkpoint);
            batch.push((name, Deltas::new(delta)));
        }
        self.in_flight = batch.len();
        Popped {
            work: Work::Deltas(batch),
            is_in_initial_list: !self.population.has_synced(),
            checkpoint,
        }
    }
}

impl<T: Object> Default for InOrderFifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn version_of<T: Object>(obj: &T) -> Option<ResourceVersion> {
    obj.resource_version().and_then(ResourceVersion::new)
}

impl<T: Object> Queue<T> for InOrderFifo<T> {
    fn add(&mut self, obj: Arc<T>) {
        let version = version_of(&*obj);
        self.push(ObjectName::of(&*obj), Delta::Added(obj), version);
    }

    fn update(&mut self, obj: Arc<T>) {
        let version = version_of(&*obj);
        self.push(ObjectName::of(&*obj), Delta::Updated(obj), version);
    }

    fn delete(
        &mut self,
        name: ObjectName,
        final_state: Option<Arc<T>>,
        resource_version: Option<&ResourceVersion>,
    ) {
        let deleted = Deleted {
            name: name.clone(),
            last_known: final_state,
            reason: DeleteReason::Observed,
        };
        self.push(name, Delta::Deleted(deleted), resource_version.cloned());
    }

    fn undecodable(&mut self, undecodable: Arc<Undecodable>) {
        let version = undecodable.resource_version.clone();
        let name = undecodable.name.clone();
        self.push(name, Delta::Undecodable(undecodable), version);
    }

    fn replace(&mut self, list: Replacement<T>, resource_version: Option<&ResourceVersion>) {
        let namespace = list.namespace().map(Arc::clone);
        let mut all = ReplacedAll {
            namespace: namespace.clone(),
            objects: Vec::with_capacity(list.len()),
            undecodable: Vec::new(),
        };
        for item in list.into_items() {
            match item {
                ReplacementItem::Object(name, obj) => all.objects.push((name, obj)),
                ReplacementItem::Undecodable(undecodable) => all.undecodable.push(undecodable),
            }
        }
        self.entries.push_back(Entry::ReplacedAll {
            all,
            version: resource_version.cloned(),
        });
        let pending = self.entries.len() + self.in_flight;
        self.population.on_replace(namespace.as_ref(), pending);
    }

    fn resync(&mut self) {
        self.entries.push_back(Entry::SyncAll);
    }

    fn bookmark(&mut self, resource_version: &ResourceVersion) {
        self.entries
            .push_back(Entry::Bookmark(resource_version.clone()));
    }

    fn pop(&mut self, max: NonZeroUsize) -> Option<Popped<T>> {
        if self.in_flight > 0 {
            return None;
        }
        let is_in_initial_list = !self.population.has_synced();
        let (work, checkpoint) = match self.entries.front()? {
            Entry::Delta { .. } => {
                let max = self.population.limit(max.get());
                return Some(self.pop_batch(max));
            }
            _ => match self.entries.pop_front()? {
                Entry::ReplacedAll { all, version } => (Work::ReplacedAll(all), version),
                Entry::SyncAll => (Work::SyncAll, None),
                Entry::Bookmark(version) => (Work::Bookmark, Some(version)),
                Entry::Delta { .. } => unreachable!("the front was no delta"),
            },
        };
        self.in_flight = 1;
        if self.entries.is_empty() {
            self.entries.shrink_to(KEPT_CAPACITY);
        }
        Some(Popped {
            work,
            is_in_initial_list,
            checkpoint,
        })
    }

    fn done(&mut self) {
        self.population.on_done(self.in_flight);
        self.in_flight = 0;
    }

    fn has_synced(&self) -> bool {
        self.population.has_synced()
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= Self::DEPTH
    }
}

#[cfg(test)]
mod tests;
