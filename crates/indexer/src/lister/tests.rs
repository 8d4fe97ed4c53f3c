//! Listers by namespace and label.

use std::sync::Arc;

use informers_cache_core::ObjectName;

use crate::testing::{Thing, key};
use crate::{Indexers, LabelSelector, Lister, StoreChange, ThreadSafeStore};

fn lister(objects: &[(&str, &[(&str, &str)])]) -> Lister<Thing> {
    let changes = objects.iter().map(|(name, labels)| {
        let name = key(name);
        let labels = labels.iter();
        let obj = Thing {
            namespace: name.namespace().unwrap_or_default().to_owned(),
            name: name.name().to_owned(),
            labels: labels
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..Thing::default()
        };
        (name, StoreChange::Put(Arc::new(obj)))
    });
    let store = ThreadSafeStore::new(Indexers::new());
    store.apply(changes.collect(), None);
    store.lister()
}

fn names(objects: &[Arc<Thing>]) -> Vec<String> {
    let mut names: Vec<_> = objects.iter().map(|obj| ObjectName::of(&**obj)).collect();
    names.sort();
    names.iter().map(ToString::to_string).collect()
}

const OBJECTS: &[(&str, &[(&str, &str)])] = &[
    ("a/one", &[("app", "web")]),
    ("a/two", &[("app", "db")]),
    ("b/one", &[("app", "web"), ("canary", "")]),
    ("b/two", &[]),
];

// Scenario: TestListersListAll
#[test]
fn all_by_nothing_and_everything_answers_none_and_all() {
    let lister = lister(OBJECTS);
    assert!(lister.all(&LabelSelector::nothing()).is_empty());
    let all = ["a/one", "a/two", "b/one", "b/two"];
    assert_eq!(names(&lister.all(&LabelSelector::everything())), all);
    let a = lister.namespace("a");
    assert!(a.all(&LabelSelector::nothing()).is_empty());
    assert_eq!(
        names(&a.all(&LabelSelector::everything())),
        ["a/one", "a/two"]
    );
}

#[test]
fn all_by_selector_answers_what_matches() {
    let lister = lister(OBJECTS);
    for (selector, expected) in [
        ("app=web", &["a/one", "b/one"][..]),
        ("app=web,!canary", &["a/one"]),
        ("app!=web", &["a/two", "b/two"]),
        ("app in (db, cache)", &["a/two"]),
        ("other", &[]),
    ] {
        let selector: LabelSelector = selector.parse().unwrap();
        assert_eq!(names(&lister.all(&selector)), expected, "{selector}");
        let mut by_namespace = lister.namespace("a").all(&selector);
        by_namespace.extend(lister.namespace("b").all(&selector));
        assert_eq!(names(&by_namespace), expected, "{selector}");
    }
}

// B77
#[test]
fn namespaced_and_all_namespaces_listers_agree() {
    let lister = lister(OBJECTS);
    let everything = LabelSelector::everything();
    assert_eq!(
        names(&lister.namespace("").all(&everything)),
        names(&lister.all(&everything))
    );
    assert!(Arc::ptr_eq(
        &lister.get("a/one").unwrap(),
        &lister.namespace("a").get("one").unwrap()
    ));
    assert!(lister.namespace("a").get("three").is_none());
    assert!(lister.namespace("c").get("one").is_none());
    assert!(lister.namespace("").get("one").is_none());
    assert!(lister.namespace("").get("a/one").is_none());
    assert!(lister.namespace("").all(&"app=db".parse().unwrap()).len() == 1);
}

// B77
#[test]
fn cluster_scoped_objects_are_found_by_name_alone() {
    let lister = lister(&[("n1", &[]), ("n2", &[("zone", "a")])]);
    assert_eq!(lister.get("n1").unwrap().name, "n1");
    assert!(lister.get("/n1").is_none());
    assert_eq!(lister.namespace("").get("n2").unwrap().name, "n2");
    assert_eq!(names(&lister.all(&"zone=a".parse().unwrap())), ["n2"]);
}
