//! Items that wait for their time: the delaying half of the queue as a plain value.

use std::collections::BTreeMap;
use std::hash::Hash;

use hashbrown::HashMap;
use tokio::time::Instant;

use crate::shrink::shrink_map;

/// Items with the moment from which each may enter the line, each item once.
///
/// # Invariants
///
/// `by_time` and `by_item` hold the same items; an item's key in the one is its value in
/// the other.
pub(crate) struct Deadlines<T> {
    by_time: BTreeMap<Moment, T>,
    by_item: HashMap<T, Waiting>,
    next_sequence: u64,
}

/// An item whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due<T> {
    pub(crate) item: T,
    pub(crate) deadline: Instant,
    pub(crate) priority: i32,
}

/// Deadline first; the sequence makes it unique and keeps equal deadlines in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    deadline: Instant,
    sequence: u64,
}

struct Waiting {
    moment: Moment,
    priority: i32,
}

impl<T: Clone + Eq + Hash> Deadlines<T> {
    pub(crate) fn new() -> Self {
        Self {
            by_time: BTreeMap::new(),
            by_item: HashMap::new(),
            next_sequence: 0,
        }
    }

    /// Lets `item` wait until `deadline`. For an item that waits already the earlier
    /// deadline and the higher priority win. Returns whether the earliest deadline of
    /// all moved.
    pub(crate) fn insert(&mut self, item: T, priority: i32, deadline: Instant) -> bool {
        let before = self.next();
        let moment = Moment {
            deadline,
            sequence: self.next_sequence,
        };
        self.next_sequence = self.next_sequence.wrapping_add(1);
        if let Some(waiting) = self.by_item.get_mut(&item) {
            waiting.priority = waiting.priority.max(priority);
            if deadline >= waiting.moment.deadline {
                return false;
            }
            self.by_time.remove(&waiting.moment);
            waiting.moment = moment;
            self.by_time.insert(moment, item);
        } else {
            self.by_time.insert(moment, item.clone());
            self.by_item.insert(item, Waiting { moment, priority });
        }
        self.next() != before
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time
            .first_key_value()
            .map(|(moment, _)| moment.deadline)
    }

    /// Takes out the earliest item if its time has come by `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Due<T>> {
        if self.next()? > now {
            return None;
        }
        let (moment, item) = self.by_time.pop_first()?;
        let waiting = self.by_item.remove(&item)?;
        shrink_map(&mut self.by_item);
        Some(Due {
            item,
            deadline: moment.deadline,
            priority: waiting.priority,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    /// Forgets every item and returns their memory.
    pub(crate) fn clear(&mut self) {
        self.by_time = BTreeMap::new();
        self.by_item = HashMap::new();
    }
}

#[cfg(test)]
mod tests;
