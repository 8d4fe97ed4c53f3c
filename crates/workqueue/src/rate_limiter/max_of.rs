//! Several limiters at once: the longest delay counts.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;

/// The longest delay and the highest count of several limiters.
///
/// Each limiter is asked every time, so a token is taken from each bucket even if
/// another limiter's delay is longer.
///
/// # Upstream
///
/// `workqueue.TypedMaxOfRateLimiter`.
#[doc(alias = "TypedMaxOfRateLimiter")]
pub struct MaxOfRateLimiter<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> MaxOfRateLimiter<T> {
    /// No limiter yet: no delay.
    pub const fn new() -> Self {
        Self {
            limiters: Vec::new(),
        }
    }

    /// And this one.
    #[must_use]
    pub fn with(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiters.push(Box::new(limiter));
        self
    }
}

impl<T> Default for MaxOfRateLimiter<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> RateLimiter<T> for MaxOfRateLimiter<T> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        self.limiters
            .iter_mut()
            .map(|limiter| limiter.when(item, now))
            .fold(Duration::ZERO, Duration::max)
    }

    fn forget(&mut self, item: &T) {
        for limiter in &mut self.limiters {
            limiter.forget(item);
        }
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiters
            .iter()
            .map(|limiter| limiter.num_requeues(item))
            .fold(0, u32::max)
    }
}

impl<T> fmt::Debug for MaxOfRateLimiter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOfRateLimiter")
            .field("limiters", &self.limiters.len())
            .finish()
    }
}
