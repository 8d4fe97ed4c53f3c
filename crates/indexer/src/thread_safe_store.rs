//! [`ThreadSafeStore`]: the writers' side of a store.

use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use hashbrown::HashSet;
use informers_cache_core::{KnownObjects, Object, ObjectName, ResourceVersion, Undecodable};

use crate::contents::{Additions, Contents};
use crate::indexers::{Indexer, NAMESPACE_INDEX, panic_message};
use crate::{DuplicateIndexer, IndexError, IndexValues, Indexers, Store, lock};

/// One change of one name.
pub enum StoreChange<T> {
    /// The object is this one now. Clears what was undecodable under the name.
    Put(Arc<T>),
    /// The object is gone, as is what was undecodable under the name.
    Remove,
    /// The newest version does not decode. Stands beside the last one that did.
    Undecodable(Arc<Undecodable>),
}

/// What a list changed in a store.
pub struct ReplaceOutcome<T> {
    /// For each object of the list, in its order, the one stored under that name
    /// before the list.
    pub previous: Vec<Option<Arc<T>>>,
    /// What was stored before and is not in the list, neither decoded nor as
    /// undecodable; in no particular order.
    pub removed: Vec<(ObjectName, Arc<T>)>,
}

type ErrorHandler = Box<dyn Fn(&IndexError) + Send + Sync>;

/// An indexed store of shared objects: what the list and watch of an informer writes,
/// and everybody reads. It dereferences to its readers' side, [`Store`].
///
/// # Contract
/// A write is seen whole or not at all, indices included, and by every read that
/// begins after it returned.
///
/// # Locks
/// 1. Writers hold a mutex for the whole of a write. Index functions run under it:
///    they may read the store, and must not write it. No reader takes it.
/// 2. Readers and writers share a reader–writer lock. A writer takes it for the changes
///    of one batch, whose index values, hashes and larger tables are made before; or to
///    exchange the contents for others that were made beside: a relist, a new index, or
///    the same contents in less memory. No user code runs under it, and what is
///    dropped is dropped after it.
///
/// The handler of index errors runs under neither.
///
/// # Memory
/// See [`Store`]. A relist holds two sets of entries and indices for its length, but
/// objects only once. Memory is given back when less than a quarter is in use.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use informers_cache_core::ObjectName;
/// use informers_indexer::{Indexers, StoreChange, ThreadSafeStore};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let store = ThreadSafeStore::new(Indexers::new().with("byApp", |pod: &Pod| {
///     pod.metadata.labels.as_ref().and_then(|labels| labels.get("app").cloned())
/// }));
///
/// let mut pod = Pod::default();
/// pod.metadata.name = Some("web-0".to_owned());
/// pod.metadata.namespace = Some("default".to_owned());
/// pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
/// let name = ObjectName::of(&pod);
/// store.apply(vec![(name.clone(), StoreChange::Put(Arc::new(pod)))], None);
///
/// assert!(store.get_by_key("default/web-0").is_some());
/// assert_eq!(store.index_keys("byApp", "web")?, [name]);
/// # Ok::<(), informers_indexer::UnknownIndex>(())
/// ```
///
/// # Upstream
/// `cache.ThreadSafeStore`, with the transactions and the resource version of its
/// newest form.
#[doc(alias = "threadSafeMap")]
pub struct ThreadSafeStore<T> {
    store: Store<T>,
    writers: Mutex<()>,
    on_index_error: Option<ErrorHandler>,
}

/// A change with all that is needed to apply it quickly.
struct Prepared<T> {
    hash: u64,
    name: ObjectName,
    change: StoreChange<T>,
    /// Where its index values begin; `None` if they stay.
    values_at: Option<usize>,
}

impl<T: Object> ThreadSafeStore<T> {
    /// An empty store with an index by namespace and those of `indexers`.
    #[doc(alias = "NewThreadSafeStore")]
    pub fn new(indexers: Indexers<T>) -> Self {
        Self {
            store: Store::of(Contents::new(indexers.into_vec())),
            writers: Mutex::new(()),
            on_index_error: None,
        }
    }

