//! [`HandlerOptions`]: how a handler is served.

use std::num::NonZeroUsize;
use std::time::Duration;

/// How a handler is served.
///
/// # Upstream
/// `cache.HandlerOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// What logs and metrics call the handler. Default: the handler's own name
    /// ([`EventHandler::name`](crate::EventHandler::name)).
    pub name: Option<String>,
    /// How often every object is repeated to the handler as an update. `None`: the
    /// informer's default. Zero: never, and an object that a relist finds unchanged is not
    /// announced either. Under a second counts as one second; between that and the
    /// informer's check period, see [`ResyncSchedule`](crate::ResyncSchedule).
    pub resync_period: Option<Duration>,
    /// What happens when the handler is slower than the changes.
    pub buffer: Buffer,
}

impl HandlerOptions {
    /// The defaults: own name, the informer's resync period, unbounded.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`name`](Self::name).
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets [`resync_period`](Self::resync_period); zero: never.
    #[must_use]
    pub fn with_resync_period(mut self, period: Duration) -> Self {
        self.resync_period = Some(period);
        self
    }

    /// Sets [`buffer`](Self::buffer).
    #[must_use]
    pub fn with_buffer(mut self, buffer: Buffer) -> Self {
        self.buffer = buffer;
        self
    }
}

/// What happens to notifications while their handler is busy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Buffer {
    /// All are kept.
    ///
    /// # Memory
    /// No bound: 56 bytes and up to two objects kept alive for each notification that
    /// waits. Room for 1,024 is kept; what a burst took beyond is returned after it.
    /// Watch [`HandlerStats::depth`](crate::HandlerStats::depth).
    #[default]
    Unbounded,
    /// From `max` waiting notifications on, a new one is merged with the newest that
    /// waits for the same object, in its place in the line:
    ///
    /// | waiting | new | becomes |
    /// |---|---|---|
    /// | add(a) | update(a, b) | add(b), of the initial list if add(a) was |
    /// | update(a, b) | update(b, c) | update(a, c) |
    /// | update(a, b) | delete(c) | delete(c) |
    /// | add | delete | both |
    /// | delete | add | both |
    ///
    /// So no delete is ever lost, each is of an object that was told before, the last
    /// state is always told, and a handler that keeps up sees every change. The order of
    /// two objects among each other may change.
    ///
    /// # Memory
    /// At most `max` notifications, and beyond them one for each object and two for each
    /// deletion; about 150 bytes more for each than when unbounded.
    Coalescing {
        /// How many notifications may wait before they are merged.
        max: NonZeroUsize,
    },
}
