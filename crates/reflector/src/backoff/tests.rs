//! Delays as data: growth, cap, jitter, reset.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn plain() -> Backoff {
    Backoff::new(BackoffOptions {
        jitter: 0.0,
        ..BackoffOptions::default()
    })
}

fn delays(backoff: &mut Backoff, now: Instant, n: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(1);
    (0..n)
        .map(|_| backoff.next_delay(now, None, &mut rng).as_secs_f64())
        .collect()
}

// Scenario: TestReflectorListAndWatchInitConnBackoff, TestNewReflectorWithCustomBackoff
#[test]
fn delays_grow_exponentially_and_flatten_at_the_cap() {
    let got = delays(&mut plain(), Instant::now(), 8);
    assert_eq!(got, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]);
}

#[test]
fn jitter_spreads_a_delay_over_its_double() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut least = f64::MAX;
    let mut most = f64::MIN;
    for _ in 0..2_000 {
        let mut backoff = Backoff::new(BackoffOptions::default());
        let delay = backoff.next_delay(Instant::now(), None, &mut rng);
        least = least.min(delay.as_secs_f64());
        most = most.max(delay.as_secs_f64());
    }
    assert!((0.8..0.81).contains(&least), "{least}");
    assert!((1.58..1.6).contains(&most), "{most}");
}

#[test]
fn outage_stays_at_the_cap_however_long_it_lasts() {
    let mut backoff = plain();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut now = Instant::now();
    for _ in 0..100 {
        now += backoff.next_delay(now, None, &mut rng);
    }
    assert_eq!(
        backoff.next_delay(now + 600 * SECOND, None, &mut rng),
        30 * SECOND
    );
}

#[test]
fn health_of_two_minutes_resets_and_a_shorter_one_does_not() {
    let mut backoff = plain();
    let now = Instant::now();
    delays(&mut backoff, now, 3);
    backoff.on_success(now);
    backoff.on_success(now + 100 * SECOND);
    assert_eq!(delays(&mut backoff, now + 119 * SECOND, 1), [6.4]);
    backoff.on_success(now + 120 * SECOND);
    assert_eq!(delays(&mut backoff, now + 240 * SECOND, 1), [0.8]);
    backoff.on_success(now + 240 * SECOND);
    backoff.on_other_failure();
    assert_eq!(delays(&mut backoff, now + 900 * SECOND, 1), [1.6]);
}

// B30
#[test]
fn stated_delay_is_kept_to_and_then_bounds_the_ramp() {
    let mut backoff = plain();
    let mut rng = fastrand::Rng::with_seed(1);
    let now = Instant::now();
    for _ in 0..Backoff::STATED_DELAYS {
        assert_eq!(backoff.next_delay(now, Some(SECOND), &mut rng), SECOND);
    }
    let after: Vec<_> = (0..3)
        .map(|_| backoff.next_delay(now, Some(SECOND), &mut rng).as_millis())
        .collect();
    assert_eq!(after, [1_000, 1_600, 3_200]);
}

#[test]
fn absurd_stated_delays_are_bounded() {
    let mut backoff = plain();
    let mut rng = fastrand::Rng::with_seed(1);
    let now = Instant::now();
    let day = Duration::from_secs(86_400);
    assert_eq!(
        backoff.next_delay(now, Some(day), &mut rng),
        Backoff::MAX_STATED
    );
    let zero = backoff.next_delay(now, Some(Duration::ZERO), &mut rng);
    assert_eq!(zero.as_millis(), 800);
    let short = backoff.next_delay(now, Some(Duration::from_millis(1)), &mut rng);
    assert_eq!(short.as_millis(), 800);
}
