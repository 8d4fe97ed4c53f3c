//! Tests of the whole state: delays meeting the line, wake-ups, and a property test
//! against a plain model.

use proptest::prelude::*;

use super::*;
use crate::order::FifoQueue;
use crate::priority_queue::PriorityQueue;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn fifo() -> QueueState<&'static str> {
    let core = WorkQueueCore::new(Box::new(FifoQueue::new()));
    QueueState::new(core, Recorder::new(None))
}

fn workers(workers: usize) -> Wakes {
    Wakes {
        workers,
        ..Wakes::default()
    }
}

fn take(state: &mut QueueState<&'static str>, now: Instant) -> Option<&'static str> {
    state.try_get(now).0.map(|taken| taken.item)
}

#[test]
fn delayed_and_plain_adds_line_up_by_their_times() {
    let start = Instant::now();
    let mut state = fifo();
    let _ = state.add_after("delayed", 0, ms(10), start);
    let _ = state.add("before", 0, start + ms(9));
    // Nobody looked at the queue between 9 and 11 ms.
    let _ = state.add("after", 0, start + ms(11));
    let now = start + ms(20);
    let order: Vec<_> = std::iter::from_fn(|| take(&mut state, now)).collect();
    assert_eq!(order, ["before", "delayed", "after"]);
}

#[test]
fn latency_of_delayed_item_starts_when_its_delay_has_passed() {
    let start = Instant::now();
    let mut state = fifo();
    let _ = state.add_after("a", 0, ms(10), start);
    let (taken, _) = state.try_get(start + ms(25));
    assert_eq!(taken.map(|taken| taken.waited), Some(ms(15)));
}

#[test]
fn add_wakes_one_worker_and_a_duplicate_none() {
    let now = Instant::now();
    let mut state = fifo();
    assert_eq!(state.add("a", 0, now), workers(1));
    assert_eq!(state.add("a", 0, now), workers(0));
    assert_eq!(take(&mut state, now), Some("a"));
    assert_eq!(state.add("a", 0, now), workers(0));
    assert_eq!(state.done(&"a", None, now), workers(1));
}

#[test]
fn items_that_come_due_together_wake_a_worker_each() {
    let start = Instant::now();
    let mut state = fifo();
    for item in ["a", "b", "c"] {
        let _ = state.add_after(item, 0, ms(10), start);
    }
    // The caller takes one itself.
    let (taken, wakes) = state.try_get(start + ms(10));
    assert_eq!(taken.map(|taken| taken.item), Some("a"));
    assert_eq!(wakes, workers(2));
}

#[test]
fn one_waiting_worker_leads_and_an_earlier_deadline_reaches_it() {
    let start = Instant::now();
    let mut state = fifo();
    assert_eq!(state.next_step(false, start).0, Step::Wait);
    assert_eq!(state.add_after("a", 0, ms(10), start), workers(1));
    let deadline = start + ms(10);
    assert_eq!(state.next_step(false, start).0, Step::Lead(Some(deadline)));
    assert_eq!(state.next_step(false, start).0, Step::Wait);
    assert_eq!(state.add_after("b", 0, ms(20), start), workers(0));
    let sooner = Wakes {
        timer: true,
        ..Wakes::default()
    };
    assert_eq!(state.add_after("c", 0, ms(5), start), sooner);
    let deadline = start + ms(5);
    assert_eq!(state.next_step(true, start).0, Step::Lead(Some(deadline)));
    // The next one is told when the leader leaves, unless nothing is to be watched.
    assert_eq!(state.stop_leading(), workers(1));
    let (lost, _) = state.shut_down(Drain::No, start);
    assert_eq!(lost, 3);
    assert_eq!(state.stop_leading(), workers(0));
}

#[test]
fn shut_down_wakes_everyone_and_the_last_done_ends_the_drain() {
    let now = Instant::now();
    let mut state = fifo();
    let _ = state.add("a", 0, now);
    assert_eq!(take(&mut state, now), Some("a"));
    let (_, wakes) = state.shut_down(Drain::Yes, now);
    assert!(wakes.everyone);
    assert!(!state.is_drained());
    assert!(state.done(&"a", None, now).idle);
    assert!(state.is_drained());
}

#[test]
fn shut_down_keeps_what_is_due_and_loses_what_is_not() {
    let start = Instant::now();
    let mut state = fifo();
    let _ = state.add_after("due", 0, ms(10), start);
    let _ = state.add_after("lost", 0, ms(20), start);
    let (lost, _) = state.shut_down(Drain::No, start + ms(15));
    assert_eq!(lost, 1);
    let later = start + ms(30);
    assert_eq!(take(&mut state, later), Some("due"));
    assert_eq!(state.next_step(false, later).0, Step::ShutDown);
    assert_eq!(state.add_after("late", 0, ms(1), later), workers(0));
    assert_eq!(take(&mut state, later + ms(5)), None);
}

#[test]
fn longest_delay_is_bounded() {
    let now = Instant::now();
    let mut state = fifo();
    let _ = state.add_after("a", 0, Duration::MAX, now);
    let (step, _) = state.next_step(false, now);
    assert_eq!(step, Step::Lead(Some(now + LONGEST_DELAY)));
}

/// What a caller can do.
#[derive(Clone, Debug)]
enum Op {
    Add { key: u8, priority: i32 },
    AddAfter { key: u8, priority: i32, ms: u64 },
    Get,
    Done { key: u8 },
    LateDone { key: u8 },
    Advance { ms: u64 },
    ShutDown,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0_u8..6;
    let priority = -1_i32..3;
    prop_oneof![
        6 => (key.clone(), priority.clone()).prop_map(|(key, priority)| Op::Add { key, priority }),
        5 => (key.clone(), priority, 0_u64..12)
            .prop_map(|(key, priority, ms)| Op::AddAfter { key, priority, ms }),
        6 => Just(Op::Get),
        5 => key.clone().prop_map(|key| Op::Done { key }),
        2 => key.prop_map(|key| Op::LateDone { key }),
        4 => (1_u64..8).prop_map(|ms| Op::Advance { ms }),
        1 => Just(Op::ShutDown),
    ]
}

/// The queue as one would write it without a thought for speed.
#[derive(Default)]
struct Model {
    heeds_priority: bool,
    now: u64,
    arrivals: u64,
    shut_down: bool,
    /// Key, priority, arrival.
    dirty: Vec<(u8, i32, u64)>,
    processing: Vec<u8>,
    /// Deadline, insertion, key, priority.
    delayed: Vec<(u64, u64, u8, i32)>,
}

impl Model {
    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    fn promote(&mut self) {
        self.delayed.sort_unstable();
        let waiting = self
            .delayed
            .iter()
            .position(|(deadline, ..)| *deadline > self.now)
            .unwrap_or(self.delayed.len());
        for (_, _, key, priority) in self.delayed.drain(..waiting).collect::<Vec<_>>() {
            self.add(key, priority);
        }
    }

    fn add(&mut self, key: u8, priority: i32) {
        if self.shut_down {
            return;
        }
        let arrival = self.arrive();
        match self.dirty.iter_mut().find(|(dirty, ..)| *dirty == key) {
            Some(dirty) => dirty.1 = dirty.1.max(priority),
            None => self.dirty.push((key, priority, arrival)),
        }
    }

    fn add_after(&mut self, key: u8, priority: i32, ms: u64) {
        if ms == 0 || self.shut_down {
            self.add(key, priority);
            return;
        }
        let insertion = self.arrive();
        let deadline = self.now + ms;
        match self.delayed.iter_mut().find(|(_, _, it, _)| *it == key) {
            Some(waiting) => {
                waiting.3 = waiting.3.max(priority);
                if deadline < waiting.0 {
                    (waiting.0, waiting.1) = (deadline, insertion);
                }
            }
            None => self.delayed.push((deadline, insertion, key, priority)),
        }
    }

    fn line(&self) -> impl Iterator<Item = &(u8, i32, u64)> {
        self.dirty
            .iter()
            .filter(|(key, ..)| !self.processing.contains(key))
    }

    fn get(&mut self) -> Option<(u8, i32)> {
        let (key, priority, _) = *self.line().min_by_key(|(_, priority, arrival)| {
            let urgency = if self.heeds_priority { -priority } else { 0 };
            (urgency, *arrival)
        })?;
        self.dirty.retain(|(dirty, ..)| *dirty != key);
        self.processing.push(key);
        Some((key, priority))
    }

    fn done(&mut self, key: u8) {
        if !self.processing.contains(&key) {
            return;
        }
        self.processing.retain(|it| *it != key);
        let arrival = self.arrive();
        if let Some(dirty) = self.dirty.iter_mut().find(|(dirty, ..)| *dirty == key) {
            dirty.2 = arrival;
        }
    }
}

fn check(ops: Vec<Op>, heeds_priority: bool) -> Result<(), TestCaseError> {
    let start = Instant::now();
    let core = if heeds_priority {
        WorkQueueCore::new(Box::new(PriorityQueue::new()))
    } else {
        WorkQueueCore::new(Box::new(FifoQueue::new()))
    };
    let mut state = QueueState::new(core, Recorder::new(None));
    let mut model = Model {
        heeds_priority,
        ..Model::default()
    };
    let mut tickets = [None; 6];
    let name = Arc::from("model");
    for op in ops {
        let now = start + ms(model.now);
        model.promote();
        match op {
            Op::Add { key, priority } => {
                model.add(key, priority);
                let _ = state.add(key, priority, now);
            }
            Op::AddAfter {
                key,
                priority,
                ms: delay,
            } => {
                model.add_after(key, priority, delay);
                let _ = state.add_after(key, priority, ms(delay), now);
            }
            Op::Get => {
                let (taken, _) = state.try_get(now);
                let pair = taken.as_ref().map(|taken| (taken.item, taken.priority));
                prop_assert_eq!(pair, model.get());
                if let Some(taken) = taken {
                    tickets[usize::from(taken.item)] = Some(taken.ticket);
                }
            }
            Op::Done { key } => {
                model.done(key);
                let _ = state.done(&key, tickets[usize::from(key)], now);
            }
            Op::LateDone { key } => {
                // A ticket that was never given out ends nothing.
                let _ = state.done(&key, Some(u64::MAX), now);
            }
            Op::Advance { ms } => model.now += ms,
            Op::ShutDown => {
                model.shut_down = true;
                model.delayed.clear();
                let _ = state.shut_down(Drain::Yes, now);
            }
        }
        model.promote();
        let now = start + ms(model.now);
        prop_assert_eq!(state.len(now).0, model.line().count());
        let (metrics, _) = state.metrics(&name, now);
        prop_assert_eq!(metrics.depth, model.dirty.len());
        prop_assert_eq!(metrics.in_flight, model.processing.len());
        prop_assert_eq!(metrics.delayed, model.delayed.len());
        prop_assert_eq!(
            state.is_drained(),
            !model.shut_down || (model.dirty.is_empty() && model.processing.is_empty())
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fifo_behaves_like_the_plain_model(ops in proptest::collection::vec(op(), 0..200)) {
        check(ops, false)?;
    }

    #[test]
    fn priority_behaves_like_the_plain_model(ops in proptest::collection::vec(op(), 0..200)) {
        check(ops, true)?;
    }
}
