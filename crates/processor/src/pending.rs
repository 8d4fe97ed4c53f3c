//! [`Pending`]: the notifications that wait for one handler.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use informers_cache_core::{Object, ObjectName};
use tokio::time::Instant;

use crate::{Buffer, Notification};

/// Room that is kept however few wait.
///
/// Source: `initialBufferSize` of client-go's processor listener.
pub(crate) const INITIAL_CAPACITY: usize = 1024;

struct Entry<T> {
    notification: Notification<T>,
    since: Instant,
}

/// A ring of waiting notifications, which merges by [`Buffer::Coalescing`]'s table if it
/// is told to.
pub(crate) struct Pending<T> {
    ring: VecDeque<Entry<T>>,
    coalescing: Option<Coalescing>,
}

/// The line's entries are numbered from the first that ever waited; `head` is the number
/// of the first that waits now.
struct Coalescing {
    max: NonZeroUsize,
    head: u64,
    /// The key of each entry, in the order of the ring.
    names: VecDeque<ObjectName>,
    /// The newest entry of each key.
    newest: HashMap<ObjectName, u64>,
}

/// What became of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It waits at the end of the line.
    Appended,
    /// It was merged into one that waited.
    Merged,
}

impl<T: Object> Pending<T> {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self {
            ring: VecDeque::with_capacity(INITIAL_CAPACITY),
            coalescing: match buffer {
                Buffer::Unbounded => None,
                Buffer::Coalescing { max } => Some(Coalescing::new(max)),
            },
        }
    }

    pub(crate) fn push(&mut self, notification: Notification<T>, now: Instant) -> Pushed {
        if let Some(coalescing) = &mut self.coalescing {
            let name = notification.name();
            if self.ring.len() >= coalescing.max.get()
                && let Some(at) = coalescing.newest_at(&name)
                && let Some(merged) = merge(&self.ring[at].notification, &notification)
            {
                self.ring[at].notification = merged;
                return Pushed::Merged;
            }
            coalescing.append(name);
        }
        self.ring.push_back(Entry {
            notification,
            since: now,
        });
        Pushed::Appended
    }

    pub(crate) fn pop(&mut self) -> Option<Notification<T>> {
        let entry = self.ring.pop_front()?;
        if let Some(coalescing) = &mut self.coalescing {
            coalescing.pop();
        }
        self.give_memory_back();
        Some(entry.notification)
    }

    /// Takes the whole line, for the caller to drop once it holds no lock; what is left is
    /// empty, and has no room either.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self {
            ring: VecDeque::new(),
            coalescing: self
                .coalescing
                .as_ref()
                .map(|coalescing| Coalescing::new(coalescing.max)),
        };
        std::mem::replace(self, empty)
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Since when the oldest waits.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.ring.front().map(|entry| entry.since)
    }

    #[cfg(all(test, not(informers_loom)))]
    pub(crate) fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Halves the ring once a quarter is used, so that a burst is paid for once and a
    /// steady line never.
    fn give_memory_back(&mut self) {
        let capacity = self.ring.capacity();
        if capacity > INITIAL_CAPACITY && self.ring.len() <= capacity / 4 {
            self.ring.shrink_to((capacity / 2).max(INITIAL_CAPACITY));
            if let Some(coalescing) = &mut self.coalescing {
                coalescing.names.shrink_to(self.ring.capacity());
                coalescing.newest.shrink_to(self.ring.capacity());
            }
        }
    }
}

impl Coalescing {
    fn new(max: NonZeroUsize) -> Self {
        Self {
            max,
            head: 0,
            names: VecDeque::new(),
            newest: HashMap::new(),
        }
    }

    /// Where in the ring the newest entry of `name` is.
    fn newest_at(&self, name: &ObjectName) -> Option<usize> {
        let number = *self.newest.get(name)?;
        Some(usize::try_from(number - self.head).expect("an index of the ring fits"))
    }

    fn append(&mut self, name: ObjectName) {
        let number = self.head + self.names.len() as u64;
        self.names.push_back(name.clone());
        self.newest.insert(name, number);
    }

    fn pop(&mut self) {
        if let Some(name) = self.names.pop_front() {
            if self.newest.get(&name) == Some(&self.head) {
                self.newest.remove(&name);
            }
            self.head += 1;
        }
    }
}

/// One notification that says what `waiting` and then `new` say; `None` if there is no
/// such one.
fn merge<T: Object>(waiting: &Notification<T>, new: &Notification<T>) -> Option<Notification<T>> {
    match (waiting, new) {
        (
            Notification::Add {
                is_in_initial_list, ..
            },
            Notification::Update { new, .. },
        ) => Some(Notification::Add {
            obj: Arc::clone(new),
            is_in_initial_list: *is_in_initial_list,
        }),
        (Notification::Update { old, .. }, Notification::Update { new, .. }) => {
            Some(Notification::Update {
                old: Arc::clone(old),
                new: Arc::clone(new),
            })
        }
        // The delete must carry a state, or the last one would be lost.
        (Notification::Update { .. }, Notification::Delete(deleted))
            if deleted.last_known.is_some() =>
        {
            Some(Notification::Delete(deleted.clone()))
        }
        (
            Notification::Add { .. } | Notification::Update { .. },
            Notification::Add { .. } | Notification::Delete(_),
        )
        | (Notification::Delete(_), _) => None,
    }
}

#[cfg(test)]
mod tests;