    /// Calls `handler` for every index function that fails or panics, after the write
    /// in question and without a lock. Without a handler, errors are logged.
    #[must_use]
    pub fn on_index_error(mut self, handler: impl Fn(&IndexError) + Send + Sync + 'static) -> Self {
        self.on_index_error = Some(Box::new(handler));
        self
    }

    /// Applies changes in order, all at once for a reader, and answers for each the
    /// object that was stored before it. With a `resource_version`, the store is at
    /// that version then; without changes this is how it takes a bookmark.
    ///
    /// Readers wait for the whole batch: keep it to a thousand changes or so.
    ///
    /// # Upstream
    /// `ThreadSafeStoreWithTransaction.Transaction`, `Bookmark`.
    #[doc(alias = "Transaction")]
    pub fn apply(
        &self,
        changes: Vec<(ObjectName, StoreChange<T>)>,
        resource_version: Option<&ResourceVersion>,
    ) -> Vec<Option<Arc<T>>> {
        let mut errors = Vec::new();
        let previous = {
            let _writers = lock::lock(&self.writers);
            let (prepared, values) = self.prepare(changes, &mut errors);
            let previous = self.apply_prepared(&prepared, &values, resource_version);
            self.give_back_memory();
            previous
        };
        self.report(&errors);
        previous
    }

    /// Makes a whole list the new contents. Of several objects with one name, the last
    /// one counts. A name that is only among `undecodable` keeps the object stored under
    /// it, if there is one. The store is at `resource_version` then, be it `None`.
    ///
    /// Everything is made beside the contents, which readers go on using, and exchanged
    /// at once.
    ///
    /// # Upstream
    /// `ThreadSafeStore.Replace`, which rebuilds the indices under the lock.
    #[doc(alias = "Replace")]
    pub fn replace_all(
        &self,
        objects: Vec<(ObjectName, Arc<T>)>,
        undecodable: Vec<Arc<Undecodable>>,
        resource_version: Option<&ResourceVersion>,
    ) -> ReplaceOutcome<T> {
        let mut errors = Vec::new();
        let (outcome, old) = {
            let _writers = lock::lock(&self.writers);
            let (mut next, outcome) = self.successor(objects, undecodable, &mut errors);
            next.resource_version = resource_version.cloned();
            (
                outcome,
                std::mem::replace(&mut *lock::write(self.contents()), next),
            )
        };
        drop(old);
        self.report(&errors);
        outcome
    }

    /// Adds indices, over the objects already here too.
    ///
    /// # Errors
    /// If the store has one of the names, in which case none is added.
    ///
    /// # Upstream
    /// `Indexer.AddIndexers`.
    #[doc(alias = "AddIndexers")]
    pub fn add_indexers(&self, indexers: Indexers<T>) -> Result<(), DuplicateIndexer> {
        let mut errors = Vec::new();
        {
            let _writers = lock::lock(&self.writers);
            let known = self.store.index_names();
            let mut taken = known.iter().map(|name| &**name).chain([NAMESPACE_INDEX]);
            if let Some(name) = taken.find(|name| indexers.names().any(|new| new == *name)) {
                return Err(DuplicateIndexer {
                    name: name.to_owned(),
                });
            }
            let snapshot = self.store.snapshot();
            let fill = |indexer: Indexer<T>| {
                let mut all = Vec::with_capacity(snapshot.len());
                for (slot, name, obj) in snapshot.slots() {
                    all.push((slot, compute(&indexer, name, obj, &mut errors)));
                }
                let index = lock::read(self.contents()).build_index(all.into_iter());
                (indexer, index)
            };
            let filled: Vec<_> = indexers.into_vec().into_iter().map(fill).collect();
            let mut contents = lock::write(self.contents());
            for (indexer, index) in filled {
                contents.add_index(indexer, index);
            }
        }
        self.report(&errors);
        Ok(())
    }

    /// The readers' side, to be given away.
    pub fn reader(&self) -> Store<T> {
        self.store.clone()
    }

