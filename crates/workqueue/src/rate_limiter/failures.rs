//! Failures counted by item.

use std::hash::Hash;

use hashbrown::HashMap;

use crate::shrink::shrink_map;

/// How often each item failed; an item that never did takes no room.
#[derive(Debug)]
pub(crate) struct Failures<T> {
    counts: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Failures<T> {
    pub(crate) fn new() -> Self {
        Self {
            counts: HashMap::new(),
        }
    }

    /// Counts one more failure and returns how many there were before.
    pub(crate) fn count(&mut self, item: &T) -> u32 {
        if let Some(count) = self.counts.get_mut(item) {
            let before = *count;
            *count = before.saturating_add(1);
            before
        } else {
            self.counts.insert(item.clone(), 1);
            0
        }
    }

    pub(crate) fn forget(&mut self, item: &T) {
        if self.counts.remove(item).is_some() {
            shrink_map(&mut self.counts);
        }
    }

    pub(crate) fn get(&self, item: &T) -> u32 {
        self.counts.get(item).copied().unwrap_or(0)
    }
}

#[cfg(test)]
impl<T: Eq + Hash> Failures<T> {
    pub(crate) fn allocation_size(&self) -> usize {
        self.counts.allocation_size()
    }
}
