//! Statistics and the report of slow handlers.

#![cfg(not(informers_loom))]

use super::*;
use crate::test_objects::{Thing, add, initial};

fn filled(n: usize, now: Instant) -> ListenerCore<Thing> {
    let mut core = ListenerCore::new(Buffer::Unbounded);
    for _ in 0..n {
        core.add(add("a", 1), now);
    }
    core
}

#[tokio::test(start_paused = true)]
async fn listener_core_stats_tell_depth_age_and_outcomes() {
    let start = Instant::now();
    let second = Duration::from_secs(1);
    let mut core = filled(2, start);
    core.add(initial("b", 1), start + second);
    assert_eq!(
        core.stats(start + 3 * second),
        HandlerStats {
            depth: 3,
            max_depth: 3,
            oldest_age: Some(3 * second),
            ..HandlerStats::default()
        }
    );

    assert!(core.begin(start + second).is_some());
    let stats = core.stats(start + 3 * second);
    assert_eq!((stats.depth, stats.in_callback), (2, Some(2 * second)));

    core.end(Ended::Panicked, start + 3 * second);
    core.begin(start + 3 * second);
    core.end(Ended::Returned, start + 3 * second);
    assert_eq!(
        core.stats(start + 3 * second),
        HandlerStats {
            depth: 1,
            max_depth: 3,
            oldest_age: Some(2 * second),
            delivered: 2,
            panics: 1,
            ..HandlerStats::default()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn listener_core_clock_behind_is_not_an_overflow() {
    let now = Instant::now() + Duration::from_secs(9);
    let mut core = filled(1, now);
    assert_eq!(
        core.stats(now - Duration::from_secs(5)).oldest_age,
        Some(Duration::ZERO)
    );
    core.begin(now);
    assert_eq!(
        core.end(Ended::Returned, now - Duration::from_secs(5)),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn listener_core_slow_and_deep_is_reported_once_in_a_while() {
    let start = Instant::now();
    let mut core = filled(SLOW_DEPTH + 10, start);
    let slow = SLOW_CALLBACK + Duration::from_millis(1);
    let mut call = |at: Instant, took: Duration| {
        core.begin(at);
        core.end(Ended::Returned, at + took)
    };

    assert_eq!(call(start, SLOW_CALLBACK), None, "not slow");
    let report = call(start, slow).expect("slow and deep");
    assert_eq!(report.depth, SLOW_DEPTH + 8);
    assert_eq!((report.took, report.oldest_age), (slow, slow));
    assert_eq!(call(start + slow, slow), None, "reported just now");
    assert!(call(start + SLOW_REPORT_PERIOD + slow, slow).is_some());
}

#[tokio::test(start_paused = true)]
async fn listener_core_slow_but_shallow_is_not_reported() {
    let start = Instant::now();
    let mut core = filled(SLOW_DEPTH + 1, start);
    core.begin(start);
    assert_eq!(core.end(Ended::Returned, start + 10 * SLOW_CALLBACK), None);
}
