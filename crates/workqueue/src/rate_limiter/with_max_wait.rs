//! An upper bound on another limiter's delays.

use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;

/// Another limiter, whose delays are cut off at `max`.
///
/// # Upstream
///
/// `workqueue.TypedWithMaxWaitRateLimiter`.
#[doc(alias = "TypedWithMaxWaitRateLimiter")]
#[derive(Debug)]
pub struct WithMaxWaitRateLimiter<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWaitRateLimiter<L> {
    /// `limiter`, but never longer than `max`.
    pub const fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWaitRateLimiter<L> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.when(item, now).min(self.max)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.num_requeues(item)
    }
}
