//! [`Contents`]: all a store holds, as a plain value.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap};
use informers_cache_core::{ObjectName, ResourceVersion, Undecodable};

use crate::IndexValues;
use crate::index::Index;
use crate::indexers::{Indexer, NAMESPACE_INDEX};
use crate::slab::{Entry, Slab};
use crate::slot_table::SlotTable;

/// Objects, indices, undecodable objects and the version of it all.
///
/// # Invariants
/// 1. `table` has the slot of every entry, and no other.
/// 2. The indices hold slots of entries alone.
/// 3. Hashes are by `hasher`, which successors of these contents take over.
pub(crate) struct Contents<T> {
    hasher: DefaultHashBuilder,
    table: SlotTable,
    slab: Slab<T>,
    namespaces: Index,
    indices: Vec<NamedIndex<T>>,
    undecodable: HashMap<ObjectName, Arc<Undecodable>>,
    pub(crate) resource_version: Option<ResourceVersion>,
}

struct NamedIndex<T> {
    indexer: Indexer<T>,
    index: Index,
}

/// Tables that were enlarged beside the contents, to be exchanged under the lock.
pub(crate) struct Growth {
    table: Option<SlotTable>,
    namespaces: Option<SlotTable>,
    indices: Vec<Option<SlotTable>>,
}

/// What a batch is about to add.
pub(crate) struct Additions {
    pub(crate) objects: usize,
    /// Values for each index.
    pub(crate) values: Vec<usize>,
}

impl<T> Contents<T> {
    pub(crate) fn new(indexers: Vec<Indexer<T>>) -> Self {
        Self::with_capacity(0, indexers, DefaultHashBuilder::default())
    }

    fn with_capacity(
        capacity: usize,
        indexers: Vec<Indexer<T>>,
        hasher: DefaultHashBuilder,
    ) -> Self {
        let named = |indexer| NamedIndex {
            indexer,
            index: Index::with_capacity(capacity),
        };
        Self {
            hasher,
            table: SlotTable::with_capacity(capacity),
            slab: Slab::with_capacity(capacity),
            namespaces: Index::with_capacity(capacity),
            indices: indexers.into_iter().map(named).collect(),
            undecodable: HashMap::new(),
            resource_version: None,
        }
    }

    /// Empty contents with the same indices, for about `capacity` objects.
    pub(crate) fn successor(&self, capacity: usize) -> Self {
        Self::with_capacity(capacity, self.indexers(), self.hasher.clone())
    }

    /// The same contents without empty memory.
    pub(crate) fn compacted(&self) -> Self {
        let mut next = self.successor(self.slab.len());
        for (slot, entry) in self.slab.iter() {
            let hash = self.hash(entry.name.as_str());
            let (to, _) = next.put(hash, &entry.name, Arc::clone(&entry.obj));
            next.copy_values(to, self, slot);
        }
        next.undecodable.extend(
            self.undecodable
                .iter()
                .map(|(name, undecodable)| (name.clone(), Arc::clone(undecodable))),
        );
        next.resource_version.clone_from(&self.resource_version);
        next
    }

    /// Whether most of the memory is empty.
    pub(crate) fn is_sparse(&self) -> bool {
        let mut indices = self.indices.iter().map(|named| &named.index);
        self.slab.is_sparse()
            || self.namespaces.is_sparse()
            || indices.any(Index::is_sparse)
            || crate::is_sparse(self.undecodable.len(), self.undecodable.capacity())
    }

    // Reading.

