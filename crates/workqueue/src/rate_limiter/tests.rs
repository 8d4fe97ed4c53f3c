//! Tests of the limiters, after upstream's, and of their limits.

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The delays of `times` failures of `item` at the same moment.
fn delays<T, L: RateLimiter<T>>(limiter: &mut L, item: &T, times: usize) -> Vec<Duration> {
    let now = Instant::now();
    (0..times).map(|_| limiter.when(item, now)).collect()
}

// Scenario: TestItemExponentialFailureRateLimiter
#[test]
fn exponential_doubles_per_item_until_forgotten() {
    let mut limiter = ItemExponentialFailureRateLimiter::new(ms(1), ms(1_000));
    assert_eq!(
        delays(&mut limiter, &"one", 5),
        [ms(1), ms(2), ms(4), ms(8), ms(16)]
    );
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, &"two", 2), [ms(1), ms(2)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, &"one", 1), [ms(1)]);
}

// Scenario: TestItemExponentialFailureRateLimiterOverFlow; B93
#[test]
fn exponential_after_many_failures_is_the_maximum() {
    let mut limiter = ItemExponentialFailureRateLimiter::new(ms(1), Duration::from_secs(1_000));
    assert_eq!(delays(&mut limiter, &"one", 6).last(), Some(&ms(32)));
    assert_eq!(
        delays(&mut limiter, &"overflow1", 1_001).last(),
        Some(&Duration::from_secs(1_000))
    );

    let hours = Duration::from_secs(1_000 * 3_600);
    let mut limiter = ItemExponentialFailureRateLimiter::new(Duration::from_secs(60), hours);
    assert_eq!(
        delays(&mut limiter, &"two", 3).last(),
        Some(&Duration::from_secs(240))
    );
    assert_eq!(
        delays(&mut limiter, &"overflow2", 1_001).last(),
        Some(&hours)
    );
}

// B93
#[test]
fn exponential_never_shrinks_at_the_edges_of_its_arithmetic() {
    for base in [
        Duration::from_nanos(1),
        Duration::from_secs(1),
        Duration::from_secs(u64::MAX / 2),
    ] {
        let mut limiter = ItemExponentialFailureRateLimiter::new(base, Duration::MAX);
        let delays = delays(&mut limiter, &(), 300);
        assert!(delays.is_sorted(), "{base:?}");
        assert_eq!(delays[0], base);
        assert_eq!(delays[299], Duration::MAX);
    }
}

#[test]
fn exponential_without_base_or_above_its_maximum_is_bounded() {
    let mut zero = ItemExponentialFailureRateLimiter::new(Duration::ZERO, ms(5));
    assert_eq!(delays(&mut zero, &(), 200), [Duration::ZERO; 200]);
    let mut large = ItemExponentialFailureRateLimiter::new(ms(9), ms(5));
    assert_eq!(delays(&mut large, &(), 2), [ms(5); 2]);
}

// Scenario: TestItemFastSlowRateLimiter
#[test]
fn fast_slow_switches_per_item_until_forgotten() {
    let slow = Duration::from_secs(10);
    let mut limiter = ItemFastSlowRateLimiter::new(ms(5), slow, 3);
    assert_eq!(
        delays(&mut limiter, &"one", 5),
        [ms(5), ms(5), ms(5), slow, slow]
    );
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, &"two", 2), [ms(5), ms(5)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, &"one", 1), [ms(5)]);
}

// Scenario: TestMaxOfRateLimiter
#[test]
fn max_of_takes_the_longest_delay_and_the_highest_count() {
    let slow = Duration::from_secs(3);
    let mut limiter = MaxOfRateLimiter::new()
        .with(ItemFastSlowRateLimiter::new(ms(5), slow, 3))
        .with(ItemExponentialFailureRateLimiter::new(ms(1), ms(1_000)));
    assert_eq!(
        delays(&mut limiter, &"one", 5),
        [ms(5), ms(5), ms(5), slow, slow]
    );
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, &"two", 2), [ms(5), ms(5)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, &"one", 1), [ms(5)]);
}

// Q10
#[test]
fn max_of_takes_a_token_even_where_another_delay_is_longer() {
    let mut limiter = MaxOfRateLimiter::new()
        .with(ItemExponentialFailureRateLimiter::new(ms(300), ms(300)))
        .with(BucketRateLimiter::new(10.0, 1));
    // The bucket's own delays are 0, 100, 200, 300, 400.
    assert_eq!(
        delays(&mut limiter, &"one", 5),
        [ms(300), ms(300), ms(300), ms(300), ms(400)]
    );
}

