//! The window in which a failure is tried again.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn retries(window: Duration, every: Duration) -> usize {
    let mut retry = RetryWithDeadline::new(window);
    let mut now = Instant::now();
    let mut n = 0;
    while retry.allows(now) && n < 1_000 {
        now += every;
        n += 1;
    }
    n
}

// Scenario: TestRetryInternalError, TestRetryWithDeadline (A10)
#[test]
fn window_counts_from_the_first_failure() {
    assert_eq!(retries(Duration::ZERO, SECOND), 0);
    assert_eq!(retries(30 * SECOND, SECOND), 31);
    assert_eq!(retries(2 * SECOND, 10 * SECOND), 1);
}

#[test]
fn quiet_minute_and_a_refusal_both_open_a_new_window() {
    let mut retry = RetryWithDeadline::new(30 * SECOND);
    let start = Instant::now();
    assert!(retry.allows(start));
    assert!(retry.allows(start + 60 * SECOND));
    assert!(retry.allows(start + 90 * SECOND));
    assert!(!retry.allows(start + 91 * SECOND));
    assert!(retry.allows(start + 92 * SECOND));
}
