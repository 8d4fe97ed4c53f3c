//! Reading a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use informers_cache_core::KnownObjects;

use crate::testing::{
    by_tag, key, keys, keys_with, named, put, remove, spoil, store_by_tag, thing, undecodable,
    version,
};
use crate::{Store, ThreadSafeStore};

// Scenario: TestCache
#[test]
fn store_answers_what_was_put_last() {
    let (store, _) = store_by_tag();
    assert!(store.is_empty());
    store.apply(vec![put(&thing("ns/foo", &["1"]))], None);
    store.apply(
        vec![put(&thing("ns/foo", &["2"])), put(&thing("bar", &[]))],
        None,
    );
    assert_eq!(store.get(&key("ns/foo")).unwrap().tags, ["2"]);
    assert_eq!(store.get_by_key("bar").unwrap().name, "bar");
    assert!(store.get_by_key("foo").is_none());
    assert_eq!(
        (store.len(), keys(&store)),
        (2, vec!["bar".to_owned(), "ns/foo".to_owned()])
    );
    let mut names: Vec<_> = store.list().iter().map(|obj| obj.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["bar", "foo"]);

    store.apply(vec![remove("ns/foo"), remove("ns/never-there")], None);
    assert!(store.get_by_key("ns/foo").is_none());

    store.replace_all(named(&[&thing("baz", &[])]), Vec::new(), None);
    assert_eq!(keys(&store), ["baz"]);
}

#[test]
fn snapshot_stays_while_the_store_goes_on() {
    let (store, _) = store_by_tag();
    let things: Vec<_> = (0..200)
        .map(|i| thing(&format!("ns/{i:03}"), &["old"]))
        .collect();
    store.apply(things.iter().map(put).collect(), Some(&version("7")));
    let snapshot = store.snapshot();
    store.apply(
        (0..100)
            .map(|i| put(&thing(&format!("ns/{i:03}"), &["new"])))
            .chain((100..150).map(|i| remove(&format!("ns/{i}"))))
            .collect(),
        Some(&version("8")),
    );
    assert_eq!(keys_with(&store, "new").len(), 100);
    assert_eq!(store.len(), 150);

    assert_eq!((snapshot.len(), snapshot.is_empty()), (200, false));
    assert_eq!(snapshot.resource_version(), Some(&version("7")));
    let seen: BTreeMap<_, _> = snapshot
        .iter()
        .map(|(name, obj)| (name.clone(), obj))
        .collect();
    assert_eq!(seen.len(), 200);
    assert!(
        things
            .iter()
            .all(|thing| snapshot.objects().any(|obj| Arc::ptr_eq(obj, thing)))
    );
}

#[test]
fn large_answers_are_as_right_as_small_ones() {
    let (store, _) = store_by_tag();
    let things = (0..2000).map(|i| put(&thing(&format!("ns/{i}"), &[["a", "b"][i % 2], "c"])));
    store.apply(things.collect(), None);
    let objects = store.by_index("byTag", "a").unwrap();
    assert_eq!(objects.len(), 1000);
    assert!(objects.iter().all(|obj| obj.tags[0] == "a"));
    assert_eq!(
        store
            .index("byTag", &thing("x", &["a", "b", "c"]))
            .unwrap()
            .len(),
        2000
    );
    assert_eq!(store.namespace("ns").len(), 2000);
    let names = keys_with(&store, "b");
    assert_eq!(names.len(), 1000);
    assert!(names.is_sorted());
}

#[test]
fn for_each_may_use_the_store() {
    let (store, _) = store_by_tag();
    store.apply(vec![put(&thing("a", &[])), put(&thing("b", &[]))], None);
    let mut seen = 0;
    store.for_each(|name, obj| {
        assert!(Arc::ptr_eq(&store.get(name).unwrap(), obj));
        store.apply(vec![(name.clone(), crate::StoreChange::Remove)], None);
        seen += 1;
    });
    assert_eq!((seen, store.len()), (2, 0));
}

// B73
#[test]
fn objects_from_the_store_cannot_be_changed_in_place() {
    let (store, _) = store_by_tag();
    store.apply(vec![put(&thing("a", &["x"]))], None);
    let mut obj = store.get_by_key("a").unwrap();
    assert!(Arc::get_mut(&mut obj).is_none());
    Arc::make_mut(&mut obj).tags.clear();
    assert_eq!(
        store.get_by_key("a").unwrap().tags,
        ["x"],
        "that was a copy"
    );
}

