//! Tests of how long answers are waited for.

use std::time::Duration;

use super::Patience;
use crate::config::Timeouts;

#[test]
fn patience_doubles_with_each_timeout_up_to_the_longest() {
    let timeouts = Timeouts::default();
    let patience = Patience::default();
    let mut limits = Vec::new();
    for _ in 0..6 {
        limits.push(patience.limit(&timeouts).as_secs());
        patience.timed_out(&timeouts);
    }
    assert_eq!(limits, [10, 20, 40, 75, 75, 75]);
}

#[test]
fn patience_follows_what_answers_took() {
    let timeouts = Timeouts::default();
    let patience = Patience::default();
    for (took, limit) in [(1, 10), (15, 40), (50, 75), (2, 10)] {
        patience.answered(&timeouts, Duration::from_secs(took));
        assert_eq!(patience.limit(&timeouts).as_secs(), limit, "after {took} s");
    }
}
