//! The ring and the table of merges.

#![cfg(not(informers_loom))]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::test_objects::{Thing, add, delete, initial, text, tombstone, update};

fn coalescing(max: usize) -> Pending<Thing> {
    Pending::new(Buffer::Coalescing {
        max: NonZeroUsize::new(max).unwrap(),
    })
}

fn drain(pending: &mut Pending<Thing>) -> Vec<String> {
    std::iter::from_fn(|| pending.pop())
        .map(|notification| text(&notification))
        .collect()
}

/// What is left of `first` and then `second` about one object.
fn both(first: Notification<Thing>, second: Notification<Thing>) -> Vec<String> {
    let mut pending = coalescing(1);
    pending.push(first, Instant::now());
    pending.push(second, Instant::now());
    drain(&mut pending)
}

#[test]
fn pending_full_merges_by_the_table() {
    assert_eq!(both(add("a", 1), update("a", 1, 2)), ["add a 2"]);
    assert_eq!(both(initial("a", 1), update("a", 1, 2)), ["initial a 2"]);
    assert_eq!(both(update("a", 1, 2), update("a", 2, 3)), ["update a 1>3"]);
    assert_eq!(both(update("a", 1, 2), delete("a", 3)), ["delete a 3"]);
    assert_eq!(
        both(update("a", 1, 2), tombstone("a", Some(2))),
        ["tombstone a 2"]
    );
    assert_eq!(
        both(update("a", 1, 2), tombstone("a", None)),
        ["update a 1>2", "tombstone a ?"]
    );
    assert_eq!(both(add("a", 1), delete("a", 2)), ["add a 1", "delete a 2"]);
    assert_eq!(both(delete("a", 1), add("a", 2)), ["delete a 1", "add a 2"]);
    assert_eq!(
        both(delete("a", 1), delete("a", 2)),
        ["delete a 1", "delete a 2"]
    );
}

#[test]
fn pending_merged_keeps_its_place_and_others_theirs() {
    let mut pending = coalescing(2);
    let now = Instant::now();
    for (notification, pushed) in [
        (update("a", 1, 2), Pushed::Appended),
        (update("b", 1, 2), Pushed::Appended),
        (update("c", 1, 2), Pushed::Appended),
        (update("a", 2, 3), Pushed::Merged),
        (update("c", 2, 3), Pushed::Merged),
    ] {
        assert_eq!(pending.push(notification, now), pushed);
    }
    assert_eq!(
        drain(&mut pending),
        ["update a 1>3", "update b 1>2", "update c 1>3"]
    );
}

#[test]
fn pending_below_its_maximum_keeps_every_change() {
    let mut pending = coalescing(3);
    for version in 1..=3 {
        let pushed = pending.push(update("a", version, version + 1), Instant::now());
        assert_eq!(pushed, Pushed::Appended);
    }
    assert_eq!(pending.len(), 3);
}

#[test]
fn pending_popped_is_not_merged_into() {
    let mut pending = coalescing(1);
    let now = Instant::now();
    pending.push(update("a", 1, 2), now);
    pending.push(update("b", 1, 2), now);
    assert_eq!(text(&pending.pop().unwrap()), "update a 1>2");
    assert_eq!(pending.push(update("a", 2, 3), now), Pushed::Appended);
    assert_eq!(drain(&mut pending), ["update b 1>2", "update a 2>3"]);
}

#[test]
fn pending_unbounded_never_merges() {
    let mut pending = Pending::new(Buffer::Unbounded);
    for version in 0..2000 {
        pending.push(update("a", version, version + 1), Instant::now());
    }
    assert_eq!(pending.len(), 2000);
}

// B64: what a burst took is returned after it.
#[test]
fn pending_after_a_burst_gives_memory_back() {
    let mut pending = Pending::new(Buffer::Unbounded);
    assert!(pending.capacity() >= INITIAL_CAPACITY);
    for version in 0..100_000 {
        pending.push(add("a", version), Instant::now());
    }
    assert!(pending.capacity() >= 100_000);
    drain(&mut pending);
    assert!(pending.capacity() <= 2 * INITIAL_CAPACITY);
    assert!(pending.capacity() >= INITIAL_CAPACITY);
}

#[test]
fn pending_cleared_merges_into_nothing_that_is_gone() {
    let mut pending = coalescing(1);
    pending.push(update("a", 1, 2), Instant::now());
    drop(pending.take());
    assert_eq!(pending.len(), 0);
    pending.push(update("a", 2, 3), Instant::now());
    assert_eq!(drain(&mut pending), ["update a 2>3"]);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The object changes: it is added if absent, else updated.
    Change(usize),
    Delete(usize),
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Change),
        1 => (0..3_usize).prop_map(Step::Delete),
        2 => Just(Step::Pop),
    ]
}

/// A handler that believes what it is told, and objects to what cannot be.
#[derive(Default)]
struct Believer {
    objects: BTreeMap<String, String>,
    deletes: usize,
}

impl Believer {
    fn told(&mut self, notification: &Notification<Thing>) {
        let key = notification.name().name().to_owned();
        match notification {
            Notification::Add { obj, .. } => {
                let before = self.objects.insert(key, obj.version.clone());
                assert_eq!(before, None, "added twice");
            }
            Notification::Update { old, new } => {
                let before = self.objects.insert(key, new.version.clone());
                assert_eq!(
                    before.as_ref(),
                    Some(&old.version),
                    "updated from another state"
                );
            }
            Notification::Delete(_) => {
                self.deletes += 1;
                assert!(self.objects.remove(&key).is_some(), "deleted, but unknown");
            }
        }
    }
}

proptest! {
    /// No delete is lost, the last state is told, and what is told makes sense.
    #[test]
    fn pending_coalescing_tells_the_same_story(
        steps in proptest::collection::vec(step(), 0..200),
        max in 1..5_usize,
    ) {
        const KEYS: [&str; 3] = ["a", "b", "c"];
        let mut pending = coalescing(max);
        let mut versions: [Option<u32>; 3] = [None; 3];
        let mut next = 0;
        let mut deletes = 0;
        let mut believer = Believer::default();
        for step in steps {
            let notification = match step {
                Step::Change(key) => {
                    next += 1;
                    match versions[key].replace(next) {
                        None => add(KEYS[key], next),
                        Some(old) => update(KEYS[key], old, next),
                    }
                }
                Step::Delete(key) => match versions[key].take() {
                    None => continue,
                    Some(version) => {
                        deletes += 1;
                        delete(KEYS[key], version)
                    }
                },
                Step::Pop => {
                    if let Some(notification) = pending.pop() {
                        believer.told(&notification);
                    }
                    continue;
                }
            };
            pending.push(notification, Instant::now());
            prop_assert!(pending.len() <= max + KEYS.len() + 2 * deletes);
        }
        while let Some(notification) = pending.pop() {
            believer.told(&notification);
        }
        let expected: BTreeMap<_, _> = KEYS
            .iter()
            .zip(versions)
            .filter_map(|(key, version)| Some(((*key).to_owned(), version?.to_string())))
            .collect();
        prop_assert_eq!(&believer.objects, &expected);
        prop_assert_eq!(believer.deletes, deletes);
    }
}
