//! [`Store`]: the readers' side of a store.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use informers_cache_core::{KnownObjects, Object, ObjectName, ResourceVersion, Undecodable};

use crate::contents::Contents;
use crate::error::{IndexQueryError, UnknownIndex};
use crate::index::Index;
use crate::{Lister, Snapshot, ThreadSafeStore, lock};

/// Up to so many objects are looked up under the lock; for more of them the entries
/// are shared first and looked up after it.
const PICKED_UNDER_LOCK: usize = 512;

/// A read-only handle on an informer's objects. Clones are cheap and see the same
/// store.
///
/// Only the list and watch of the informer writes the store, so what it holds is never
/// older than what was read before.
///
/// # Contract
/// Each call sees the store at one moment, never a batch or a relist half applied; two
/// calls may see two moments, which is what [`snapshot`](Self::snapshot) is for. Lists
/// come in no particular order. Objects are shared, and immutable.
///
/// ```compile_fail
/// # use informers_indexer::Store;
/// fn write_through(store: &Store<k8s_openapi::api::core::v1::Pod>) {
///     store.apply(Vec::new(), None); // B79: only the watch writes
/// }
/// ```
///
/// # Locks
/// One reader–writer lock, held for a lookup or to share the entries (8 bytes for 64 of
/// them), never while user code runs. A writer holds it for one batch of changes, or to
/// exchange the whole contents at once; never for the length of a relist.
/// [`list_index_func_values`](Self::list_index_func_values) alone holds it for a pointer
/// to each value.
///
/// # Memory
/// Besides an object and the text of its name, for a million objects in 1,000 namespaces
/// (`examples/store_memory.rs`; the process grew by as much):
///
/// | indices | bytes an object |
/// |---|---|
/// | by namespace, which every store has | 63 |
/// | and by one of 5,000 nodes | 85 |
/// | and by 36 bytes that no other object has | 205 |
///
/// A relist holds entries and indices twice for its length, but each object once.
/// [`memory`](Self::memory) adds it all up.
///
/// # Upstream
/// The reading half of `cache.Indexer`.
#[doc(alias = "Indexer")]
pub struct Store<T> {
    contents: Arc<RwLock<Contents<T>>>,
}

impl<T> Store<T> {
    /// The readers' side of `store`.
    pub fn new(store: &ThreadSafeStore<T>) -> Self {
        Self::clone(store)
    }

    pub(crate) fn of(contents: Contents<T>) -> Self {
        Self {
            contents: Arc::new(RwLock::new(contents)),
        }
    }

    pub(crate) fn contents(&self) -> &RwLock<Contents<T>> {
        &self.contents
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents<T>> {
        lock::read(&self.contents)
    }

    /// The object of that name.
    pub fn get(&self, name: &ObjectName) -> Option<Arc<T>> {
        self.get_by_key(name.as_str())
    }

    /// The object with the key `key`: `namespace/name`, or `name` for a cluster-scoped
    /// one.
    pub fn get_by_key(&self, key: &str) -> Option<Arc<T>> {
        self.read().get(key).map(Arc::clone)
    }

    /// Every object.
    pub fn list(&self) -> Vec<Arc<T>> {
        let snapshot = self.snapshot();
        let mut objects = Vec::with_capacity(snapshot.len());
        objects.extend(snapshot.objects().map(Arc::clone));
        objects
    }

    /// Every name.
    pub fn list_keys(&self) -> Vec<ObjectName> {
        let snapshot = self.snapshot();
        let mut names = Vec::with_capacity(snapshot.len());
        names.extend(snapshot.iter().map(|(name, _)| name.clone()));
        names
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().slab().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The store as it is now, to be looked at without holding anything up.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot::of(&self.read())
    }

    /// Visits every object of a snapshot. `visit` may use the store.
    pub fn for_each(&self, mut visit: impl FnMut(&ObjectName, &Arc<T>)) {
        for (name, obj) in self.snapshot().iter() {
            visit(name, obj);
        }
    }

    /// The objects that share a value with `obj` in an index. `obj` need not be in the
    /// store.
    ///
    /// # Errors
    /// If there is no index of that name, or its function fails for `obj`.
    pub fn index(&self, index_name: &str, obj: &T) -> Result<Vec<Arc<T>>, IndexQueryError>
    where
        T: Object,
    {
        let indexer = self.read().indexer(index_name).cloned();
        let name = ObjectName::of(obj);
        let values = match indexer {
            Some(indexer) => indexer
                .compute(&name, obj)
                .map_err(IndexQueryError::Function)?,
            None => name.namespace().unwrap_or_default().to_owned().into(),
        };
        if let [value] = values.as_slice() {
            let picked =
                self.pick(|contents| Ok(contents.slots(index_of(contents, index_name)?, value)));
            return picked.map_err(IndexQueryError::Unknown);
        }
        let mut slots: Vec<u32> = Vec::new();
        let snapshot = {
            let contents = self.read();
            let index = index_of(&contents, index_name).map_err(IndexQueryError::Unknown)?;
            for value in values.as_slice() {
                slots.extend(contents.slots(index, value));
            }
            Snapshot::of(&contents)
        };
        slots.sort_unstable();
        slots.dedup();
        Ok(snapshot.objects_in(&slots))
    }

    /// The objects that have `value` in an index.
    ///
    /// # Errors
    /// If there is no index of that name.
    pub fn by_index(&self, index_name: &str, value: &str) -> Result<Vec<Arc<T>>, UnknownIndex> {
        self.pick(|contents| Ok(contents.slots(index_of(contents, index_name)?, value)))
    }

    /// The names of the objects that have `value` in an index, sorted.
    ///
    /// # Errors
    /// If there is no index of that name.
    pub fn index_keys(
        &self,
        index_name: &str,
        value: &str,
    ) -> Result<Vec<ObjectName>, UnknownIndex> {
        let (slots, snapshot) = {
            let contents = self.read();
            let slots = contents.slots(index_of(&contents, index_name)?, value);
            (slots.to_vec(), Snapshot::of(&contents))
        };
        let mut names = snapshot.names_in(&slots);
        names.sort_unstable();
        Ok(names)
    }

    /// The values that objects have in an index, in no particular order.
    ///
    /// # Errors
    /// If there is no index of that name.
    pub fn list_index_func_values(&self, index_name: &str) -> Result<Vec<Arc<str>>, UnknownIndex> {
        let contents = self.read();
        let index = index_of(&contents, index_name)?;
        let mut values = Vec::with_capacity(index.len());
        values.extend(index.values().map(Arc::clone));
        Ok(values)
    }

    /// The names of the indices that were added, without the built-in one.
    #[doc(alias = "GetIndexers")]
    pub fn index_names(&self) -> Vec<Arc<str>> {
        let indexers = self.read().indexers();
        indexers.into_iter().map(|indexer| indexer.name).collect()
    }

    /// The objects in a namespace; with the empty text, those in all.
    #[doc(alias = "ListAllByNamespace")]
    pub fn namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        if namespace.is_empty() {
            return self.list();
        }
        let picked = self.pick(|contents| Ok::<_, Infallible>(contents.in_namespace(namespace)));
        picked.unwrap_or_else(|never| match never {})
    }

