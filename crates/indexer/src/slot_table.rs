//! [`SlotTable`]: a hash table of `u32` ids whose keys are kept elsewhere.

use hashbrown::HashTable;

/// Below this capacity a rehash costs less than a reader would notice (under 50 µs).
const GROWS_IN_PLACE: usize = 1024;

/// From hash to id, five bytes a bucket. The owner knows the key behind an id.
pub(crate) struct SlotTable(HashTable<u32>);

impl SlotTable {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(HashTable::with_capacity(capacity))
    }

    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.0.find(hash, |id| is_it(*id)).copied()
    }

    /// Adds an id that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, id: u32, hash_of: impl Fn(u32) -> u64) {
        self.0.insert_unique(hash, id, |id| hash_of(*id));
    }

    pub(crate) fn remove(&mut self, hash: u64, id: u32) {
        if let Ok(entry) = self.0.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
    }

    /// A larger copy, if adding `additional` ids would rehash a table so large that
    /// readers should not wait for it.
    pub(crate) fn grown(&self, additional: usize, hash_of: impl Fn(u32) -> u64) -> Option<Self> {
        let (len, capacity) = (self.0.len(), self.0.capacity());
        if capacity < GROWS_IN_PLACE || capacity - len >= additional {
            return None;
        }
        // As hashbrown does: twice the size, unless deleted entries fill the table.
        let full = self.0.num_buckets() / 8 * 7;
        let needed = len + additional;
        let capacity = if needed > full / 2 {
            needed.max(full + 1)
        } else {
            full
        };
        let mut table = HashTable::with_capacity(capacity);
        for id in &self.0 {
            table.insert_unique(hash_of(*id), *id, |id| hash_of(*id));
        }
        Some(Self(table))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.allocation_size()
    }
}
