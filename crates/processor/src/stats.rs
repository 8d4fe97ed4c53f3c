//! [`HandlerStats`]: how a handler is doing.

use std::time::Duration;

/// How a handler is doing, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandlerStats {
    /// Notifications that wait, without the one being handled.
    pub depth: usize,
    /// The most that ever waited.
    pub max_depth: usize,
    /// How long the oldest of them has waited; `None` if none waits.
    pub oldest_age: Option<Duration>,
    /// How long the callback in flight has been running; `None` if there is none.
    pub in_callback: Option<Duration>,
    /// Notifications handled so far, those that panicked included.
    pub delivered: u64,
    /// Callbacks that panicked.
    pub panics: u64,
    /// Notifications that were merged into a waiting one.
    pub coalesced: u64,
    /// Initial adds that the handler has not returned from.
    pub initial_outstanding: usize,
}
