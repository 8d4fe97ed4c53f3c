//! Order by priority: higher first, first come first served among equals.

use std::collections::BTreeMap;

use crate::order::{Queue, Rank};

/// Hands out the item with the highest priority first, equal ones in order of arrival.
///
/// An item's priority comes from [`AddOptions::priority`](crate::AddOptions::priority),
/// 0 unless told. Adding a waiting item again with a higher priority raises it; among
/// its new equals it keeps the place that its first arrival gave it. A lower priority
/// changes nothing.
///
/// A steady flow of high priorities holds lower ones back for ever; where that may
/// happen, see [`FairQueue`](crate::FairQueue).
///
/// # Memory
///
/// One ordered map, whose nodes are freed as it empties. Every operation is logarithmic.
///
/// # Upstream
///
/// client-go has only the hook. The rules are those of controller-runtime's
/// `priorityqueue`.
#[doc(alias = "priorityqueue")]
#[derive(Debug)]
pub struct PriorityQueue<T> {
    items: BTreeMap<Rank, T>,
}

impl<T> PriorityQueue<T> {
    /// An empty line.
    pub const fn new() -> Self {
        Self {
            items: BTreeMap::new(),
        }
    }
}

impl<T> Default for PriorityQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Queue<T> for PriorityQueue<T> {
    fn push(&mut self, item: T, rank: Rank) {
        self.items.insert(rank, item);
    }

    fn touch(&mut self, _item: &T, from: Rank, to: Rank) {
        if from != to
            && let Some(item) = self.items.remove(&from)
        {
            self.items.insert(to, item);
        }
    }

    fn pop(&mut self) -> Option<T> {
        self.items.pop_first().map(|(_, item)| item)
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests;
