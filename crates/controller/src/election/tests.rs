//! Scenarios of elections in virtual time, against a lease that is a plain value.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use tokio::time::Instant;

use super::{Call, Election, End, InvalidDurations, LeaderEvent, LeaseDurations, Next, Reply};

/// The server's side: one lease with optimistic locking.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    revision: u64,
    down: bool,
    calls: usize,
}

impl Server {
    fn serve(&mut self, call: Call) -> Reply {
        self.calls += 1;
        if self.down {
            return Reply::Failed;
        }
        let written = match (call, &self.lease) {
            (Call::Get | Call::Update(_), None) => return Reply::NotFound,
            (Call::Get, Some(lease)) => return Reply::Lease(Box::new(lease.clone())),
            (Call::Create(_), Some(_)) => return Reply::Failed,
            (Call::Create(lease), None) => lease,
            (Call::Update(lease), Some(now)) => {
                if lease.metadata.resource_version != now.metadata.resource_version {
                    return Reply::Failed;
                }
                lease
            }
        };
        self.store(*written)
    }

    fn store(&mut self, mut lease: Lease) -> Reply {
        self.revision += 1;
        lease.metadata.resource_version = Some(self.revision.to_string());
        self.lease = Some(lease.clone());
        Reply::Lease(Box::new(lease))
    }

    fn spec(&self) -> LeaseSpec {
        self.lease.clone().unwrap().spec.unwrap()
    }

    fn holder(&self) -> String {
        self.spec().holder_identity.unwrap_or_default()
    }
}

/// A candidate with a wall clock of its own.
struct Candidate {
    election: Election,
    skew: SignedDuration,
    events: Vec<LeaderEvent>,
}

struct World {
    start: Instant,
    now: Instant,
    server: Server,
}

impl World {
    fn new() -> Self {
        let start = Instant::now();
        Self {
            start,
            now: start,
            server: Server::default(),
        }
    }

    fn at(&mut self, seconds: f64) {
        self.now = self.start + Duration::from_secs_f64(seconds);
    }

    fn wall(&self, candidate: &Candidate) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.now - self.start).unwrap();
        Timestamp::from_second(1_700_000_000).unwrap() + elapsed + candidate.skew
    }

    /// Lets the candidate do all it has to do now.
    fn step(&mut self, candidate: &mut Candidate) -> Next {
        for _ in 0..20 {
            let wall = self.wall(candidate);
            let next = candidate.election.next(self.now, wall);
            let sent = matches!(next, Next::Send(_));
            if let Next::Send(call) = &next {
                let mut call = Some(call.clone());
                while let Some(this) = call.take() {
                    let reply = self.server.serve(this);
                    call = candidate.election.on_reply(reply, self.now, wall);
                }
            }
            while let Some(event) = candidate.election.pop_event() {
                candidate.events.push(event);
            }
            if !sent {
                return next;
            }
        }
        panic!("a hot loop");
    }

    /// Lets time pass in tenths of a second; answers with how it ended, if it has.
    fn run_until(&mut self, seconds: u32, candidates: &mut [&mut Candidate]) -> Option<End> {
        let end = self.start + Duration::from_secs(seconds.into());
        while self.now < end {
            self.now += Duration::from_millis(100);
            for candidate in candidates.iter_mut() {
                if let Next::Ended(end) = self.step(candidate) {
                    return Some(end);
                }
            }
        }
        None
    }
}

fn candidate(identity: &str) -> Candidate {
    let rng = fastrand::Rng::with_seed(7);
    let lease = ("kube-system".to_owned(), "widgets".to_owned());
    Candidate {
        election: Election::new(
            lease,
            identity.to_owned(),
            LeaseDurations::default(),
            true,
            rng,
        )
        .unwrap(),
        skew: SignedDuration::ZERO,
        events: Vec::new(),
    }
}

fn new_leader(identity: &str) -> LeaderEvent {
    LeaderEvent::NewLeader(Some(identity.to_owned()))
}

