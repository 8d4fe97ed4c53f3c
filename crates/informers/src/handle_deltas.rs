//! [`handle_deltas`]: from what the queue hands out to the store, and to what the
//! handlers are told.

use std::collections::HashSet;
use std::sync::Arc;

use informers_cache_core::{
    DeleteReason, Deleted, Delta, Deltas, Object, ObjectName, Popped, ReplacedAll, ResourceVersion,
    Work, different_identity, same_version,
};
use informers_indexer::{StoreChange, ThreadSafeStore};
use informers_processor::Notification;

/// What the handlers are told, and whether it is a repetition ("sync"), which goes only
/// to handlers that asked for resyncs.
pub(crate) type Told<T> = Vec<(Notification<T>, bool)>;

/// Applies one piece of work to the store and says what to tell the handlers. The store
/// and its indices are changed first.
///
/// # Upstream
/// `processDeltas`, `processDeltasInBatch`, `processReplacedAllInfo`.
#[doc(alias = "processDeltas")]
pub(crate) fn handle_deltas<T: Object>(store: &ThreadSafeStore<T>, popped: Popped<T>) -> Told<T> {
    let checkpoint = popped.checkpoint.as_ref();
    match popped.work {
        Work::Deltas(batch) => apply(store, batch, popped.is_in_initial_list, checkpoint),
        Work::ReplacedAll(all) => replace(store, all, popped.is_in_initial_list, checkpoint),
        Work::SyncAll => repeat(store),
        Work::Bookmark => {
            store.apply(Vec::new(), checkpoint);
            Vec::new()
        }
    }
}

/// How a delta is told, once the state before it is known.
enum Telling<T> {
    /// An object; `found` if it may be nothing new.
    Put {
        obj: Arc<T>,
        found: bool,
    },
    Delete(Deleted<T>),
    Nothing,
}

fn apply<T: Object>(
    store: &ThreadSafeStore<T>,
    batch: Vec<(ObjectName, Deltas<T>)>,
    is_in_initial_list: bool,
    checkpoint: Option<&ResourceVersion>,
) -> Told<T> {
    let mut changes = Vec::with_capacity(batch.len());
    let mut tellings = Vec::with_capacity(batch.len());
    let mut told = Vec::new();
    for (name, deltas) in batch {
        for delta in deltas {
            let (change, telling) = match delta {
                Delta::Updated(obj) => put(obj, false),
                // Found by a relist, or by a watch that starts over.
                Delta::Added(obj) | Delta::Replaced(obj) => put(obj, true),
                // The store holds it: the queue makes none for a key that changes.
                Delta::Sync(obj) => {
                    told.push((repetition(&obj), true));
                    continue;
                }
                Delta::Deleted(deleted) => (StoreChange::Remove, Telling::Delete(deleted)),
                Delta::Undecodable(undecodable) => {
                    (StoreChange::Undecodable(undecodable), Telling::Nothing)
                }
            };
            changes.push((name.clone(), change));
            tellings.push(telling);
        }
    }
    let previous = store.apply(changes, checkpoint);
    let changed = tell_all(tellings, previous, is_in_initial_list);
    if told.is_empty() {
        return changed;
    }
    told.extend(changed);
    told
}

fn tell_all<T: Object>(
    tellings: Vec<Telling<T>>,
    previous: Vec<Option<Arc<T>>>,
    is_in_initial_list: bool,
) -> Told<T> {
    let mut told = Vec::with_capacity(tellings.len());
    for (telling, previous) in tellings.into_iter().zip(previous) {
        match telling {
            Telling::Put { obj, found } => {
                tell_put(&mut told, previous, obj, found, is_in_initial_list);
            }
            Telling::Delete(deleted) => tell_delete(&mut told, previous, deleted),
            Telling::Nothing => {}
        }
    }
    told
}

fn put<T>(obj: Arc<T>, found: bool) -> (StoreChange<T>, Telling<T>) {
    let stored = StoreChange::Put(Arc::clone(&obj));
    (stored, Telling::Put { obj, found })
}

fn repetition<T>(obj: &Arc<T>) -> Notification<T> {
    Notification::Update {
        old: Arc::clone(obj),
        new: Arc::clone(obj),
    }
}