    pub(crate) fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    pub(crate) fn find(&self, hash: u64, key: &str) -> Option<u32> {
        self.table
            .find(hash, |slot| self.slab.get(slot).name.as_str() == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        let slot = self.find(self.hash(key), key)?;
        Some(&self.slab.get(slot).obj)
    }

    pub(crate) fn slab(&self) -> &Slab<T> {
        &self.slab
    }

    pub(crate) fn undecodable(&self) -> &HashMap<ObjectName, Arc<Undecodable>> {
        &self.undecodable
    }

    pub(crate) fn indexers(&self) -> Vec<Indexer<T>> {
        let indices = self.indices.iter();
        indices.map(|named| named.indexer.clone()).collect()
    }

    pub(crate) fn index_count(&self) -> usize {
        self.indices.len()
    }

    pub(crate) fn indexer(&self, name: &str) -> Option<&Indexer<T>> {
        let mut indexers = self.indices.iter().map(|named| &named.indexer);
        indexers.find(|indexer| &*indexer.name == name)
    }

    /// The index of that name. One of the user's goes before the built-in one.
    pub(crate) fn index(&self, name: &str) -> Option<&Index> {
        let mut indices = self.indices.iter();
        let named = indices.find(|named| &*named.indexer.name == name);
        match named {
            Some(named) => Some(&named.index),
            None => (name == NAMESPACE_INDEX).then_some(&self.namespaces),
        }
    }

    pub(crate) fn slots<'a>(&'a self, index: &'a Index, value: &str) -> &'a [u32] {
        index.slots(value, &self.hasher)
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> &[u32] {
        self.slots(&self.namespaces, namespace)
    }

    /// Bytes of everything but the names and the objects.
    pub(crate) fn structure_bytes(&self) -> usize {
        let indices = self.indices.iter().map(|named| named.index.bytes());
        size_of::<Self>()
            + self.table.bytes()
            + self.slab.bytes()
            + self.namespaces.bytes()
            + indices.sum::<usize>()
            + self.undecodable.allocation_size()
    }

    // Writing.

    /// Stores an object without index values of its own yet: those of the object
    /// before it stay until [`set_values`](Self::set_values). Answers the slot, and
    /// that object.
    pub(crate) fn put(
        &mut self,
        hash: u64,
        name: &ObjectName,
        obj: Arc<T>,
    ) -> (u32, Option<Arc<T>>) {
        if !self.undecodable.is_empty() {
            self.undecodable.remove(name);
        }
        if let Some(slot) = self.find(hash, name.as_str()) {
            return (slot, Some(self.slab.replace(slot, obj)));
        }
        let name = name.clone();
        let namespace = [name.namespace().unwrap_or_default()];
        // Names share their text, so this one may go before the namespace.
        let slot = self.slab.insert(Entry {
            name: name.clone(),
            obj,
        });
        let (slab, hasher) = (&self.slab, &self.hasher);
        self.table.insert(hash, slot, |slot| {
            hasher.hash_one(slab.get(slot).name.as_str())
        });
        self.namespaces.set(slot, &namespace, &self.hasher);
        (slot, None)
    }

    /// The object of a slot in use.
    pub(crate) fn object(&self, slot: u32) -> &Arc<T> {
        &self.slab.get(slot).obj
    }

    /// Makes `values` the values of `slot`, one set for each index in order.
    pub(crate) fn set_values<'v>(
        &mut self,
        slot: u32,
        values: impl IntoIterator<Item = &'v IndexValues>,
    ) {
        for (named, values) in self.indices.iter_mut().zip(values) {
            named.index.set(slot, values.as_slice(), &self.hasher);
        }
    }

    /// Gives `slot` the values that `from` has in `other`, which has the same indices.
    pub(crate) fn copy_values(&mut self, slot: u32, other: &Self, from: u32) {
        let mut values: Vec<&str> = Vec::new();
        for (named, other) in self.indices.iter_mut().zip(&other.indices) {
            values.clear();
            values.extend(other.index.values_of(from).map(|value| &**value));
            named.index.set(slot, &values, &self.hasher);
        }
    }

    /// Notes a version that does not decode, beside the last one that did.
    pub(crate) fn put_undecodable(&mut self, name: ObjectName, undecodable: Arc<Undecodable>) {
        self.undecodable.insert(name, undecodable);
    }

    /// Removes all that is known under a name.
    pub(crate) fn remove(&mut self, hash: u64, name: &ObjectName) -> Option<Arc<T>> {
        if !self.undecodable.is_empty() {
            self.undecodable.remove(name);
        }
        let slot = self.find(hash, name.as_str())?;
        self.namespaces.set(slot, &[""; 0], &self.hasher);
        for named in &mut self.indices {
            named.index.set(slot, &[""; 0], &self.hasher);
        }
        self.table.remove(hash, slot);
        Some(self.slab.remove(slot).obj)
    }

    /// Adds an index that was filled beside.
    pub(crate) fn add_index(&mut self, indexer: Indexer<T>, index: Index) {
        self.indices.push(NamedIndex { indexer, index });
    }

    /// An index for these contents, filled with `values` by slot.
    pub(crate) fn build_index(&self, values: impl Iterator<Item = (u32, IndexValues)>) -> Index {
        let mut index = Index::with_capacity(self.slab.len());
        for (slot, values) in values {
            index.set(slot, values.as_slice(), &self.hasher);
        }
        index
    }

    /// Enlarged tables for all that `additions` would make rehash for long.
    pub(crate) fn growth(&self, additions: &Additions) -> Growth {
        let indices = self.indices.iter().zip(&additions.values);
        Growth {
            table: self.table.grown(additions.objects, |slot| {
                self.hash(self.slab.get(slot).name.as_str())
            }),
            namespaces: self.namespaces.grown(additions.objects, &self.hasher),
            indices: indices
                .map(|(named, values)| named.index.grown(*values, &self.hasher))
                .collect(),
        }
    }

    /// Takes the enlarged tables, and leaves the old ones in their stead.
    pub(crate) fn exchange(&mut self, growth: &mut Growth) {
        if let Some(table) = &mut growth.table {
            std::mem::swap(&mut self.table, table);
        }
        if let Some(table) = &mut growth.namespaces {
            self.namespaces.exchange_table(table);
        }
        for (named, table) in self.indices.iter_mut().zip(&mut growth.indices) {
            if let Some(table) = table {
                named.index.exchange_table(table);
            }
        }
    }
}

#[cfg(test)]
mod tests;