#[test]
fn candidate_without_lease_creates_it_and_leads() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    assert!(a.election.is_leader());
    let spec = world.server.spec();
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(spec.lease_transitions, Some(0));
    assert_eq!(spec.acquire_time, spec.renew_time);
    assert_eq!(a.events, [new_leader("a"), LeaderEvent::StartedLeading]);
}

#[test]
fn leader_renews_each_retry_period_by_one_write() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    let (first, calls) = (world.server.spec(), world.server.calls);
    assert_eq!(world.run_until(20, &mut [&mut a]), None);
    // At 2, 4 … 20 s, give or take the step of a tenth.
    assert!((9..=10).contains(&(world.server.calls - calls)));
    let spec = world.server.spec();
    assert_eq!(spec.acquire_time, first.acquire_time);
    assert!(spec.renew_time > first.renew_time);
    assert_eq!(spec.lease_transitions, Some(0));
}

#[test]
fn candidate_waits_while_the_holder_renews() {
    let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
    world.step(&mut a);
    assert_eq!(world.run_until(120, &mut [&mut a, &mut b]), None);
    assert!(a.election.is_leader() && !b.election.is_leader());
    assert_eq!(b.events, [new_leader("a")]);
}

#[test]
fn candidate_takes_over_a_lease_after_it_saw_no_change_for_its_duration() {
    let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
    world.step(&mut a);
    world.at(1.0);
    world.step(&mut b);
    // The holder is gone without a word; its lease was first seen at 1 s.
    assert_eq!(world.run_until(15, &mut [&mut b]), None);
    assert!(!b.election.is_leader());
    assert_eq!(world.run_until(21, &mut [&mut b]), None);
    assert!(b.election.is_leader());
    let spec = world.server.spec();
    assert_eq!(spec.lease_transitions, Some(1));
    // Fifteen seconds after it was first seen, and the jittered retry.
    let acquired = spec.acquire_time.unwrap().0.as_second() - 1_700_000_000;
    assert!((16..=21).contains(&acquired), "{acquired}");
}

#[test]
fn clock_skew_between_machines_changes_nothing() {
    for hours in [-24, 24] {
        let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
        b.skew = SignedDuration::from_hours(hours);
        world.step(&mut a);
        world.run_until(60, &mut [&mut a, &mut b]);
        assert!(a.election.is_leader() && !b.election.is_leader(), "{hours}");
        world.run_until(80, &mut [&mut b]);
        assert!(b.election.is_leader(), "{hours}");
    }
}

#[test]
fn leader_that_cannot_renew_ends_before_another_may_take_over() {
    let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
    world.step(&mut a);
    world.step(&mut b);
    world.server.down = true;
    let end = world.run_until(60, &mut [&mut a]);
    assert_eq!(end, Some(End::NotRenewed));
    let elapsed = world.now - world.start;
    assert!(elapsed <= Duration::from_millis(10_100), "{elapsed:?}");
    assert_eq!(a.events.last(), Some(&LeaderEvent::StoppedLeading));
    world.server.down = false;
    world.step(&mut b);
    assert!(!b.election.is_leader());
}

#[test]
fn leader_survives_failures_shorter_than_the_renew_deadline() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    world.server.down = true;
    assert_eq!(world.run_until(7, &mut [&mut a]), None);
    world.server.down = false;
    assert_eq!(world.run_until(30, &mut [&mut a]), None);
    assert!(a.election.is_leader());
}

#[test]
fn conflict_on_the_optimistic_write_is_healed_by_a_read() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    // Somebody puts a label on the lease.
    let mut lease = world.server.lease.clone().unwrap();
    let label = ("team".to_owned(), "x".to_owned());
    lease.metadata.labels = Some([label].into());
    world.server.store(lease);
    assert_eq!(world.run_until(5, &mut [&mut a]), None);
    assert!(a.election.is_leader());
    let lease = world.server.lease.clone().unwrap();
    assert!(lease.metadata.labels.is_some(), "the label was lost");
}