#[test]
fn undecodable_stands_beside_the_last_good_version_until_healed() {
    let (store, _) = store_by_tag();
    let good = thing("a", &["x"]);
    store.apply(vec![put(&good)], None);
    let previous = store.apply(vec![spoil("a"), spoil("b")], None);
    assert!(Arc::ptr_eq(previous[0].as_ref().unwrap(), &good));
    assert!(previous[1].is_none());
    assert_eq!(store.undecodable().len(), 2);
    assert_eq!(
        (keys(&store), keys_with(&store, "x")),
        (vec!["a".to_owned()], vec!["a".to_owned()])
    );

    let previous = store.apply(vec![put(&thing("a", &["y"])), remove("b")], None);
    assert!(Arc::ptr_eq(previous[0].as_ref().unwrap(), &good));
    assert!(store.undecodable().is_empty());
    assert_eq!(keys_with(&store, "y"), ["a"]);

    store.apply(vec![spoil("a"), remove("a")], None);
    assert!(store.undecodable().is_empty() && store.is_empty());
}

#[test]
fn known_objects_include_names_that_never_decoded() {
    let (store, _) = store_by_tag();
    store.apply(
        vec![
            put(&thing("a", &[])),
            put(&thing("b", &[])),
            spoil("b"),
            spoil("c"),
        ],
        None,
    );
    assert!(store.known(&key("b")).is_some() && store.known(&key("c")).is_none());
    assert!(store.is_known(&key("c")) && !store.is_known(&key("d")));
    let mut known = BTreeMap::new();
    store.for_each_known(&mut |name, obj| {
        let twice = known.insert(name.to_string(), obj.is_some());
        assert!(twice.is_none(), "{name} was visited twice");
    });
    let expected = [("a", true), ("b", true), ("c", false)];
    assert_eq!(
        known,
        expected.map(|(name, obj)| (name.to_owned(), obj)).into()
    );
}

// Scenario: RV tracking of the thread-safe store. V1, V2
#[test]
fn resource_version_is_that_of_the_last_thing_applied() {
    let (store, _) = store_by_tag();
    let rv = || {
        store
            .last_store_sync_resource_version()
            .map(|rv| rv.to_string())
    };
    assert_eq!(rv(), None);
    store.replace_all(named(&[&thing("a", &[])]), Vec::new(), Some(&version("10")));
    assert_eq!(rv().unwrap(), "10");
    store.apply(
        vec![put(&thing("a", &[])), put(&thing("b", &[]))],
        Some(&version("12")),
    );
    assert_eq!(rv().unwrap(), "12");
    store.apply(vec![remove("a")], Some(&version("13")));
    assert_eq!(rv().unwrap(), "13");
    // A bookmark.
    store.apply(Vec::new(), Some(&version("20")));
    assert_eq!(rv().unwrap(), "20");
    // V3: a tombstone has no version of its own.
    store.apply(vec![remove("b")], None);
    assert_eq!(rv().unwrap(), "20");
    // No monotonicity: a cluster restored from a backup.
    store.replace_all(Vec::new(), vec![undecodable("c")], Some(&version("5")));
    assert_eq!(rv().unwrap(), "5");
    store.replace_all(Vec::new(), Vec::new(), None);
    assert_eq!(rv(), None);
}

#[test]
fn memory_adds_up_objects_names_and_structure() {
    let store = ThreadSafeStore::new(by_tag());
    let empty = store.memory();
    store.apply(vec![put(&thing("ns/a", &["x"]))], None);
    let one = store.memory();
    assert!(one > empty + size_of::<crate::testing::Thing>() + "ns/a".len());
    let things = (0..1000).map(|i| put(&thing(&format!("ns/{i}"), &["x"])));
    store.apply(things.collect(), None);
    assert!(store.memory() > 500 * size_of::<crate::testing::Thing>());
}

// The figure in the documentation of `Store`.
#[test]
fn structure_takes_the_documented_bytes_an_object() {
    let store = ThreadSafeStore::new(by_tag());
    let objects: Vec<_> = (0..100_000)
        .map(|i| thing(&format!("ns/{i}"), &[&format!("node-{}", i % 1000)]))
        .collect();
    let structure = |store: &Store<_>| crate::lock::read(store.contents()).structure_bytes();
    let list = named(&objects.iter().collect::<Vec<_>>());
    store.replace_all(list, Vec::new(), None);
    let per_object = structure(&store) / objects.len();
    assert!((80..=90).contains(&per_object), "{per_object}");
}

#[test]
fn debug_shows_no_object() {
    let (store, _) = store_by_tag();
    store.apply(vec![put(&thing("secret", &["secret"]))], None);
    let text = format!(
        "{store:?} {:?} {:?} {:?}",
        store.reader(),
        store.snapshot(),
        store.lister().namespace("ns")
    );
    assert!(!text.contains("secret"), "{text}");
}