    /// Everything that can be done for `changes` without the write lock.
    fn prepare(
        &self,
        changes: Vec<(ObjectName, StoreChange<T>)>,
        errors: &mut Vec<IndexError>,
    ) -> (Vec<Prepared<T>>, Vec<IndexValues>) {
        let (indexers, mut prepared) = {
            let contents = lock::read(self.contents());
            let indexers = contents.indexers();
            let unchanged = match indexers.as_slice() {
                [] => vec![false; changes.len()],
                _ => unchanged(&contents, &changes),
            };
            let prepare = |((name, change), unchanged): ((ObjectName, _), bool)| Prepared {
                hash: contents.hash(name.as_str()),
                name,
                change,
                values_at: (!unchanged).then_some(0),
            };
            let prepared: Vec<_> = changes.into_iter().zip(unchanged).map(prepare).collect();
            (indexers, prepared)
        };
        let mut values = Vec::new();
        for prepared in &mut prepared {
            if let (StoreChange::Put(obj), Some(at)) = (&prepared.change, &mut prepared.values_at) {
                *at = values.len();
                let computed = indexers
                    .iter()
                    .map(|indexer| compute(indexer, &prepared.name, obj, errors));
                values.extend(computed);
            }
        }
        (prepared, values)
    }

    fn apply_prepared(
        &self,
        prepared: &[Prepared<T>],
        values: &[IndexValues],
        resource_version: Option<&ResourceVersion>,
    ) -> Vec<Option<Arc<T>>> {
        let mut growth = {
            let contents = lock::read(self.contents());
            contents.growth(&additions(&contents, prepared, values))
        };
        let mut previous = Vec::with_capacity(prepared.len());
        let mut contents = lock::write(self.contents());
        contents.exchange(&mut growth);
        for Prepared {
            hash,
            name,
            change,
            values_at,
        } in prepared
        {
            previous.push(match change {
                StoreChange::Put(obj) => {
                    let (slot, previous) = contents.put(*hash, name, Arc::clone(obj));
                    if let Some(at) = values_at {
                        contents.set_values(slot, &values[*at..]);
                    }
                    previous
                }
                StoreChange::Remove => contents.remove(*hash, name),
                StoreChange::Undecodable(undecodable) => {
                    contents.put_undecodable(name.clone(), Arc::clone(undecodable));
                    contents.get(name.as_str()).map(Arc::clone)
                }
            });
        }
        if resource_version.is_some() {
            contents.resource_version = resource_version.cloned();
        }
        previous
    }

    /// The contents a list leads to.
    fn successor(
        &self,
        objects: Vec<(ObjectName, Arc<T>)>,
        undecodable: Vec<Arc<Undecodable>>,
        errors: &mut Vec<IndexError>,
    ) -> (Contents<T>, ReplaceOutcome<T>) {
        let contents = lock::read(self.contents());
        let mut next = contents.successor(objects.len());
        let mut previous = Vec::with_capacity(objects.len());
        let mut changed = Vec::new();
        for (name, obj) in objects {
            let hash = next.hash(name.as_str());
            let (slot, _) = next.put(hash, &name, Arc::clone(&obj));
            let before = contents.find(hash, name.as_str());
            previous.push(before.map(|before| Arc::clone(contents.object(before))));
            match before {
                Some(before) if Arc::ptr_eq(contents.object(before), &obj) => {
                    next.copy_values(slot, &contents, before);
                }
                _ => changed.push((slot, name, obj)),
            }
        }
        for undecodable in undecodable {
            let name = &undecodable.name;
            let hash = next.hash(name.as_str());
            if next.find(hash, name.as_str()).is_some() && !next.undecodable().contains_key(name) {
                continue;
            }
            if let Some(before) = contents.find(hash, name.as_str()) {
                let (slot, _) = next.put(hash, name, Arc::clone(contents.object(before)));
                next.copy_values(slot, &contents, before);
            }
            next.put_undecodable(name.clone(), Arc::clone(&undecodable));
        }
        let gone = contents.slab().iter().filter(|(_, entry)| {
            let key = entry.name.as_str();
            next.find(next.hash(key), key).is_none()
        });
        let removed = gone
            .map(|(_, entry)| (entry.name.clone(), Arc::clone(&entry.obj)))
            .collect();
        let indexers = contents.indexers();
        drop(contents);
        for (slot, name, obj) in changed {
            // Not if a later item of the same name took its place.
            if Arc::ptr_eq(next.object(slot), &obj) {
                let values: Vec<_> = indexers
                    .iter()
                    .map(|indexer| compute(indexer, &name, &*obj, errors))
                    .collect();
                next.set_values(slot, &values);
            }
        }
        (next, ReplaceOutcome { previous, removed })
    }

