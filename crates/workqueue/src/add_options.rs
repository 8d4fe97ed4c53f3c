//! How an item is added: when it may be handed out, and how urgent it is.

use std::time::Duration;

/// How [`WorkQueue::add_with`](crate::WorkQueue::add_with) adds an item; the default is
/// at once, with priority 0.
///
/// # Upstream
///
/// controller-runtime's `priorityqueue.AddOpts`.
#[doc(alias = "AddOpts")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct AddOptions {
    pub(crate) priority: i32,
    pub(crate) delay: Delay,
}

/// What holds an item back before it enters the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delay {
    /// Nothing.
    #[default]
    None,
    /// This much time.
    After(Duration),
    /// As much time as the queue's rate limiter says.
    RateLimited,
}

impl AddOptions {
    /// At once, with priority 0.
    pub const fn new() -> Self {
        Self {
            priority: 0,
            delay: Delay::None,
        }
    }

    /// Sets the priority: higher ones are handed out first, if the queue's order heeds
    /// priorities at all. Default 0.
    ///
    /// An item that waits already is raised to this priority, never lowered.
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Holds the item back for `delay`, as [`WorkQueue::add_after`](crate::WorkQueue::add_after).
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = Delay::After(delay);
        self
    }

    /// Holds the item back for as long as the rate limiter says, as
    /// [`WorkQueue::add_rate_limited`](crate::WorkQueue::add_rate_limited).
    pub const fn rate_limited(mut self) -> Self {
        self.delay = Delay::RateLimited;
        self
    }
}
