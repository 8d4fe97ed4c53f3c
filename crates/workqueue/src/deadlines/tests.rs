//! Tests of the delays.

use std::time::Duration;

use super::*;

fn at(start: Instant, ms: u64) -> Instant {
    start + Duration::from_millis(ms)
}

fn due(deadlines: &mut Deadlines<&'static str>, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| deadlines.pop_due(now).map(|due| due.item)).collect()
}

// Q8
#[test]
fn insert_twice_keeps_the_earlier_deadline() {
    let start = Instant::now();
    let mut deadlines = Deadlines::new();
    assert!(deadlines.insert("a", 0, at(start, 50)));
    assert!(!deadlines.insert("a", 0, at(start, 70)));
    assert!(deadlines.insert("a", 0, at(start, 30)));
    assert_eq!(deadlines.len(), 1);
    assert_eq!(due(&mut deadlines, at(start, 29)), [""; 0]);
    assert_eq!(due(&mut deadlines, at(start, 30)), ["a"]);
    assert_eq!(due(&mut deadlines, at(start, 100)), [""; 0]);
    assert!(deadlines.is_empty());
}

#[test]
fn insert_twice_keeps_the_higher_priority() {
    let start = Instant::now();
    let mut deadlines = Deadlines::new();
    deadlines.insert("a", 1, at(start, 50));
    deadlines.insert("a", 5, at(start, 90));
    deadlines.insert("a", 3, at(start, 40));
    assert_eq!(
        deadlines.pop_due(at(start, 40)),
        Some(Due {
            item: "a",
            deadline: at(start, 40),
            priority: 5
        })
    );
}

#[test]
fn insert_reports_whether_the_earliest_moved() {
    let start = Instant::now();
    let mut deadlines = Deadlines::new();
    assert!(deadlines.insert("a", 0, at(start, 50)));
    assert!(!deadlines.insert("b", 0, at(start, 60)));
    assert!(!deadlines.insert("b", 0, at(start, 55)));
    assert!(deadlines.insert("b", 0, at(start, 45)));
    assert_eq!(deadlines.next(), Some(at(start, 45)));
}

#[test]
fn equal_deadlines_come_due_in_order_of_insertion() {
    let start = Instant::now();
    let mut deadlines = Deadlines::new();
    for item in ["c", "a", "b"] {
        deadlines.insert(item, 0, at(start, 5));
    }
    assert_eq!(due(&mut deadlines, at(start, 5)), ["c", "a", "b"]);
}

// B94
#[test]
fn burst_that_came_due_returns_memory() {
    let start = Instant::now();
    let mut deadlines = Deadlines::new();
    for i in 0..20_000_u64 {
        deadlines.insert(i, 0, at(start, i % 100));
    }
    let full = deadlines.by_item.allocation_size();
    while deadlines.pop_due(at(start, 100)).is_some() {}
    assert!(deadlines.by_time.is_empty());
    assert!(deadlines.by_item.allocation_size() * 100 < full);
}
