//! The deduplicating work queue as a plain value: dirty set, processing set, order.

use std::hash::Hash;
use std::time::Duration;

use hashbrown::HashMap;
use tokio::time::Instant;

use crate::order::{Queue, Rank};
use crate::shrink::shrink_map;

/// The state machine behind [`WorkQueue`](crate::WorkQueue), without lock, waker or clock.
///
/// # Invariants
///
/// 1. An item is in line if and only if it is dirty and not processing.
/// 2. An item is processing from `get` to its `done`, under one ticket; so no two
///    workers ever hold the same item.
/// 3. An item that is dirty and processing enters the line when it is done.
pub(crate) struct WorkQueueCore<T> {
    queue: Box<dyn Queue<T>>,
    dirty: HashMap<T, Dirty>,
    processing: HashMap<T, Processing>,
    next_sequence: u64,
    next_ticket: u64,
    shutting_down: bool,
}

/// What became of an added item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The queue is shutting down; the item was dropped.
    Refused,
    /// The item is in line.
    Queued,
    /// A worker holds the item; it enters the line when that worker is done.
    Deferred,
    /// The item was dirty already.
    Deduplicated,
}

/// An item handed to a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken<T> {
    pub(crate) item: T,
    /// Names this hand-out, so that a late `done` cannot end a later one.
    pub(crate) ticket: u64,
    pub(crate) priority: i32,
    /// Time since the item became dirty.
    pub(crate) waited: Duration,
}

/// The end of a hand-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Time since the item was handed out.
    pub(crate) worked: Duration,
    /// Whether the item was added meanwhile and is in line again.
    pub(crate) requeued: bool,
}

/// Age of the work that is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) total: Duration,
    pub(crate) longest: Duration,
}

struct Dirty {
    rank: Rank,
    since: Instant,
}

struct Processing {
    ticket: u64,
    since: Instant,
}

impl<T: Clone + Eq + Hash> WorkQueueCore<T> {
    pub(crate) fn new(queue: Box<dyn Queue<T>>) -> Self {
        Self {
            queue,
            dirty: HashMap::new(),
            processing: HashMap::new(),
            next_sequence: 0,
            next_ticket: 0,
            shutting_down: false,
        }
    }

    /// Marks an item as needing work since `at`.
    pub(crate) fn add(&mut self, item: T, priority: i32, at: Instant) -> Added {
        if self.shutting_down {
            return Added::Refused;
        }
        let processing = self.processing.contains_key(&item);
        if let Some(dirty) = self.dirty.get_mut(&item) {
            let from = dirty.rank;
            dirty.rank.priority = from.priority.max(priority);
            if !processing {
                self.queue.touch(&item, from, dirty.rank);
            }
            return Added::Deduplicated;
        }
        let rank = self.next_rank(priority);
        let outcome = if processing {
            Added::Deferred
        } else {
            self.queue.push(item.clone(), rank);
            Added::Queued
        };
        self.dirty.insert(item, Dirty { rank, since: at });
        outcome
    }

    /// Hands out the next item in line.
    pub(crate) fn get(&mut self, now: Instant) -> Option<Taken<T>> {
        loop {
            let item = self.queue.pop()?;
            // An order that returns what it was not given, or gives it twice, is
            // ignored: handing it out would put two workers on one item.
            let Some((key, dirty)) = self.dirty.remove_entry(&item) else {
                continue;
            };
            shrink_map(&mut self.dirty);
            let ticket = self.next_ticket;
            self.next_ticket = ticket.wrapping_add(1);
            self.processing
                .insert(key, Processing { ticket, since: now });
            return Some(Taken {
                item,
                ticket,
                priority: dirty.rank.priority,
                waited: now.saturating_duration_since(dirty.since),
            });
        }
    }

    /// Ends the work on an item; `None` if nobody works on it, or (where a ticket is
    /// given) if another hand-out of it is the one in progress.
    pub(crate) fn done(&mut self, item: &T, ticket: Option<u64>, now: Instant) -> Option<Done> {
        let current = self.processing.get(item)?;
        if ticket.is_some_and(|ticket| ticket != current.ticket) {
            return None;
        }
        let (key, processing) = self.processing.remove_entry(item)?;
        shrink_map(&mut self.processing);
        let sequence = self.next_sequence;
        let requeued = if let Some(dirty) = self.dirty.get_mut(item) {
            // To the tail: the order of arrival is that of entering the line.
            dirty.rank.sequence = sequence;
            self.next_sequence = sequence.wrapping_add(1);
            self.queue.push(key, dirty.rank);
            true
        } else {
            false
        };
        Some(Done {
            worked: now.saturating_duration_since(processing.since),
            requeued,
        })
    }

    /// Refuses every later `add`; what is in line or dirty is still handed out.
    pub(crate) fn shut_down(&mut self) {
        self.shutting_down = true;
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Items in line.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Items that need work, in line or waiting for their own worker.
    pub(crate) fn depth(&self) -> usize {
        self.dirty.len()
    }

    /// Items that workers hold.
    pub(crate) fn in_flight(&self) -> usize {
        self.processing.len()
    }

    /// Whether nothing is in line, dirty or in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.dirty.is_empty() && self.processing.is_empty()
    }

    pub(crate) fn unfinished(&self, now: Instant) -> Unfinished {
        self.processing
            .values()
            .map(|processing| now.saturating_duration_since(processing.since))
            .fold(Unfinished::default(), |sum, age| Unfinished {
                total: sum.total.saturating_add(age),
                longest: sum.longest.max(age),
            })
    }

    fn next_rank(&mut self, priority: i32) -> Rank {
        let sequence = self.next_sequence;
        self.next_sequence = sequence.wrapping_add(1);
        Rank { priority, sequence }
    }
}

#[cfg(test)]
mod tests;
