//! Writing a store: what a write leaves, and what readers see of it.

mod concurrency;
mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::testing::{
    Thing, key, keys, keys_with, named, put, remove, spoil, store_by_tag, tags, thing, undecodable,
};
use crate::{Indexers, NAMESPACE_INDEX, ThreadSafeStore, lock};

// Scenario: TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex
#[test]
fn delete_removes_the_last_object_of_a_value_and_the_value() {
    let (store, _) = store_by_tag();
    store.apply(vec![put(&thing("a", &["x"]))], None);
    store.apply(vec![remove("a")], None);
    assert!(tags(&store).is_empty());
    assert!(
        store
            .list_index_func_values(NAMESPACE_INDEX)
            .unwrap()
            .is_empty()
    );
}

// Scenario: TestThreadSafeStoreAddKeepsNonEmptySetPostDeleteFromIndex
#[test]
fn delete_keeps_a_value_that_other_objects_have() {
    let (store, _) = store_by_tag();
    store.apply(
        vec![put(&thing("a", &["x"])), put(&thing("b", &["x"]))],
        None,
    );
    store.apply(vec![remove("a")], None);
    assert_eq!(
        (tags(&store), keys_with(&store, "x")),
        (vec!["x".into()], vec!["b".into()])
    );
}

// Scenario: TestThreadSafeStoreIndexingFunctionsWithMultipleValues. B74
#[test]
fn index_follows_every_change_of_several_values() {
    let (store, _) = store_by_tag();
    store.apply(vec![put(&thing("other", &["a", "b"]))], None);
    for values in [
        &["a"][..],
        &["a", "b"],
        &["b"],
        &[],
        &["a", "a"],
        &["c", "b", "a"],
        &["d", "b"],
        &["b", "d"],
    ] {
        store.apply(vec![put(&thing("a", values))], None);
        for value in ["a", "b", "c", "d"] {
            let mut expected = Vec::new();
            expected.extend(values.contains(&value).then_some("a"));
            expected.extend(["a", "b"].contains(&value).then_some("other"));
            assert_eq!(
                keys_with(&store, value),
                expected,
                "{value} after {values:?}"
            );
        }
        lock::read(store.contents()).assert_invariants();
    }
    store.apply(vec![remove("a"), remove("other")], None);
    assert!(tags(&store).is_empty());
}

#[test]
fn apply_answers_the_object_before_each_change() {
    let (store, _) = store_by_tag();
    let (one, two) = (thing("a", &["1"]), thing("a", &["2"]));
    let previous = store.apply(
        vec![
            put(&one),
            put(&two),
            remove("a"),
            remove("a"),
            put(&one),
            spoil("a"),
        ],
        None,
    );
    let previous: Vec<_> = previous.iter().map(Option::as_ref).collect();
    assert!(previous[0].is_none() && previous[3].is_none() && previous[4].is_none());
    for (place, expected) in [(1, &one), (2, &two), (5, &one)] {
        assert!(Arc::ptr_eq(previous[place].unwrap(), expected), "{place}");
    }
}

#[test]
fn index_function_runs_once_for_the_very_object() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let store = ThreadSafeStore::new(Indexers::new().with("byTag", move |thing: &Thing| {
        counter.fetch_add(1, Ordering::Relaxed);
        thing.tags.clone()
    }));
    let (a, b) = (thing("a", &["x"]), thing("b", &["x"]));
    let newer = thing("b", &["y"]);
    store.apply(vec![put(&a), put(&b)], None);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    // A resync, and a relist that finds `a` unchanged.
    store.apply(vec![put(&a), put(&b)], None);
    store.replace_all(named(&[&a, &newer]), Vec::new(), None);
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert_eq!(
        (keys_with(&store, "x"), keys_with(&store, "y")),
        (vec!["a".into()], vec!["b".into()])
    );
    // The stored object after another one of the same batch is no repetition.
    store.apply(vec![put(&thing("a", &["z"])), put(&a)], None);
    assert_eq!(
        (keys_with(&store, "x"), keys_with(&store, "z").len()),
        (vec!["a".into()], 0)
    );
    // Nor is one in a list where another of that name follows or went before.
    for list in [[&thing("a", &["z"]), &a], [&a, &thing("a", &["z"])]] {
        store.replace_all(named(&[&a]), Vec::new(), None);
        store.replace_all(named(&list), Vec::new(), None);
        assert_eq!(tags(&store), list[1].tags);
        lock::read(store.contents()).assert_invariants();
    }
}

// R11
#[test]
fn replace_answers_what_was_before_and_what_is_gone() {
    let (store, _) = store_by_tag();
    let (a, b, c) = (
        thing("ns/a", &["x"]),
        thing("ns/b", &["x"]),
        thing("ns/c", &["y"]),
    );
    store.apply(vec![put(&a), put(&b), put(&c)], None);
    let (b2, d, d2) = (
        thing("ns/b", &["z"]),
        thing("ns/d", &["1"]),
        thing("ns/d", &["2"]),
    );
    let outcome = store.replace_all(named(&[&d, &b2, &a, &d2, &b2]), Vec::new(), None);
    let previous: Vec<_> = outcome.previous.iter().map(Option::as_ref).collect();
    assert!(
        previous[0].is_none() && previous[3].is_none(),
        "not from the list itself"
    );
    for (place, expected) in [(1, &b), (2, &a), (4, &b)] {
        assert!(Arc::ptr_eq(previous[place].unwrap(), expected), "{place}");
    }
    let removed: Vec<_> = outcome
        .removed
        .iter()
        .map(|(name, obj)| (name.as_str(), obj))
        .collect();
    assert!(matches!(removed[..], [("ns/c", obj)] if Arc::ptr_eq(obj, &c)));
    assert_eq!(keys(&store), ["ns/a", "ns/b", "ns/d"]);
    assert_eq!(
        tags(&store),
        ["2", "x", "z"],
        "the last one of a name counts"
    );
}

