//! Tests of the order that is fair between tenants.

use super::*;

fn rank(priority: i32, sequence: u64) -> Rank {
    Rank { priority, sequence }
}

fn by_namespace() -> FairQueue<String, String> {
    FairQueue::new(|key: &String| key.split('/').next().unwrap_or_default().to_owned())
}

fn push_all(queue: &mut FairQueue<String, String>, keys: &[&str]) {
    for (sequence, key) in (0..).zip(keys) {
        queue.push((*key).to_owned(), rank(0, sequence));
    }
}

fn drain(queue: &mut FairQueue<String, String>) -> Vec<String> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn pop_several_tenants_takes_turns() {
    let mut queue = by_namespace();
    push_all(&mut queue, &["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]);
    assert_eq!((queue.len(), queue.tenants()), (6, 3));
    assert_eq!(
        drain(&mut queue),
        ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]
    );
    assert_eq!((queue.len(), queue.tenants()), (0, 0));
}

#[test]
fn pop_late_tenant_waits_one_round_not_one_backlog() {
    let mut queue = by_namespace();
    for sequence in 0..1_000 {
        queue.push(format!("busy/{sequence}"), rank(0, sequence));
    }
    assert_eq!(queue.pop().as_deref(), Some("busy/0"));
    queue.push("calm/1".to_owned(), rank(0, 1_000));
    assert_eq!(queue.pop().as_deref(), Some("busy/1"));
    assert_eq!(queue.pop().as_deref(), Some("calm/1"));
}

#[test]
fn touch_raises_within_the_tenant_only() {
    let mut queue = by_namespace();
    push_all(&mut queue, &["a/1", "a/2", "b/1"]);
    queue.touch(&"a/2".to_owned(), rank(0, 1), rank(9, 1));
    assert_eq!(drain(&mut queue), ["a/2", "b/1", "a/1"]);
}

#[test]
fn tenant_that_comes_back_goes_to_the_end_of_the_round() {
    let mut queue = by_namespace();
    push_all(&mut queue, &["a/1", "b/1", "b/2"]);
    assert_eq!(queue.pop().as_deref(), Some("a/1"));
    queue.push("a/2".to_owned(), rank(0, 3));
    assert_eq!(drain(&mut queue), ["b/1", "a/2", "b/2"]);
}

// B94
#[test]
fn many_tenants_emptied_return_memory() {
    let mut queue = FairQueue::new(|item: &u64| *item);
    for item in 0..10_000 {
        queue.push(item, rank(0, item));
    }
    while queue.pop().is_some() {}
    assert!(
        queue.lines.capacity() <= 64,
        "{} lines",
        queue.lines.capacity()
    );
    assert!(
        queue.turns.capacity() <= 64,
        "{} turns",
        queue.turns.capacity()
    );
}
