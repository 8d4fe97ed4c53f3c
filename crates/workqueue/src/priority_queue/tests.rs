//! Tests of the order by priority.

use super::*;

fn rank(priority: i32, sequence: u64) -> Rank {
    Rank { priority, sequence }
}

fn drain(queue: &mut PriorityQueue<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn pop_higher_priority_first_and_fifo_within() {
    let mut queue = PriorityQueue::new();
    queue.push("low", rank(-1, 0));
    queue.push("first", rank(5, 1));
    queue.push("plain", rank(0, 2));
    queue.push("second", rank(5, 3));
    assert_eq!(queue.len(), 4);
    assert_eq!(drain(&mut queue), ["first", "second", "plain", "low"]);
    assert!(queue.is_empty());
}

#[test]
fn touch_raised_item_keeps_its_arrival_among_new_equals() {
    let mut queue = PriorityQueue::new();
    queue.push("a", rank(0, 0));
    queue.push("b", rank(0, 1));
    queue.push("c", rank(7, 2));
    queue.touch(&"b", rank(0, 1), rank(7, 1));
    assert_eq!(queue.len(), 3);
    assert_eq!(drain(&mut queue), ["b", "c", "a"]);
}

#[test]
fn touch_without_change_or_of_unknown_rank_does_nothing() {
    let mut queue = PriorityQueue::new();
    queue.push("a", rank(0, 0));
    queue.touch(&"a", rank(0, 0), rank(0, 0));
    queue.touch(&"a", rank(3, 8), rank(4, 8));
    assert_eq!(drain(&mut queue), ["a"]);
}