#[test]
fn max_of_nothing_does_not_delay() {
    let mut limiter = MaxOfRateLimiter::default();
    assert_eq!(delays(&mut limiter, &"one", 2), [Duration::ZERO; 2]);
    assert_eq!(limiter.num_requeues(&"one"), 0);
}

/// `first` for the first `threshold` calls whatever the item, `then` from then on.
struct Step {
    first: Duration,
    then: Duration,
    threshold: u32,
}

impl RateLimiter<u32> for Step {
    fn when(&mut self, _item: &u32, _now: Instant) -> Duration {
        match self.threshold.checked_sub(1) {
            Some(left) => {
                self.threshold = left;
                self.first
            }
            None => self.then,
        }
    }

    fn forget(&mut self, _item: &u32) {}

    fn num_requeues(&self, _item: &u32) -> u32 {
        7
    }
}

// Scenario: TestWithMaxWaitRateLimiter
#[test]
fn with_max_wait_cuts_off_long_delays_only() {
    let max = Duration::from_secs(500);
    let step = Step {
        first: ms(5),
        then: Duration::from_secs(1_000),
        threshold: 100,
    };
    let mut limiter = WithMaxWaitRateLimiter::new(step, max);
    let now = Instant::now();
    for item in 0..100 {
        assert_eq!(limiter.when(&item, now), ms(5));
    }
    for item in 100..200 {
        assert_eq!(limiter.when(&item, now), max);
    }
    assert_eq!(limiter.num_requeues(&1), 7);
}

#[test]
fn bucket_grows_tokens_up_to_its_burst() {
    let start = Instant::now();
    let mut limiter = BucketRateLimiter::new(10.0, 2);
    let mut at = |offset: u64| limiter.when(&(), start + ms(offset));
    assert_eq!(
        [at(0), at(0), at(0), at(0)],
        [ms(0), ms(0), ms(100), ms(200)]
    );
    // Two tokens are owed; 250 ms pay them and half of the next.
    assert_eq!(at(250), ms(50));
    // A long pause fills the bucket to the burst and no further.
    assert_eq!(
        [at(60_000), at(60_000), at(60_000)],
        [ms(0), ms(0), ms(100)]
    );
    assert_eq!(RateLimiter::<()>::num_requeues(&limiter, &()), 0);
}

#[test]
fn bucket_owing_tokens_for_days_stays_exact() {
    let mut limiter = BucketRateLimiter::new(10.0, 100);
    let delays = delays(&mut limiter, &(), 1_000_100);
    assert_eq!(delays[99], Duration::ZERO);
    assert_eq!(delays[1_000_099], Duration::from_secs(100_000));
}

#[test]
fn bucket_without_rate_gives_its_burst_and_no_more() {
    for qps in [0.0, -1.0, f64::NAN] {
        let mut limiter = BucketRateLimiter::new(qps, 2);
        assert_eq!(
            delays(&mut limiter, &(), 4),
            [Duration::ZERO, Duration::ZERO, Duration::MAX, Duration::MAX],
            "{qps} a second"
        );
    }
}

#[test]
fn bucket_without_burst_waits_for_every_token() {
    let mut limiter = BucketRateLimiter::new(10.0, 0);
    assert_eq!(delays(&mut limiter, &(), 2), [ms(100), ms(200)]);
}

#[test]
fn default_controller_limiter_is_item_backoff_then_overall_rate() {
    let mut limiter = default_controller_rate_limiter();
    assert_eq!(delays(&mut limiter, &"one", 3), [ms(5), ms(10), ms(20)]);
    let now = Instant::now();
    for i in 0..97 {
        let item = i.to_string().leak();
        assert_eq!(limiter.when(&&*item, now), ms(5));
    }
    // The burst of 100 is used up: 10 a second from here on.
    let delay = limiter.when(&"last", now);
    assert!(delay > ms(90) && delay <= ms(100), "{delay:?}");
    assert_eq!(
        delays(&mut limiter, &"one", 40).last(),
        Some(&Duration::from_secs(1_000))
    );
}

#[test]
fn default_item_based_limiter_has_no_overall_rate() {
    let mut limiter = default_item_based_rate_limiter();
    let now = Instant::now();
    for item in 0..1_000 {
        assert_eq!(limiter.when(&item, now), ms(1));
    }
}

// B94
#[test]
fn failures_forgotten_return_memory() {
    let mut limiter = default_item_based_rate_limiter();
    let now = Instant::now();
    for item in 0..20_000 {
        limiter.when(&item, now);
    }
    let full = limiter.failures.allocation_size();
    for item in 0..20_000 {
        limiter.forget(&item);
    }
    assert!(limiter.failures.allocation_size() * 100 < full);
}
