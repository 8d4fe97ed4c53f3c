//! Tests of the histogram; the metrics of a queue are tested with the queue.

use super::*;

#[test]
fn histogram_counts_into_the_first_bound_that_is_not_below() {
    let mut histogram = DurationHistogram::default();
    for duration in [
        Duration::ZERO,
        Duration::from_nanos(10),
        Duration::from_nanos(11),
        Duration::from_millis(1),
        Duration::from_secs(1_000),
        Duration::from_secs(1_001),
    ] {
        histogram.observe(duration);
    }
    assert_eq!(histogram.buckets, [2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(histogram.count, 6);
    assert_eq!(histogram.max, Duration::from_secs(1_001));
    assert_eq!(
        histogram.sum,
        Duration::from_nanos(21) + Duration::from_millis(1) + Duration::from_secs(2_001)
    );
}

#[test]
fn histogram_bounds_rise_tenfold() {
    for pair in DurationHistogram::BOUNDS.windows(2) {
        assert_eq!(pair[0] * 10, pair[1]);
    }
}
