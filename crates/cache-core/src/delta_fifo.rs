//! [`DeltaFifo`]: per-key accumulators in order of first arrival.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::object::different_identity;
use crate::population::Population;
use crate::replacement::ReplacementItem;
use crate::{
    DeleteReason, Deleted, Delta, Deltas, KnownObjects, Object, ObjectName, Popped, Queue,
    Replacement, ResourceVersion, Undecodable, Work,
};

/// Capacity that an empty queue keeps; what a burst needed beyond it is returned.
const KEPT_CAPACITY: usize = 1024;

/// The default queue: changes accumulate per key, keys leave in the order in which
/// they arrived.
///
/// A key that changes ten times while the consumer is busy is handed out once, with
/// its ten deltas. Consecutive deletes of a key are one, and so are consecutive relists
/// of one object; nothing else is merged.
///
/// # Invariants
/// 1. `queue` holds exactly the keys of `items`, each once.
/// 2. A key in `in_flight` may be queued again; then its new deltas wait for `done`.
///
/// # Memory
/// Unbounded: as many accumulators as there are objects, each as long as the changes
/// of that object since it was last handed out. After a burst the memory is returned.
///
/// # Upstream
/// `cache.DeltaFIFO` with `EmitDeltaTypeReplaced`.
#[doc(alias = "DeltaFIFO")]
pub struct DeltaFifo<T> {
    items: HashMap<ObjectName, Deltas<T>>,
    queue: VecDeque<ObjectName>,
    /// The keys being processed, with the state that the processing leaves behind.
    in_flight: HashMap<ObjectName, Option<Arc<T>>>,
    population: Population,
    known: Option<Arc<dyn KnownObjects<T>>>,
    /// The version of the newest change that entered; empty for none.
    entered: String,
}

impl<T: Object> DeltaFifo<T> {
    /// A queue in front of the store that `known` reads; without one, deletes of keys
    /// that are not queued are dropped, and a relist deletes only what is queued.
    pub fn new(known: Option<Arc<dyn KnownObjects<T>>>) -> Self {
        Self {
            items: HashMap::new(),
            queue: VecDeque::new(),
            in_flight: HashMap::new(),
            population: Population::default(),
            known,
            entered: String::new(),
        }
    }

    /// Makes it synced only once each of `namespaces` had its first
    /// [`Replacement::in_namespace`].
    #[must_use]
    pub fn awaiting_namespaces(mut self, namespaces: impl IntoIterator<Item = Arc<str>>) -> Self {
        self.population = Population::of_namespaces(namespaces);
        self
    }

    /// Appends a delta to its key's accumulator, merges what may be merged, and
    /// queues the key unless it is queued already.
    #[doc(alias = "queueActionLocked")]
    fn queue_action(&mut self, name: ObjectName, delta: Delta<T>) {
        if let Some(deltas) = self.items.get_mut(&name) {
            append(deltas, delta);
        } else {
            self.queue.push_back(name.clone());
            self.items.insert(name, Deltas::new(delta));
        }
    }

    /// Whether a delete of `name` has anything to delete.
    fn is_known(&self, name: &ObjectName) -> bool {
        self.items.contains_key(name)
            || self.in_flight.contains_key(name)
            || self
                .known
                .as_ref()
                .is_some_and(|known| known.is_known(name))
    }

    /// Queues tombstones for every key of `namespace` (or at all) that `present` lacks.
    fn delete_missing(&mut self, present: &HashSet<ObjectName>, namespace: Option<&str>) {
        let is_missing = |name: &ObjectName| {
            !present.contains(name) && (namespace.is_none() || name.namespace() == namespace)
        };
        let mut tombstones = Vec::new();
        // Queued keys first: their newest state is the last known one.
        for name in &self.queue {
            if is_missing(name) {
                let queued = self.items[name].newest_object();
                tombstones.push((name.clone(), queued.map(Arc::clone)));
            }
        }
        for (name, state) in &self.in_flight {
            if let Some(state) = state
                && is_missing(name)
                && !self.items.contains_key(name)
            {
                tombstones.push((name.clone(), Some(Arc::clone(state))));
            }
        }
        if let Some(known) = &self.known {
            known.for_each_known(&mut |name, obj| {
                if is_missing(name)
                    && !self.items.contains_key(name)
                    && !self.in_flight.contains_key(name)
                {
                    tombstones.push((name.clone(), obj.map(Arc::clone)));
                }
            });
        }
        for (name, last_known) in tombstones {
            let tombstone = Deleted {
                name: name.clone(),
                last_known,
                reason: DeleteReason::FinalStateUnknown,
            };
            self.queue_action(name, Delta::Deleted(tombstone));
        }
    }

    /// Whether work of `name` waits or is in flight.
    fn is_pending(&self, name: &ObjectName) -> bool {
        self.items.contains_key(name) || self.in_flight.contains_key(name)
    }

