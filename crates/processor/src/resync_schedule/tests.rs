//! Rules Y1–Y7.

#![cfg(not(informers_loom))]

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NEVER: Option<Duration> = Some(Duration::ZERO);

#[expect(clippy::unnecessary_wraps, reason = "what a handler asks for")]
fn seconds(n: u64) -> Option<Duration> {
    Some(Duration::from_secs(n))
}

/// At which seconds of `1..=until` the handler `id` is due.
fn due(schedule: &mut ResyncSchedule, id: u64, start: Instant, until: u32) -> Vec<u32> {
    (1..=until)
        .filter(|second| {
            schedule.should_resync(start + *second * SECOND);
            schedule.is_syncing(id)
        })
        .collect()
}

// Scenario: TestListenerResyncPeriods
#[test]
fn resync_schedule_due_handlers_are_synced_and_no_others() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(0, NEVER, start);
    schedule.add(2, seconds(2), start);
    schedule.add(3, seconds(3), start);
    schedule.start();
    let mut seen = Vec::new();
    for second in 1..=6 {
        let any = schedule.should_resync(start + second * SECOND);
        let ids: Vec<u64> = [0, 2, 3]
            .into_iter()
            .filter(|id| schedule.is_syncing(*id))
            .collect();
        assert_eq!(any, !ids.is_empty());
        seen.push(ids);
    }
    assert_eq!(
        seen,
        [vec![], vec![2], vec![3], vec![2], vec![], vec![2, 3]]
    );
}

// Scenario: TestResyncCheckPeriod
#[test]
fn resync_schedule_before_start_check_period_follows_the_smallest() {
    let now = Instant::now();
    let mut schedule = ResyncSchedule::new(Duration::from_secs(12 * 3600));
    schedule.add(1, NEVER, now);
    assert_eq!(schedule.check_period(), Duration::from_secs(12 * 3600));
    assert_eq!(schedule.period(1), NEVER);

    schedule.add(2, seconds(60), now);
    assert_eq!(schedule.check_period(), Duration::from_secs(60));
    assert_eq!(schedule.period(1), NEVER);
    assert_eq!(schedule.period(2), seconds(60));

    schedule.add(3, seconds(55), now);
    assert_eq!(schedule.check_period(), Duration::from_secs(55));
    assert_eq!(schedule.period(2), seconds(60));
    assert_eq!(schedule.period(3), seconds(55));

    schedule.add(4, seconds(5), now);
    assert_eq!(schedule.check_period(), Duration::from_secs(5));
    assert_eq!(schedule.period(2), seconds(60));
    assert_eq!(schedule.period(3), seconds(55));
    assert_eq!(schedule.period(4), seconds(5));
}

#[test]
fn resync_schedule_under_a_second_is_raised_to_one() {
    let mut schedule = ResyncSchedule::new(SECOND);
    let grant = schedule.add(1, Some(Duration::from_millis(1)), Instant::now());
    assert_eq!(grant, ResyncGrant::RaisedToMinimum);
    assert_eq!(schedule.period(1), Some(SECOND));
}

// B68: added after start with a smaller period.
#[test]
fn resync_schedule_after_start_is_raised_to_the_check_period() {
    let now = Instant::now();
    let mut schedule = ResyncSchedule::new(Duration::from_secs(10));
    schedule.start();
    assert_eq!(
        schedule.add(1, seconds(2), now),
        ResyncGrant::RaisedToCheckPeriod
    );
    assert_eq!(schedule.check_period(), Duration::from_secs(10));
    assert_eq!(schedule.period(1), seconds(10));
    assert_eq!(schedule.add(2, seconds(30), now), ResyncGrant::Granted);
    assert_eq!(schedule.period(2), seconds(30));
}

// B68: informer default 0 and a handler that asks for 2 s.
#[test]
fn resync_schedule_informer_without_resync_says_so() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(Duration::ZERO);
    assert_eq!(
        schedule.add(1, seconds(2), start),
        ResyncGrant::InformerHasNoResync
    );
    assert_eq!(schedule.period(1), NEVER);
    assert_eq!(schedule.check_period(), Duration::ZERO);
    assert!(!schedule.should_resync(start + 9 * SECOND));
}

// B68: 1.1 s with checks each second; Y4.
#[test]
fn resync_schedule_period_between_checks_is_rounded_up() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(1, Some(Duration::from_millis(1100)), start);
    schedule.add(5, seconds(5), start);
    assert_eq!(due(&mut schedule, 1, start, 8), [2, 4, 6, 8]);
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(5, seconds(5), start);
    assert_eq!(due(&mut schedule, 5, start, 12), [5, 10]);
}

// Y7, and a check that comes late counts once.
#[test]
fn resync_schedule_first_resync_is_one_period_after_registration() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(1, seconds(3), start + 2 * SECOND);
    assert!(!schedule.should_resync(start + 4 * SECOND));
    assert!(schedule.should_resync(start + 17 * SECOND));
    assert!(!schedule.should_resync(start + 19 * SECOND));
    assert!(schedule.should_resync(start + 20 * SECOND));
}

#[test]
fn resync_schedule_default_period_is_the_informers() {
    let mut schedule = ResyncSchedule::new(Duration::from_secs(30));
    assert_eq!(schedule.add(1, None, Instant::now()), ResyncGrant::Granted);
    assert_eq!(schedule.period(1), seconds(30));
}

// B56, decision 5: relists are no matter of the timer.
#[test]
fn resync_schedule_before_the_first_check_those_who_asked_are_synced() {
    let now = Instant::now();
    let mut schedule = ResyncSchedule::new(Duration::ZERO);
    schedule.add(1, NEVER, now);
    schedule.add(2, None, now);
    schedule.add(3, seconds(600), now);
    let syncing = [1, 2, 3].map(|id| schedule.is_syncing(id));
    assert_eq!(syncing, [false, false, true]);
}

#[test]
fn resync_schedule_removed_handler_is_never_due() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(1, None, start);
    schedule.remove(1);
    schedule.remove(1);
    assert!(!schedule.should_resync(start + 9 * SECOND));
    assert_eq!(schedule.period(1), None);
    assert!(!schedule.is_syncing(1));
}

#[test]
fn resync_schedule_endless_period_is_never_due() {
    let start = Instant::now();
    let mut schedule = ResyncSchedule::new(SECOND);
    schedule.add(1, Some(Duration::MAX), start);
    assert!(!schedule.should_resync(start + 9 * SECOND));
}
