//! In which order queued items are handed out: the hook, and the default order.

use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;

use crate::shrink::shrink_ring;

/// Where an item stands in line: higher priorities first, then first come, first served.
///
/// `Ord` sorts the item to be handed out first lowest, so an ordered map keyed by rank
/// is a priority queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    /// The highest priority the item was added with since it was last handed out.
    pub priority: i32,
    /// Arrival number, unique within a queue and rising.
    pub sequence: u64,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse(self.priority)
            .cmp(&Reverse(other.priority))
            .then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The line in which items wait, and so the order in which they are handed out.
///
/// [`FifoQueue`] is the default, [`PriorityQueue`](crate::PriorityQueue) and
/// [`FairQueue`](crate::FairQueue) are the other two that come with this crate.
///
/// # Contract
///
/// The work queue calls it under its lock and does the deduplication: `push` gets items
/// that are not in line, `touch` gets items that are. `pop` must hand out each pushed
/// item exactly once and must return one while `len` is above zero. None of the methods
/// may call the work queue that owns them.
///
/// # Upstream
///
/// `workqueue.Queue[T]{Touch, Push, Len, Pop}`. The rank is an addition: upstream an
/// implementation has to find out an item's priority by itself.
#[doc(alias = "workqueue.Queue")]
pub trait Queue<T>: Send {
    /// Puts a new item in line.
    fn push(&mut self, item: T, rank: Rank);

    /// Tells that an item in line was added again; `to` is at or before `from`.
    ///
    /// An order without priorities has nothing to do.
    fn touch(&mut self, item: &T, from: Rank, to: Rank) {
        let _ = (item, from, to);
    }

    /// Takes the next item out of the line.
    fn pop(&mut self) -> Option<T>;

    /// How many items are in line.
    fn len(&self) -> usize;

    /// Whether no item is in line.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// First in, first out; priorities are ignored.
///
/// # Memory
///
/// One ring, which shrinks as it empties.
///
/// # Upstream
///
/// `workqueue.DefaultQueue`.
#[doc(alias = "DefaultQueue")]
#[derive(Debug)]
pub struct FifoQueue<T> {
    items: VecDeque<T>,
}

impl<T> FifoQueue<T> {
    /// An empty line.
    pub const fn new() -> Self {
        Self {
            items: VecDeque::new(),
        }
    }
}

impl<T> Default for FifoQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Queue<T> for FifoQueue<T> {
    fn push(&mut self, item: T, _rank: Rank) {
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front();
        shrink_ring(&mut self.items);
        item
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests;
