//! A delay that doubles with every failure of the item.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::failures::Failures;

/// `base · 2ⁿ` after `n` earlier failures of the item, at most `max`.
///
/// Failure counts do not overflow: from some count on the delay is `max` for ever.
///
/// # Memory
///
/// One entry for each item that failed and was not forgotten.
///
/// # Upstream
///
/// `workqueue.TypedItemExponentialFailureRateLimiter`.
#[doc(alias = "TypedItemExponentialFailureRateLimiter")]
#[derive(Debug)]
pub struct ItemExponentialFailureRateLimiter<T> {
    base: Duration,
    max: Duration,
    pub(super) failures: Failures<T>,
}

impl<T: Clone + Eq + Hash> ItemExponentialFailureRateLimiter<T> {
    /// `base` after an item's first failure, doubling up to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: Failures::new(),
        }
    }
}

impl<T: Clone + Eq + Hash + Send> RateLimiter<T> for ItemExponentialFailureRateLimiter<T> {
    fn when(&mut self, item: &T, _now: Instant) -> Duration {
        let earlier = self.failures.count(item);
        double(self.base, earlier).map_or(self.max, |delay| delay.min(self.max))
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}

/// `base · 2^times`, or `None` if no duration is that long.
fn double(base: Duration, times: u32) -> Option<Duration> {
    const NANOS_PER_SEC: u128 = 1_000_000_000;
    if base.is_zero() {
        return Some(base);
    }
    let factor = 1_u128.checked_shl(times)?;
    let nanos = base.as_nanos().checked_mul(factor)?;
    let seconds = u64::try_from(nanos / NANOS_PER_SEC).ok()?;
    let rest = u32::try_from(nanos % NANOS_PER_SEC).ok()?;
    Some(Duration::new(seconds, rest))
}