    fn entered(&mut self, resource_version: Option<&str>) {
        if let Some(resource_version) = resource_version {
            self.entered.clear();
            self.entered.push_str(resource_version);
        }
    }
}

/// Rule D2, and consecutive relists of one object, of which the newest stays. (B37)
fn append<T: Object>(deltas: &mut Deltas<T>, delta: Delta<T>) {
    let newest = deltas.newest_mut();
    match (&*newest, &delta) {
        (Delta::Deleted(older), Delta::Deleted(_)) => {
            if older.is_final_state_unknown() {
                *newest = delta;
            }
        }
        (Delta::Replaced(older), Delta::Replaced(newer))
            if !different_identity(&**older, &**newer) =>
        {
            *newest = delta;
        }
        _ => deltas.push(delta),
    }
}

impl<T: Object> Queue<T> for DeltaFifo<T> {
    fn add(&mut self, obj: Arc<T>) {
        self.population.on_change();
        self.entered(obj.resource_version());
        self.queue_action(ObjectName::of(&*obj), Delta::Added(obj));
    }

    fn update(&mut self, obj: Arc<T>) {
        self.population.on_change();
        self.entered(obj.resource_version());
        self.queue_action(ObjectName::of(&*obj), Delta::Updated(obj));
    }

    fn delete(
        &mut self,
        name: ObjectName,
        final_state: Option<Arc<T>>,
        resource_version: Option<&ResourceVersion>,
    ) {
        self.population.on_change();
        self.entered(resource_version.map(ResourceVersion::as_str));
        if !self.is_known(&name) {
            return;
        }
        let deleted = Deleted {
            name: name.clone(),
            last_known: final_state,
            reason: DeleteReason::Observed,
        };
        self.queue_action(name, Delta::Deleted(deleted));
    }

    fn undecodable(&mut self, undecodable: Arc<Undecodable>) {
        self.population.on_change();
        let version = undecodable.resource_version.as_ref();
        self.entered(version.map(ResourceVersion::as_str));
        self.queue_action(undecodable.name.clone(), Delta::Undecodable(undecodable));
    }

    fn replace(&mut self, list: Replacement<T>, resource_version: Option<&ResourceVersion>) {
        self.entered(resource_version.map(ResourceVersion::as_str));
        let namespace = list.namespace().map(Arc::clone);
        let mut present = HashSet::with_capacity(list.len());
        for item in list.into_items() {
            let (name, delta) = match item {
                ReplacementItem::Object(name, obj) => (name, Delta::Replaced(obj)),
                ReplacementItem::Undecodable(undecodable) => {
                    (undecodable.name.clone(), Delta::Undecodable(undecodable))
                }
            };
            present.insert(name.clone());
            self.queue_action(name, delta);
        }
        self.delete_missing(&present, namespace.as_deref());
        let pending = self.queue.len() + self.in_flight.len();
        self.population.on_replace(namespace.as_ref(), pending);
    }

    fn resync(&mut self) {
        let Some(known) = self.known.clone() else {
            return;
        };
        known.for_each_known(&mut |name, obj| {
            if let Some(obj) = obj
                && !self.is_pending(name)
            {
                self.queue_action(name.clone(), Delta::Sync(Arc::clone(obj)));
            }
        });
    }

    fn bookmark(&mut self, resource_version: &ResourceVersion) {
        self.entered(Some(resource_version.as_str()));
    }

    fn pop(&mut self, max: NonZeroUsize) -> Option<Popped<T>> {
        if self.queue.is_empty() || !self.in_flight.is_empty() {
            return None;
        }
        let count = self.population.limit(max.get().min(self.queue.len()));
        let mut batch = Vec::with_capacity(count);
        for name in self.queue.drain(..count) {
            let deltas = self.items.remove(&name).expect("each queued key has items");
            let left = match deltas.newest() {
                Delta::Deleted(_) => None,
                _ => deltas.newest_object().map(Arc::clone),
            };
            self.in_flight.insert(name.clone(), left);
            batch.push((name, deltas));
        }
        if self.queue.is_empty() {
            self.queue.shrink_to(KEPT_CAPACITY);
            self.items.shrink_to(KEPT_CAPACITY);
        }
        Some(Popped {
            work: Work::Deltas(batch),
            is_in_initial_list: !self.population.has_synced(),
            // Keys overtake one another, so a version is reached only when all is.
            checkpoint: if self.queue.is_empty() {
                ResourceVersion::new(&self.entered)
            } else {
                None
            },
        })
    }

    fn done(&mut self) {
        self.population.on_done(self.in_flight.len());
        self.in_flight.clear();
    }

    fn has_synced(&self) -> bool {
        self.population.has_synced()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    /// Never: a producer that waited would leave the watch unread.
    fn is_full(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
