//! [`RetryWithDeadline`]: for how long a kind of failure is retried.

use std::time::Duration;

use tokio::time::Instant;

/// A window that opens with the first failure and within which retries are allowed.
///
/// # Upstream
/// `cache.NewRetryWithDeadline`.
#[derive(Debug, Clone)]
pub(crate) struct RetryWithDeadline {
    /// Zero: never retry.
    window: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

/// A failure this long after the one before opens a new window.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

impl RetryWithDeadline {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            first: None,
            last: None,
        }
    }

    /// Whether the failure at `now` may be retried. A refusal closes the window: the
    /// next failure opens a new one.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if self.window.is_zero() {
            return false;
        }
        let forgotten = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) >= FORGOTTEN_AFTER);
        if forgotten {
            self.first = None;
        }
        let first = *self.first.get_or_insert(now);
        self.last = Some(now);
        let allowed = now.saturating_duration_since(first) <= self.window;
        if !allowed {
            self.first = None;
            self.last = None;
        }
        allowed
    }
}

#[cfg(test)]
mod tests;
