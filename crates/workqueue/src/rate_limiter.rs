//! How long an item that failed has to wait: the trait and client-go's limiters.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

pub use self::bucket::BucketRateLimiter;
pub use self::item_exponential_failure::ItemExponentialFailureRateLimiter;
pub use self::item_fast_slow::ItemFastSlowRateLimiter;
pub use self::max_of::MaxOfRateLimiter;
pub use self::with_max_wait::WithMaxWaitRateLimiter;

mod bucket;
mod failures;
mod item_exponential_failure;
mod item_fast_slow;
mod max_of;
mod with_max_wait;

/// Says how long an item has to wait before it may run again.
///
/// # Contract
///
/// A plain value: each queue owns its limiter and calls it under a lock of its own. Time
/// is an argument; a limiter reads no clock and does not call the queue.
///
/// # Upstream
///
/// `workqueue.TypedRateLimiter[T]`.
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T>: Send {
    /// How long `item` has to wait from `now`; counts as one more failure of it.
    #[doc(alias = "When")]
    fn when(&mut self, item: &T, now: Instant) -> Duration;

    /// Stops tracking `item`, whether it succeeded or was given up.
    #[doc(alias = "Forget")]
    fn forget(&mut self, item: &T);

    /// How many failures of `item` are counted.
    #[doc(alias = "NumRequeues")]
    fn num_requeues(&self, item: &T) -> u32;
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        (**self).when(item, now)
    }

    fn forget(&mut self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        (**self).num_requeues(item)
    }
}

/// The limiter a controller wants unless it knows better: per item 5 ms doubling up to
/// 1,000 s, and over all items 10 a second after a burst of 100, whichever is longer.
///
/// # Upstream
///
/// `workqueue.DefaultTypedControllerRateLimiter`, with its numbers.
#[doc(alias = "DefaultTypedControllerRateLimiter")]
pub fn default_controller_rate_limiter<T>() -> MaxOfRateLimiter<T>
where
    T: Clone + Eq + Hash + Send + 'static,
{
    MaxOfRateLimiter::new()
        .with(ItemExponentialFailureRateLimiter::new(
            Duration::from_millis(5),
            Duration::from_secs(1_000),
        ))
        .with(BucketRateLimiter::new(10.0, 100))
}

/// Per item 1 ms doubling up to 1,000 s, with no limit over all items.
///
/// # Upstream
///
/// `workqueue.DefaultTypedItemBasedRateLimiter`, with its numbers.
#[doc(alias = "DefaultTypedItemBasedRateLimiter")]
pub fn default_item_based_rate_limiter<T>() -> ItemExponentialFailureRateLimiter<T>
where
    T: Clone + Eq + Hash + Send,
{
    ItemExponentialFailureRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1_000))
}

#[cfg(test)]
mod tests;