// B59
#[test]
fn relist_without_half_of_the_objects_leaves_every_index_clean() {
    let (store, _) = store_by_tag();
    let things: Vec<_> = (0..100)
        .map(|i| thing(&format!("ns-{i}/a"), &[&format!("tag-{i}"), "all"]))
        .collect();
    store.replace_all(named(&things.iter().collect::<Vec<_>>()), Vec::new(), None);
    let kept: Vec<_> = things.iter().step_by(2).collect();
    let outcome = store.replace_all(named(&kept), Vec::new(), None);
    assert_eq!((outcome.removed.len(), store.len()), (50, 50));
    assert!(outcome.removed.iter().all(|(name, obj)| {
        things.iter().any(|thing| Arc::ptr_eq(thing, obj)) && store.get(name).is_none()
    }));
    assert_eq!(tags(&store).len(), 51);
    assert_eq!(keys_with(&store, "all").len(), 50);
    assert_eq!(
        store.list_index_func_values(NAMESPACE_INDEX).unwrap().len(),
        50
    );
    lock::read(store.contents()).assert_invariants();
}

#[test]
fn replace_keeps_the_last_good_version_of_what_does_not_decode() {
    let (store, _) = store_by_tag();
    let (a, b) = (thing("a", &["x"]), thing("b", &["x"]));
    store.apply(vec![put(&a), put(&b), spoil("gone")], None);
    let fresh = thing("c", &["y"]);
    let outcome = store.replace_all(
        named(&[&fresh]),
        vec![
            undecodable("a"),
            undecodable("c"),
            undecodable("new"),
            undecodable("a"),
        ],
        None,
    );
    assert!(Arc::ptr_eq(&store.get_by_key("a").unwrap(), &a));
    assert_eq!(keys_with(&store, "x"), ["a"]);
    assert_eq!(keys(&store), ["a", "c"]);
    let mut undecodable: Vec<_> = store.undecodable().iter().map(|u| u.name.clone()).collect();
    undecodable.sort();
    assert_eq!(
        undecodable,
        [key("a"), key("new")],
        "an object of the list heals its name"
    );
    let removed: Vec<_> = outcome
        .removed
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(removed, [key("b")]);
}

// B75
#[test]
fn values_that_were_unique_leave_nothing_behind() {
    let (store, _) = store_by_tag();
    let structure = || lock::read(store.contents()).structure_bytes();
    let empty = structure();
    for round in 0..50 {
        let things: Vec<_> = (0..1000)
            .map(|i| thing(&format!("ns/{round}-{i}"), &[&format!("{round}-{i}")]))
            .collect();
        store.apply(things.iter().map(put).collect(), None);
    }
    assert_eq!(tags(&store).len(), 50_000);
    lock::read(store.contents()).assert_invariants();
    let full = structure();
    for round in 0..50 {
        let names = (0..1000).map(|i| remove(&format!("ns/{round}-{i}")));
        store.apply(names.collect(), None);
    }
    assert!(tags(&store).is_empty());
    assert!(
        structure() < empty + full / 20,
        "{} of {full}, {empty} at first",
        structure()
    );
}

// B78
#[test]
fn memory_is_given_back_when_most_objects_are_gone() {
    let (store, _) = store_by_tag();
    let things: Vec<_> = (0..20_000)
        .map(|i| thing(&format!("ns/{i}"), &[&format!("{}", i / 3)]))
        .collect();
    store.replace_all(named(&things.iter().collect::<Vec<_>>()), Vec::new(), None);
    let full = lock::read(store.contents()).structure_bytes();
    let gone: Vec<_> = (0..20_000).filter(|i| i % 100 != 0).collect();
    for names in gone.chunks(1000) {
        store.apply(
            names.iter().map(|i| remove(&format!("ns/{i}"))).collect(),
            None,
        );
    }
    assert_eq!(store.len(), 200);
    let left = lock::read(store.contents()).structure_bytes();
    assert!(left < full / 8, "{left} of {full}");
    lock::read(store.contents()).assert_invariants();
    assert_eq!(keys_with(&store, "100"), ["ns/300"]);
    assert!(Arc::ptr_eq(
        &store.get_by_key("ns/300").unwrap(),
        &things[300]
    ));
}

#[test]
fn relist_of_the_same_objects_again_and_again_takes_no_more_memory() {
    let (store, _) = store_by_tag();
    let things: Vec<_> = (0..5000)
        .map(|i| thing(&format!("ns/{i}"), &["x"]))
        .collect();
    let relist = || {
        store.replace_all(named(&things.iter().collect::<Vec<_>>()), Vec::new(), None);
        store.memory()
    };
    let first = relist();
    for _ in 0..10 {
        assert_eq!(relist(), first);
    }
    assert!(things.iter().all(|thing| Arc::strong_count(thing) == 2));
}

#[test]
fn handler_of_index_errors_may_use_the_store_and_panic() {
    let store = Arc::new_cyclic(|weak: &std::sync::Weak<ThreadSafeStore<Thing>>| {
        let weak = std::sync::Weak::clone(weak);
        ThreadSafeStore::new(crate::testing::by_tag()).on_index_error(move |error| {
            let store = weak.upgrade().expect("the store is in use");
            assert!(store.get(error.object()).is_some(), "it is stored already");
            store.apply(vec![put(&thing("b", &["from-handler"]))], None);
            std::panic::resume_unwind(Box::new("the handler panics too"));
        })
    });
    store.apply(vec![put(&thing("a", &["error"]))], None);
    assert_eq!(keys_with(&store, "from-handler"), ["b"]);
}
