//! Tests of the state machine, step by step; its property test is that of the state.

use super::*;
use crate::order::FifoQueue;
use crate::priority_queue::PriorityQueue;

fn fifo() -> (WorkQueueCore<&'static str>, Instant) {
    (
        WorkQueueCore::new(Box::new(FifoQueue::new())),
        Instant::now(),
    )
}

fn take<T: Clone + Eq + Hash>(core: &mut WorkQueueCore<T>, now: Instant) -> Option<T> {
    core.get(now).map(|taken| taken.item)
}

// Q1
#[test]
fn add_of_queued_item_is_deduplicated() {
    let (mut core, now) = fifo();
    assert_eq!(core.add("a", 0, now), Added::Queued);
    assert_eq!(core.add("a", 0, now), Added::Deduplicated);
    assert_eq!((core.len(), core.depth()), (1, 1));
}

// Q2
#[test]
fn add_while_processing_returns_to_the_tail_at_done() {
    let (mut core, now) = fifo();
    core.add("a", 0, now);
    core.add("b", 0, now);
    assert_eq!(take(&mut core, now), Some("a"));
    assert_eq!(core.add("a", 0, now), Added::Deferred);
    assert_eq!(core.add("a", 0, now), Added::Deduplicated);
    // Q7
    assert_eq!((core.len(), core.depth(), core.in_flight()), (1, 2, 1));
    assert_eq!(
        core.done(&"a", None, now),
        Some(Done {
            worked: Duration::ZERO,
            requeued: true
        })
    );
    assert_eq!(take(&mut core, now), Some("b"));
    assert_eq!(take(&mut core, now), Some("a"));
    assert_eq!(take(&mut core, now), None);
}

// Q4, Q5
#[test]
fn shut_down_refuses_adds_but_hands_out_what_is_dirty() {
    let (mut core, now) = fifo();
    core.add("a", 0, now);
    core.add("b", 0, now);
    assert_eq!(take(&mut core, now), Some("a"));
    core.add("a", 0, now);
    core.shut_down();
    assert_eq!(core.add("c", 0, now), Added::Refused);
    assert_eq!(take(&mut core, now), Some("b"));
    assert_eq!(take(&mut core, now), None);
    core.done(&"a", None, now);
    assert_eq!(take(&mut core, now), Some("a"));
    core.done(&"a", None, now);
    core.done(&"b", None, now);
    assert!(core.is_idle());
}

// B92
#[test]
fn done_of_item_that_is_not_processing_is_ignored() {
    let (mut core, now) = fifo();
    core.add("a", 0, now);
    for _ in 0..3 {
        assert_eq!(core.done(&"a", None, now), None);
    }
    assert_eq!(core.len(), 1);
    assert_eq!(take(&mut core, now), Some("a"));
    assert_eq!(take(&mut core, now), None);
}

// B92
#[test]
fn done_with_ticket_of_an_earlier_hand_out_is_ignored() {
    let (mut core, now) = fifo();
    core.add("a", 0, now);
    let first = core.get(now).expect("a is in line").ticket;
    core.done(&"a", None, now);
    core.add("a", 0, now);
    let second = core.get(now).expect("a is in line again").ticket;
    core.add("a", 0, now);
    assert_eq!(core.done(&"a", Some(first), now), None);
    assert_eq!(
        take(&mut core, now),
        None,
        "a second worker must not get it"
    );
    assert!(core.done(&"a", Some(second), now).is_some());
    assert_eq!(take(&mut core, now), Some("a"));
}

#[test]
fn priority_is_raised_while_in_line_and_while_processing() {
    let now = Instant::now();
    let mut core = WorkQueueCore::new(Box::new(PriorityQueue::new()));
    core.add("a", 0, now);
    core.add("b", 0, now);
    core.add("b", 5, now);
    core.add("b", 1, now);
    let taken = core.get(now).expect("two are in line");
    assert_eq!((taken.item, taken.priority), ("b", 5));
    core.add("b", 2, now);
    core.add("b", 7, now);
    core.done(&"b", None, now);
    let taken = core.get(now).expect("two are in line");
    assert_eq!((taken.item, taken.priority), ("b", 7));
}

#[test]
fn durations_are_measured_from_add_and_from_get() {
    let (mut core, start) = fifo();
    core.add("a", 0, start);
    core.add("b", 0, start);
    let later = start + Duration::from_secs(3);
    assert_eq!(
        core.get(later).map(|taken| taken.waited),
        Some(Duration::from_secs(3))
    );
    let later = start + Duration::from_secs(5);
    core.get(later);
    let end = start + Duration::from_secs(6);
    assert_eq!(
        core.unfinished(end),
        Unfinished {
            total: Duration::from_secs(4),
            longest: Duration::from_secs(3)
        }
    );
    assert_eq!(
        core.done(&"a", None, end).map(|done| done.worked),
        Some(Duration::from_secs(3))
    );
    assert_eq!(core.unfinished(end).longest, Duration::from_secs(1));
}

/// An order that breaks its contract: it hands out everything twice.
#[derive(Default)]
struct Stutter(Vec<&'static str>);

impl Queue<&'static str> for Stutter {
    fn push(&mut self, item: &'static str, _rank: Rank) {
        self.0.extend([item, item]);
    }

    fn pop(&mut self) -> Option<&'static str> {
        self.0.pop()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

// Q3
#[test]
fn get_from_an_order_that_repeats_itself_hands_out_once() {
    let now = Instant::now();
    let mut core = WorkQueueCore::new(Box::new(Stutter::default()));
    core.add("a", 0, now);
    assert_eq!(take(&mut core, now), Some("a"));
    assert_eq!(take(&mut core, now), None);
}

// B94
#[test]
fn sets_emptied_after_burst_return_memory() {
    let now = Instant::now();
    let mut core = WorkQueueCore::new(Box::new(FifoQueue::new()));
    for i in 0..20_000 {
        core.add(i, 0, now);
    }
    let full = core.dirty.allocation_size();
    while core.get(now).is_some() {}
    assert!(core.dirty.allocation_size() * 100 < full);
    let full = core.processing.allocation_size();
    for i in 0..20_000 {
        assert!(core.done(&i, None, now).is_some());
    }
    assert!(core.processing.allocation_size() * 100 < full);
}
