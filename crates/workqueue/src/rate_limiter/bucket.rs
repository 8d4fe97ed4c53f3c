//! A limit over all items: a token bucket.

use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;

/// At most `qps` items a second over all items, after a burst.
///
/// Each `when` takes a token, even one that is not there yet: the item then waits until
/// it would be, behind those that took theirs before.
///
/// # Memory
///
/// Constant; items are not told apart, so `num_requeues` is always 0 and `forget` gives
/// no token back.
///
/// # Upstream
///
/// `workqueue.TypedBucketRateLimiter` around `golang.org/x/time/rate.Limiter`. Counted in
/// whole nanoseconds a token, where upstream counts in floating point.
#[doc(alias = "TypedBucketRateLimiter")]
#[derive(Debug)]
pub struct BucketRateLimiter {
    /// Time in which one token grows; `None`: never.
    interval: Option<Duration>,
    burst: u32,
    tokens: Tokens,
}

/// What is in the bucket, measured in the time it takes to grow.
#[derive(Debug)]
enum Tokens {
    /// Nothing was taken yet.
    Full,
    /// This many nanoseconds' worth at this moment; below zero it is owed.
    Nanos(i128, Instant),
}

impl BucketRateLimiter {
    /// `qps` tokens a second, of which the bucket holds `burst` and starts full.
    ///
    /// A `qps` that is not above zero grows no tokens: after the burst every item waits
    /// for ever, as near as [`WorkQueue::add_after`](crate::WorkQueue::add_after) comes
    /// to it. With a `burst` of 0 even the first item waits for its token to grow.
    pub fn new(qps: f64, burst: u32) -> Self {
        Self {
            interval: Duration::try_from_secs_f64(qps.recip())
                .ok()
                .filter(|_| qps > 0.0),
            burst,
            tokens: Tokens::Full,
        }
    }

    fn take(&mut self, now: Instant) -> Duration {
        let Some(interval) = self.interval else {
            return self.take_of_burst();
        };
        let interval = nanos(interval);
        let full = interval.saturating_mul(i128::from(self.burst));
        let here = match self.tokens {
            Tokens::Full => full,
            Tokens::Nanos(left, at) => left
                .saturating_add(nanos(now.saturating_duration_since(at)))
                .min(full),
        };
        let left = here.saturating_sub(interval);
        self.tokens = Tokens::Nanos(left, now);
        if left < 0 {
            u64::try_from(left.unsigned_abs()).map_or(Duration::MAX, Duration::from_nanos)
        } else {
            Duration::ZERO
        }
    }

    fn take_of_burst(&mut self) -> Duration {
        match self.burst.checked_sub(1) {
            Some(left) => {
                self.burst = left;
                Duration::ZERO
            }
            None => Duration::MAX,
        }
    }
}

impl<T> RateLimiter<T> for BucketRateLimiter {
    fn when(&mut self, _item: &T, now: Instant) -> Duration {
        self.take(now)
    }

    fn forget(&mut self, _item: &T) {}

    fn num_requeues(&self, _item: &T) -> u32 {
        0
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}
