//! An item in a worker's hands; letting go of it marks it done.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;

use crate::work_queue::WorkQueue;

/// An item that [`WorkQueue::get`] handed out, and the promise that nobody else works on
/// an equal one meanwhile.
///
/// Dropping the guard marks the item done, whatever the way out: the end of the loop's
/// body, `?`, a panic, or the worker's future being dropped at an `.await`. If the item
/// was added meanwhile, it is in line again from then on.
///
/// Done does not mean succeeded: whoever wants another try calls
/// [`add_rate_limited`](WorkQueue::add_rate_limited) before letting go, and
/// [`forget`](WorkQueue::forget) after a success.
///
/// # Upstream
///
/// The pair of `Get` and `Done`, of which the second cannot be forgotten here.
#[must_use = "dropping the guard marks the item done"]
pub struct ItemGuard<T: Clone + Eq + Hash + Send + 'static> {
    queue: WorkQueue<T>,
    item: T,
    ticket: u64,
    priority: i32,
    armed: bool,
}

impl<T: Clone + Eq + Hash + Send + 'static> ItemGuard<T> {
    pub(crate) fn new(queue: WorkQueue<T>, item: T, ticket: u64, priority: i32) -> Self {
        Self {
            queue,
            item,
            ticket,
            priority,
            armed: true,
        }
    }

    /// The item; the guard also dereferences to it.
    pub fn item(&self) -> &T {
        &self.item
    }

    /// The highest priority the item was added with, so that a retry can keep it.
    ///
    /// # Upstream
    ///
    /// controller-runtime's `GetWithPriority`.
    #[doc(alias = "GetWithPriority")]
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Marks the item done; the same as dropping the guard, said aloud.
    #[doc(alias = "Done")]
    pub fn done(self) {
        drop(self);
    }

    /// Gives the item away without marking it done.
    ///
    /// Nobody is handed an equal item until [`WorkQueue::done`] is called with it; if that
    /// never happens, additions of it are kept for ever and a drain does not end.
    pub fn detach(mut self) -> T {
        self.armed = false;
        self.item.clone()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Drop for ItemGuard<T> {
    fn drop(&mut self) {
        if self.armed {
            self.queue.finish(&self.item, Some(self.ticket));
        }
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Deref for ItemGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: Clone + Eq + Hash + Send + fmt::Debug + 'static> fmt::Debug for ItemGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemGuard")
            .field("queue", &self.queue.name())
            .field("item", &self.item)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
