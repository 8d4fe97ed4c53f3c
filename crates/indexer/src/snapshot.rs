//! [`Snapshot`]: a store as it was at one moment.

use std::fmt;
use std::sync::Arc;

use informers_cache_core::{ObjectName, ResourceVersion};

use crate::contents::Contents;
use crate::slab::{Chunk, entry, slots};

/// All objects of a store as they were at one moment; the store goes on meanwhile.
///
/// # Memory
/// Taking one shares the store's entries: 8 bytes for 64 of them. While it lives, a
/// write to the store copies the 64 entries around it first, and objects the store
/// has replaced or deleted stay. So let it go when done.
pub struct Snapshot<T> {
    chunks: Vec<Arc<Chunk<T>>>,
    len: usize,
    resource_version: Option<ResourceVersion>,
}

impl<T> Snapshot<T> {
    pub(crate) fn of(contents: &Contents<T>) -> Self {
        Self {
            chunks: contents.slab().chunks(),
            len: contents.slab().len(),
            resource_version: contents.resource_version.clone(),
        }
    }

    /// The objects and their names, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectName, &Arc<T>)> {
        let entries = self.chunks.iter().flat_map(|chunk| chunk.iter());
        entries.map(|entry| (&entry.name, &entry.obj))
    }

    /// The objects alone.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<T>> {
        self.iter().map(|(_, obj)| obj)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The version the store was at; see
    /// [`Store::last_store_sync_resource_version`](crate::Store::last_store_sync_resource_version).
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.resource_version.as_ref()
    }

    /// The objects in those slots.
    pub(crate) fn objects_in(&self, slots: &[u32]) -> Vec<Arc<T>> {
        let entries = slots.iter().filter_map(|slot| entry(&self.chunks, *slot));
        entries.map(|entry| Arc::clone(&entry.obj)).collect()
    }

    /// The names of the objects in those slots.
    pub(crate) fn names_in(&self, slots: &[u32]) -> Vec<ObjectName> {
        let entries = slots.iter().filter_map(|slot| entry(&self.chunks, *slot));
        entries.map(|entry| entry.name.clone()).collect()
    }

    /// The entries with their slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, &ObjectName, &Arc<T>)> {
        slots(&self.chunks).map(|(slot, entry)| (slot, &entry.name, &entry.obj))
    }
}

impl<T> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("len", &self.len)
            .field("resource_version", &self.resource_version)
            .finish_non_exhaustive()
    }
}