/// Decision 5: an unchanged object found again is a repetition; another object of the
/// same name is a delete and an add.
fn tell_put<T: Object>(
    told: &mut Told<T>,
    previous: Option<Arc<T>>,
    obj: Arc<T>,
    found: bool,
    is_in_initial_list: bool,
) {
    let Some(old) = previous else {
        let add = Notification::Add {
            obj,
            is_in_initial_list,
        };
        told.push((add, false));
        return;
    };
    if different_identity(&*old, &*obj) {
        let gone = Deleted {
            name: ObjectName::of(&*old),
            last_known: Some(old),
            reason: DeleteReason::FinalStateUnknown,
        };
        told.push((Notification::Delete(gone), false));
        let add = Notification::Add {
            obj,
            is_in_initial_list: false,
        };
        told.push((add, false));
        return;
    }
    let is_sync = found && same_version(&*old, &*obj);
    told.push((Notification::Update { old, new: obj }, is_sync));
}

/// Nobody was told of an object that the store did not hold.
fn tell_delete<T: Object>(told: &mut Told<T>, previous: Option<Arc<T>>, deleted: Deleted<T>) {
    let Some(previous) = previous else {
        return;
    };
    let deleted = Deleted {
        last_known: deleted.last_known.or(Some(previous)),
        ..deleted
    };
    told.push((Notification::Delete(deleted), false));
}

/// Rule R11: the store is swapped first; then deletes, then the list in its order.
fn replace<T: Object>(
    store: &ThreadSafeStore<T>,
    all: ReplacedAll<T>,
    is_in_initial_list: bool,
    checkpoint: Option<&ResourceVersion>,
) -> Told<T> {
    if let Some(namespace) = all.namespace.clone() {
        return replace_namespace(store, all, &namespace, is_in_initial_list, checkpoint);
    }
    let objects: Vec<_> = all.objects.iter().map(|(_, obj)| Arc::clone(obj)).collect();
    let outcome = store.replace_all(all.objects, all.undecodable, checkpoint);
    let mut told = Vec::with_capacity(outcome.removed.len() + objects.len());
    for (name, last) in outcome.removed {
        let deleted = Deleted {
            name,
            last_known: Some(last),
            reason: DeleteReason::FinalStateUnknown,
        };
        told.push((Notification::Delete(deleted), false));
    }
    for (obj, previous) in objects.into_iter().zip(outcome.previous) {
        tell_put(&mut told, previous, obj, true, is_in_initial_list);
    }
    told
}

/// As [`replace`], for one namespace of several: one atomic write of what is there and
/// what is gone.
fn replace_namespace<T: Object>(
    store: &ThreadSafeStore<T>,
    all: ReplacedAll<T>,
    namespace: &str,
    is_in_initial_list: bool,
    checkpoint: Option<&ResourceVersion>,
) -> Told<T> {
    let present: HashSet<_> = all.objects.iter().map(|(name, _)| name.clone()).collect();
    let undecodable: HashSet<_> = all.undecodable.iter().map(|it| it.name.clone()).collect();
    let is_gone = |name: &ObjectName| !present.contains(name) && !undecodable.contains(name);
    let mut gone: Vec<_> = store
        .namespace(namespace)
        .iter()
        .map(|obj| ObjectName::of(&**obj))
        .collect();
    gone.extend(store.undecodable().iter().map(|it| it.name.clone()));
    gone.retain(|name| name.namespace() == Some(namespace) && is_gone(name));
    let mut changes = Vec::with_capacity(gone.len() + all.objects.len());
    let mut tellings = Vec::with_capacity(changes.capacity());
    for name in gone {
        let deleted = Deleted {
            name: name.clone(),
            last_known: None,
            reason: DeleteReason::FinalStateUnknown,
        };
        changes.push((name, StoreChange::Remove));
        tellings.push(Telling::Delete(deleted));
    }
    for (name, obj) in all.objects {
        let (change, telling) = put(obj, true);
        changes.push((name, change));
        tellings.push(telling);
    }
    for undecodable in all.undecodable {
        changes.push((
            undecodable.name.clone(),
            StoreChange::Undecodable(undecodable),
        ));
        tellings.push(Telling::Nothing);
    }
    let previous = store.apply(changes, checkpoint);
    tell_all(tellings, previous, is_in_initial_list)
}

/// Rule R12.
fn repeat<T: Object>(store: &ThreadSafeStore<T>) -> Told<T> {
    store
        .list()
        .iter()
        .map(|obj| (repetition(obj), true))
        .collect()
}

#[cfg(test)]
mod tests;
