//! A short delay for an item's first failures, a long one after.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::failures::Failures;

/// `fast` for the first `max_fast_attempts` failures of an item, `slow` from then on.
///
/// # Memory
///
/// One entry for each item that failed and was not forgotten.
///
/// # Upstream
///
/// `workqueue.TypedItemFastSlowRateLimiter`.
#[doc(alias = "TypedItemFastSlowRateLimiter")]
#[derive(Debug)]
pub struct ItemFastSlowRateLimiter<T> {
    fast: Duration,
    slow: Duration,
    max_fast_attempts: u32,
    failures: Failures<T>,
}

impl<T: Clone + Eq + Hash> ItemFastSlowRateLimiter<T> {
    /// `fast` for an item's first `max_fast_attempts` failures, `slow` from then on.
    pub fn new(fast: Duration, slow: Duration, max_fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            max_fast_attempts,
            failures: Failures::new(),
        }
    }
}

impl<T: Clone + Eq + Hash + Send> RateLimiter<T> for ItemFastSlowRateLimiter<T> {
    fn when(&mut self, item: &T, _now: Instant) -> Duration {
        if self.failures.count(item) < self.max_fast_attempts {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}