    /// A lister over this store.
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.clone())
    }

    /// The objects whose newest version does not decode. Where an older one did, the
    /// store still holds that.
    pub fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        self.read().undecodable().values().map(Arc::clone).collect()
    }

    /// The version this store is at: that of the last list, change or bookmark it took.
    /// `None` before the first, and after a list without one.
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn last_store_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.read().resource_version.clone()
    }

    /// About how many bytes the store holds: objects by
    /// [`Object::approximate_size`], names, and all it needs to find them.
    ///
    /// Visits every object, outside the lock: for a metric, not for a hot path.
    pub fn memory(&self) -> usize
    where
        T: Object,
    {
        let (structure, snapshot) = {
            let contents = self.read();
            (contents.structure_bytes(), Snapshot::of(&contents))
        };
        let entries = snapshot.iter();
        let bytes = entries
            .map(|(name, obj)| crate::shared_text_bytes(name.as_str()) + obj.approximate_size());
        structure + bytes.sum::<usize>()
    }

    /// The objects in the slots that `slots_of` finds.
    fn pick<E>(
        &self,
        slots_of: impl FnOnce(&Contents<T>) -> Result<&[u32], E>,
    ) -> Result<Vec<Arc<T>>, E> {
        let (slots, snapshot) = {
            let contents = self.read();
            let slots = slots_of(&contents)?;
            if slots.len() <= PICKED_UNDER_LOCK {
                let objects = slots.iter().map(|slot| Arc::clone(contents.object(*slot)));
                return Ok(objects.collect());
            }
            (slots.to_vec(), Snapshot::of(&contents))
        };
        Ok(snapshot.objects_in(&slots))
    }
}

impl<T: Object> KnownObjects<T> for Store<T> {
    fn known(&self, name: &ObjectName) -> Option<Arc<T>> {
        self.get(name)
    }

    fn is_known(&self, name: &ObjectName) -> bool {
        let contents = self.read();
        contents.get(name.as_str()).is_some() || contents.undecodable().contains_key(name)
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectName, Option<&Arc<T>>)) {
        let (snapshot, undecodable_only) = {
            let contents = self.read();
            let names = contents.undecodable().keys();
            let only: Vec<ObjectName> = names
                .filter(|name| contents.get(name.as_str()).is_none())
                .cloned()
                .collect();
            (Snapshot::of(&contents), only)
        };
        for (name, obj) in snapshot.iter() {
            visit(name, Some(obj));
        }
        for name in &undecodable_only {
            visit(name, None);
        }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self {
            contents: Arc::clone(&self.contents),
        }
    }
}

impl<T> From<&ThreadSafeStore<T>> for Store<T> {
    fn from(store: &ThreadSafeStore<T>) -> Self {
        Self::new(store)
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn index_of<'a, T>(contents: &'a Contents<T>, name: &str) -> Result<&'a Index, UnknownIndex> {
    contents.index(name).ok_or_else(|| UnknownIndex {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests;
