//! Tests of the rate limit.

use tokio::time::Instant;

use super::RateLimiter;
use crate::config::RateLimit;

#[tokio::test(start_paused = true)]
async fn rate_limit_lets_a_burst_through_then_spaces_requests() {
    let limit = RateLimit {
        per_second: 5.0,
        burst: 3,
    };
    let limiter = RateLimiter::new(limit).unwrap();
    let started = Instant::now();
    let mut at = Vec::new();
    for _ in 0..5 {
        limiter.wait().await;
        at.push(started.elapsed().as_millis());
    }
    assert_eq!(at[..3], [0, 0, 0]);
    assert!((200..210).contains(&at[3]), "{at:?}");
    assert!((400..410).contains(&at[4]), "{at:?}");
}

#[test]
fn rate_limit_of_nothing_is_refused() {
    for (per_second, burst) in [(0.0, 1), (f64::NAN, 1), (1.0, 0)] {
        assert!(RateLimiter::new(RateLimit { per_second, burst }).is_err());
    }
}
