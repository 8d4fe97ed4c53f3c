//! Index functions, and what they may do.

use crate::testing::{by_tag, key, keys_with, put, remove, store_by_tag, tags, thing};
use crate::{IndexQueryError, Indexers, NAMESPACE_INDEX, ThreadSafeStore, namespace_index_func};

use crate::lock;
use crate::testing::{Thing, named};

// Scenario: TestGetIndexFuncValues
#[test]
fn list_index_func_values_answers_each_value_once() {
    let (store, _) = store_by_tag();
    store.apply(
        vec![
            put(&thing("a", &["x"])),
            put(&thing("b", &["x", "y"])),
            put(&thing("c", &["y", "z"])),
        ],
        None,
    );
    assert_eq!(tags(&store), ["x", "y", "z"]);
    let error = store.list_index_func_values("byName").unwrap_err();
    assert_eq!(error.to_string(), r#"index "byName" does not exist"#);
    assert_eq!(error.name(), "byName");
}

// Scenario: TestMultiIndexKeys
#[test]
fn index_keys_follow_updates_and_deletes() {
    let (store, _) = store_by_tag();
    store.apply(
        vec![
            put(&thing("ns/one", &["ernie", "elmo"])),
            put(&thing("ns/tre", &["oscar", "elmo"])),
            put(&thing("ns/two", &["oscar", "bert"])),
        ],
        None,
    );
    assert_eq!(keys_with(&store, "elmo"), ["ns/one", "ns/tre"]);
    assert_eq!(keys_with(&store, "oscar"), ["ns/tre", "ns/two"]);
    assert_eq!(store.by_index("byTag", "bert").unwrap().len(), 1);
    assert!(store.by_index("byTag", "nobody").unwrap().is_empty());

    store.apply(vec![put(&thing("ns/two", &["oscar", "ernie"]))], None);
    assert!(keys_with(&store, "bert").is_empty());
    assert_eq!(keys_with(&store, "ernie"), ["ns/one", "ns/two"]);

    store.apply(vec![remove("ns/tre")], None);
    assert_eq!(keys_with(&store, "elmo"), ["ns/one"]);
    assert_eq!(keys_with(&store, "oscar"), ["ns/two"]);
}

// Scenario: TestIndex
#[test]
fn index_finds_objects_that_share_a_value_with_one_outside() {
    let (store, _) = store_by_tag();
    store.apply(
        vec![
            put(&thing("a", &["x", "y"])),
            put(&thing("b", &["y"])),
            put(&thing("c", &["z"])),
            put(&thing("d", &["x", "y", "z"])),
        ],
        None,
    );
    let names = |tags: &[&str]| {
        let found = store.index("byTag", &thing("outside", tags)).unwrap();
        let mut names: Vec<_> = found.iter().map(|obj| obj.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&["y"]), ["a", "b", "d"]);
    assert_eq!(names(&["x", "y"]), ["a", "b", "d"], "each object once");
    assert_eq!(names(&["x", "z"]), ["a", "c", "d"]);
    assert!(names(&[]).is_empty());
    assert!(names(&["other"]).is_empty());

    let obj = thing("outside", &["error"]);
    assert!(matches!(
        store.index("by", &obj),
        Err(IndexQueryError::Unknown(_))
    ));
    let Err(IndexQueryError::Function(error)) = store.index("byTag", &obj) else {
        panic!("the function fails for this tag");
    };
    assert_eq!((error.index(), error.object()), ("byTag", &key("outside")));
    assert!(!error.is_panic());
}

#[test]
fn namespace_index_is_there_unless_one_of_that_name_is_given() {
    let things = [thing("a/1", &[]), thing("a/2", &[]), thing("node", &[])];
    let changes = || things.iter().map(put).collect();

    let store = ThreadSafeStore::new(Indexers::new());
    store.apply(changes(), None);
    assert_eq!(store.by_index(NAMESPACE_INDEX, "a").unwrap().len(), 2);
    assert_eq!(store.by_index(NAMESPACE_INDEX, "").unwrap().len(), 1);
    assert_eq!(store.index(NAMESPACE_INDEX, &things[0]).unwrap().len(), 2);
    assert!(store.index_names().is_empty());

    let store = ThreadSafeStore::new(Indexers::new().with(NAMESPACE_INDEX, |_: &Thing| "mine"));
    store.apply(changes(), None);
    assert_eq!(store.by_index(NAMESPACE_INDEX, "mine").unwrap().len(), 3);
    assert!(store.by_index(NAMESPACE_INDEX, "a").unwrap().is_empty());
    assert_eq!(
        store.namespace("a").len(),
        2,
        "listers keep to the built-in index"
    );
}

#[test]
fn namespace_index_func_answers_as_the_built_in_index() {
    let store = ThreadSafeStore::new(Indexers::new().with("mine", namespace_index_func::<Thing>));
    store.apply(
        vec![
            put(&thing("a/1", &[])),
            put(&thing("b/1", &[])),
            put(&thing("node", &[])),
        ],
        None,
    );
    for namespace in ["a", "b", "", "c"] {
        assert_eq!(
            store.index_keys("mine", namespace).unwrap(),
            store.index_keys(NAMESPACE_INDEX, namespace).unwrap(),
        );
    }
}

// Decision 8. Scenario: TestTransactionShouldIndexErrors (TestStore's transaction part)
#[test]
fn index_function_that_fails_leaves_the_object_and_other_indices_whole() {
    for (tag, text) in [
        ("error", r#"index function "byTag" failed for a"#),
        (
            "panic",
            r#"index function "byTag" panicked for a: the tag says so"#,
        ),
    ] {
        let (store, errors) = store_by_tag();
        let by_name = Indexers::new().with("byName", |thing: &Thing| thing.name.clone());
        store.add_indexers(by_name).unwrap();

        store.apply(
            vec![put(&thing("a", &["x"])), put(&thing("b", &["x"]))],
            None,
        );
        store.apply(
            vec![put(&thing("a", &["x", tag])), put(&thing("b", &["y"]))],
            None,
        );
        assert_eq!(*lock::lock(&errors), [text]);
        assert_eq!(store.get_by_key("a").unwrap().tags, ["x", tag]);
        assert!(keys_with(&store, "x").is_empty(), "nothing stale is left");
        assert_eq!(
            keys_with(&store, "y"),
            ["b"],
            "the rest of the batch is indexed"
        );
        assert_eq!(store.by_index("byName", "a").unwrap().len(), 1);
        lock::read(store.contents()).assert_invariants();

        // Healed by the next good version.
        store.apply(vec![put(&thing("a", &["z"]))], None);
        assert_eq!(keys_with(&store, "z"), ["a"]);

        // And a delete of a failing one leaves no trace.
        store.apply(vec![put(&thing("a", &[tag]))], None);
        store.apply(vec![remove("a"), remove("b")], None);
        assert!(tags(&store).is_empty());
        assert!(store.list_index_func_values("byName").unwrap().is_empty());
        assert!(
            store
                .list_index_func_values(NAMESPACE_INDEX)
                .unwrap()
                .is_empty()
        );
        assert_eq!(lock::lock(&errors).len(), 2);
    }
}

#[test]
fn index_function_that_fails_in_a_relist_is_reported() {
    let (store, errors) = store_by_tag();
    let (good, bad) = (thing("a", &["x"]), thing("b", &["x", "panic"]));
    store.replace_all(named(&[&good, &bad]), Vec::new(), None);
    assert_eq!(lock::lock(&errors).len(), 1);
    assert_eq!(
        (store.len(), keys_with(&store, "x")),
        (2, vec!["a".to_owned()])
    );
    store
        .add_indexers(Indexers::new().with_fallible("fails", |_: &Thing| Err::<String, _>("no")))
        .unwrap();
    assert_eq!(lock::lock(&errors).len(), 3);
    assert!(store.list_index_func_values("fails").unwrap().is_empty());
}

#[test]
fn index_error_has_its_cause_as_source() {
    let indexer = by_tag().into_vec().remove(0);
    let error = indexer
        .compute(&key("a"), &thing("a", &["error"]))
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the tag says so");
    let error = indexer
        .compute(&key("a"), &thing("a", &["panic"]))
        .unwrap_err();
    assert!(error.is_panic() && std::error::Error::source(&error).is_none());
}

// B76
#[test]
fn add_indexers_covers_what_is_stored_and_refuses_a_taken_name() {
    let store = ThreadSafeStore::new(Indexers::new());
    let things: Vec<_> = (0..1000)
        .map(|i| put(&thing(&format!("ns/{i}"), &[["even", "odd"][i % 2]])))
        .collect();
    store.apply(things, None);
    store.apply((0..100).map(|i| remove(&format!("ns/{i}"))).collect(), None);

    store.add_indexers(by_tag()).unwrap();
    assert_eq!(keys_with(&store, "odd").len(), 450);
    lock::read(store.contents()).assert_invariants();
    store.apply(vec![put(&thing("ns/999", &["even"]))], None);
    assert_eq!(keys_with(&store, "odd").len(), 449);

    let error = store.add_indexers(by_tag()).unwrap_err();
    assert_eq!(error.to_string(), r#"index "byTag" exists already"#);
    let both = Indexers::new()
        .with("new", |_: &Thing| "value")
        .with(NAMESPACE_INDEX, namespace_index_func::<Thing>);
    assert_eq!(
        store.add_indexers(both).unwrap_err().name(),
        NAMESPACE_INDEX
    );
    assert_eq!(store.index_names().len(), 1, "none of them is added");
}

#[test]
fn indexers_of_one_name_replace_each_other_as_in_a_map() {
    let indexers = Indexers::new()
        .with("by", |_: &Thing| "old")
        .with("other", |_: &Thing| "value")
        .with("by", |_: &Thing| "new");
    assert_eq!(indexers.names().collect::<Vec<_>>(), ["by", "other"]);
    let store = ThreadSafeStore::new(indexers);
    store.apply(vec![put(&thing("a", &[]))], None);
    let values = store.list_index_func_values("by").unwrap();
    assert_eq!(
        values.iter().map(|value| &**value).collect::<Vec<_>>(),
        ["new"]
    );
}
