//! Tests of ranks and of the default order.

use super::*;

fn rank(priority: i32, sequence: u64) -> Rank {
    Rank { priority, sequence }
}

#[test]
fn rank_order_is_priority_down_then_sequence_up() {
    let mut ranks = [rank(0, 1), rank(5, 9), rank(-3, 0), rank(5, 2)];
    ranks.sort();
    assert_eq!(ranks, [rank(5, 2), rank(5, 9), rank(0, 1), rank(-3, 0)]);
}

#[test]
fn fifo_ignores_priority() {
    let mut queue = FifoQueue::new();
    queue.push("a", rank(0, 0));
    queue.push("b", rank(9, 1));
    queue.touch(&"b", rank(9, 1), rank(10, 1));
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.pop(), Some("a"));
    assert_eq!(queue.pop(), Some("b"));
    assert_eq!(queue.pop(), None);
    assert!(queue.is_empty());
}

// B94
#[test]
fn fifo_emptied_after_burst_returns_memory() {
    let mut queue = FifoQueue::new();
    for i in 0..10_000 {
        queue.push(i, rank(0, i));
    }
    while queue.pop().is_some() {}
    assert!(
        queue.items.capacity() <= 64,
        "room for {} is kept",
        queue.items.capacity()
    );
}