    /// Exchanges contents that are mostly empty memory for dense ones.
    fn give_back_memory(&self) {
        let dense = {
            let contents = lock::read(self.contents());
            contents.is_sparse().then(|| contents.compacted())
        };
        if let Some(dense) = dense {
            let sparse = std::mem::replace(&mut *lock::write(self.contents()), dense);
            drop(sparse);
        }
    }

    fn report(&self, errors: &[IndexError]) {
        for error in errors {
            let Some(handler) = &self.on_index_error else {
                let cause = std::error::Error::source(error);
                tracing::error!(cause, "{error}");
                continue;
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(error))) {
                let panic = panic_message(&*panic);
                tracing::error!(%error, panic, "the handler of index errors panicked");
            }
        }
    }
}

/// Which changes put an object that is stored already, whose index values stay. Only
/// the first change of a name can be compared with what is stored now.
fn unchanged<T>(contents: &Contents<T>, changes: &[(ObjectName, StoreChange<T>)]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let is_unchanged = |(name, change): &'_ (ObjectName, StoreChange<T>)| {
        let stored = contents.get(name.as_str());
        match change {
            StoreChange::Put(obj) => stored.is_some_and(|stored| Arc::ptr_eq(stored, obj)),
            StoreChange::Remove | StoreChange::Undecodable(_) => false,
        }
    };
    changes
        .iter()
        .map(|change| seen.insert(&change.0) && is_unchanged(change))
        .collect()
}

fn compute<T>(
    indexer: &Indexer<T>,
    name: &ObjectName,
    obj: &T,
    errors: &mut Vec<IndexError>,
) -> IndexValues {
    indexer.compute(name, obj).unwrap_or_else(|error| {
        errors.push(error);
        IndexValues::none()
    })
}

/// How much the changes may add at most.
fn additions<T>(
    contents: &Contents<T>,
    prepared: &[Prepared<T>],
    values: &[IndexValues],
) -> Additions {
    let is_new = |prepared: &&Prepared<T>| {
        matches!(prepared.change, StoreChange::Put(_))
            && contents
                .find(prepared.hash, prepared.name.as_str())
                .is_none()
    };
    let indices = contents.index_count();
    let mut sums = vec![0; indices];
    for (place, values) in values.iter().enumerate() {
        sums[place % indices] += values.as_slice().len();
    }
    Additions {
        objects: prepared.iter().filter(is_new).count(),
        values: sums,
    }
}

impl<T> Deref for ThreadSafeStore<T> {
    type Target = Store<T>;

    fn deref(&self) -> &Store<T> {
        &self.store
    }
}

impl<T: Object> KnownObjects<T> for ThreadSafeStore<T> {
    fn known(&self, name: &ObjectName) -> Option<Arc<T>> {
        self.store.known(name)
    }

    fn is_known(&self, name: &ObjectName) -> bool {
        self.store.is_known(name)
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectName, Option<&Arc<T>>)) {
        self.store.for_each_known(visit);
    }
}

impl<T> Clone for StoreChange<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Put(obj) => Self::Put(Arc::clone(obj)),
            Self::Remove => Self::Remove,
            Self::Undecodable(undecodable) => Self::Undecodable(Arc::clone(undecodable)),
        }
    }
}

impl<T> fmt::Debug for StoreChange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(_) => f.write_str("Put"),
            Self::Remove => f.write_str("Remove"),
            Self::Undecodable(undecodable) => undecodable.fmt(f),
        }
    }
}

impl<T> fmt::Debug for ReplaceOutcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplaceOutcome")
            .field("previous", &self.previous.len())
            .field("removed", &self.removed.len())
            .finish()
    }
}

impl<T> fmt::Debug for ThreadSafeStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSafeStore")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