#[test]
fn leader_that_sees_another_holder_ends_at_once() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    let mut lease = world.server.lease.clone().unwrap();
    lease.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    world.server.store(lease);
    assert_eq!(world.run_until(5, &mut [&mut a]), Some(End::Replaced));
    assert!(world.now - world.start < Duration::from_secs(3));
    assert_eq!(world.server.holder(), "b");
}

#[test]
fn leader_whose_lease_was_deleted_makes_it_again() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    world.server.lease = None;
    assert_eq!(world.run_until(5, &mut [&mut a]), None);
    assert!(a.election.is_leader());
    assert_eq!(world.server.holder(), "a");
}

#[test]
fn release_hands_over_within_the_next_attempt() {
    let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
    world.step(&mut a);
    world.step(&mut b);
    a.election.leave(world.now);
    assert_eq!(world.step(&mut a), Next::Ended(End::Left));
    let spec = world.server.spec();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!(spec.lease_duration_seconds, Some(1));
    assert_eq!(spec.lease_transitions, Some(0));
    assert_eq!(a.events.last(), Some(&LeaderEvent::NewLeader(None)));
    world.run_until(5, &mut [&mut b]);
    assert!(b.election.is_leader());
    assert_eq!(world.server.spec().lease_transitions, Some(1));
}

#[test]
fn release_does_not_touch_a_lease_that_another_holds() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    let mut lease = world.server.lease.clone().unwrap();
    lease.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    world.server.store(lease);
    a.election.leave(world.now);
    assert_eq!(world.step(&mut a), Next::Ended(End::Left));
    assert_eq!(world.server.holder(), "b");
}

#[test]
fn release_against_a_dead_server_is_given_up() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    world.server.down = true;
    a.election.leave(world.now);
    assert_eq!(world.run_until(10, &mut [&mut a]), Some(End::Left));
    assert!(world.now - world.start < Duration::from_secs(2));
}

#[test]
fn restarted_process_of_the_same_identity_leads_at_once() {
    let (mut world, mut a) = (World::new(), candidate("a"));
    world.step(&mut a);
    let mut again = candidate("a");
    world.step(&mut again);
    assert!(again.election.is_leader());
    assert_eq!(world.server.spec().lease_transitions, Some(0));
}

#[test]
fn retries_of_candidates_are_jittered_within_their_bounds() {
    let (mut world, mut a, mut b) = (World::new(), candidate("a"), candidate("b"));
    world.step(&mut a);
    for _ in 0..50 {
        let Next::Wait(at) = world.step(&mut b) else {
            panic!("a candidate waits");
        };
        let delay = at - world.now;
        assert!(delay >= Duration::from_secs(2), "{delay:?}");
        assert!(delay <= Duration::from_millis(4_400), "{delay:?}");
        world.now = at;
        world.step(&mut a);
    }
}

#[test]
fn durations_that_do_not_fit_are_refused() {
    let valid = LeaseDurations::default();
    let with = |lease: u64, renew: u64, retry: u64| {
        LeaseDurations {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
        }
        .validate()
    };
    assert_eq!(valid.validate(), Ok(()));
    assert_eq!(with(999, 600, 100), Err(InvalidDurations::LeaseTooShort));
    let within = InvalidDurations::LeaseWithinRenewDeadline;
    assert_eq!(with(10_000, 10_000, 2_000), Err(within));
    // Ten whole seconds are what the others read.
    assert_eq!(with(10_900, 10_500, 2_000), Err(within));
    let retry = InvalidDurations::RenewDeadlineWithinRetry;
    assert_eq!(with(15_000, 2_400, 2_000), Err(retry));
    assert_eq!(
        with(15_000, 10_000, 0),
        Err(InvalidDurations::NoRetryPeriod)
    );
}
