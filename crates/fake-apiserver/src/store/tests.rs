//! The store against what an API server's history must hold.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn store(window: usize) -> Store {
    Store::new(Registry::built_in(), window)
}

fn resource(store: &Store, name: &str) -> Arc<Resource> {
    Arc::clone(store.registry().find_name(name).unwrap())
}

fn create(store: &mut Store, name: &str, object: Value) -> Arc<Stored> {
    let resource = resource(store, name);
    let Value::Object(object) = object else {
        panic!("not an object")
    };
    store.create(&resource, object, Write::default()).unwrap()
}

fn cm(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}, "data": {"k": "0"}})
}

fn set(store: &mut Store, name: &str, to: &str) -> u64 {
    let configmaps = resource(store, "configmaps");
    let key = ObjectKey::new("default", name);
    let change = |mut object: Value| {
        object["data"]["k"] = json!(to);
        Ok(object)
    };
    store
        .update(&configmaps, &key, Write::default(), change)
        .unwrap()
        .revision
}

fn delete(store: &mut Store, resource_name: &str, key: &ObjectKey) -> Deleted {
    let resource = resource(store, resource_name);
    store
        .delete(&resource, key, &Preconditions::default(), Write::default())
        .unwrap()
}

fn state_at(store: &Store, revision: u64) -> Result<BTreeMap<String, u64>, ApiError> {
    let mut state = BTreeMap::new();
    let range = Range {
        namespace: None,
        after: None,
    };
    store.read_at(&resource(store, "configmaps"), revision, &range, |object| {
        state.insert(object.key.name.clone(), object.revision);
        Take::More
    })?;
    Ok(state)
}

fn read_all(store: &Store, cursor: &mut Cursor) -> Vec<(EventKind, String, u64)> {
    let mut all = Vec::new();
    while let Read::Events(events) = store.read(cursor, 3, 0) {
        all.extend(
            events
                .iter()
                .map(|e| (e.kind, e.object.key.name.clone(), e.object.revision)),
        );
    }
    all
}

#[test]
fn watch_from_a_revision_sees_every_later_event_once() {
    // B95
    let mut store = store(100);
    create(&mut store, "configmaps", cm("a"));
    let listed = store.revision();
    create(&mut store, "configmaps", cm("b"));
    create(
        &mut store,
        "secrets",
        json!({"metadata": {"name": "s", "namespace": "default"}}),
    );
    let (mut cursor, _) = store
        .watch_after(&resource(&store, "configmaps"), listed)
        .unwrap();
    set(&mut store, "a", "1");
    delete(&mut store, "configmaps", &ObjectKey::new("default", "b"));
    let b = "b".to_owned();
    assert_eq!(
        read_all(&store, &mut cursor),
        [
            (EventKind::Added, b.clone(), listed + 1),
            (EventKind::Modified, "a".to_owned(), listed + 3),
            (EventKind::Deleted, b, listed + 4),
        ],
        "a deletion carries its own revision"
    );
    assert!(
        matches!(store.read(&mut cursor, 3, 0), Read::UpToDate(revision) if revision == store.revision())
    );
}

#[test]
fn watch_from_the_future_stays_silent_up_to_that_revision() {
    let mut store = store(100);
    let (mut cursor, _) = store
        .watch_after(&resource(&store, "configmaps"), store.revision() + 2)
        .unwrap();
    create(&mut store, "configmaps", cm("a"));
    create(&mut store, "configmaps", cm("b"));
    let c = create(&mut store, "configmaps", cm("c"));
    assert_eq!(
        read_all(&store, &mut cursor),
        [(EventKind::Added, "c".to_owned(), c.revision)]
    );
}

#[test]
fn history_beyond_the_window_is_expired() {
    let mut store = store(2);
    create(&mut store, "configmaps", cm("a"));
    let first = store.revision();
    let (mut slow, _) = store
        .watch_after(&resource(&store, "configmaps"), first)
        .unwrap();
    for i in 0..3 {
        set(&mut store, "a", &format!("x{i}"));
    }
    let configmaps = resource(&store, "configmaps");
    assert_eq!(
        store.watch_after(&configmaps, first).unwrap_err().code(),
        410
    );
    assert!(store.watch_after(&configmaps, first + 1).is_ok());
    assert_eq!(state_at(&store, first).unwrap_err().code(), 410);
    assert!(matches!(store.read(&mut slow, 10, 0), Read::TooSlow { .. }));
}

#[test]
fn compaction_expires_older_revisions_and_leaves_open_watches() {
    let mut store = store(100);
    let (mut open, _) = store
        .watch_after(&resource(&store, "configmaps"), store.revision())
        .unwrap();
    create(&mut store, "configmaps", cm("a"));
    let old = store.revision();
    create(&mut store, "configmaps", cm("b"));
    store.compact();
    let configmaps = resource(&store, "configmaps");
    assert_eq!(
        store.watch_after(&configmaps, old).unwrap_err().reason(),
        "Expired"
    );
    assert!(store.watch_after(&configmaps, store.revision()).is_ok());
    assert_eq!(read_all(&store, &mut open).len(), 2);
}

#[test]
fn rollback_restores_state_and_revision_and_ends_watches() {
    let mut store = store(100);
    create(&mut store, "configmaps", cm("a"));
    create(&mut store, "configmaps", cm("gone"));
    let backup = store.revision();
    let before = state_at(&store, backup).unwrap();
    set(&mut store, "a", "1");
    delete(&mut store, "configmaps", &ObjectKey::new("default", "gone"));
    create(&mut store, "configmaps", cm("new"));
    let (mut open, _) = store
        .watch_after(&resource(&store, "configmaps"), backup)
        .unwrap();
    assert_eq!(
        store.rollback(store.revision() + 1).unwrap_err().code(),
        400
    );
    store.rollback(backup).unwrap();
    assert_eq!(store.revision(), backup);
    assert_eq!(state_at(&store, backup).unwrap(), before);
    assert!(matches!(store.read(&mut open, 10, 0), Read::Ended));
    assert_eq!(
        create(&mut store, "configmaps", cm("other")).revision,
        backup + 1
    );
}

#[test]
fn update_that_changes_nothing_gets_no_revision() {
    let mut store = store(100);
    let created = create(&mut store, "configmaps", cm("a"));
    assert_eq!(set(&mut store, "a", "0"), created.revision);
    assert_eq!(store.revision(), created.revision);
}

#[test]
fn generation_rises_with_the_spec_alone() {
    let mut store = store(100);
    create(
        &mut store,
        "pods",
        json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "a"}}),
    );
    let (pods, key) = (resource(&store, "pods"), ObjectKey::new("default", "p"));
    let mut generation = |path: &str, to: &str| {
        let change = |mut object: Value| {
            *object.pointer_mut(path).unwrap() = json!(to);
            Ok(object)
        };
        let stored = store.update(&pods, &key, Write::default(), change).unwrap();
        stored.to_value(&pods)["metadata"]["generation"].clone()
    };
    assert_eq!(generation("/status/phase", "Running"), json!(1));
    assert_eq!(generation("/spec/nodeName", "b"), json!(2));
}

#[test]
fn status_and_main_writes_leave_each_other_alone() {
    let mut store = store(100);
    create(
        &mut store,
        "pods",
        json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "a"}}),
    );
    let (pods, key) = (resource(&store, "pods"), ObjectKey::new("default", "p"));
    let mut write = |part| {
        let change = |mut object: Value| {
            object["spec"]["nodeName"] = json!("b");
            object["status"]["phase"] = json!("Failed");
            Ok(object)
        };
        let stored = store
            .update(
                &pods,
                &key,
                Write {
                    part,
                    dry_run: false,
                },
                change,
            )
            .unwrap();
        (stored.field("spec.nodeName"), stored.field("status.phase"))
    };
    assert_eq!(write(Part::Status), ("a".to_owned(), "Failed".to_owned()));
    assert_eq!(write(Part::Main), ("b".to_owned(), "Failed".to_owned()));
}

#[test]
fn finalizers_hold_the_object_until_the_last_is_removed() {
    let mut store = store(100);
    let mut object = cm("a");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    create(&mut store, "configmaps", object);
    let (configmaps, key) = (
        resource(&store, "configmaps"),
        ObjectKey::new("default", "a"),
    );
    let deleted = delete(&mut store, "configmaps", &key);
    let Deleted::Terminating(marked) = deleted else {
        panic!("deleted in spite of its finalizer")
    };
    assert!(marked.to_value(&configmaps)["metadata"]["deletionTimestamp"].is_string());
    assert!(
        matches!(delete(&mut store, "configmaps", &key), Deleted::Terminating(again) if again.revision == marked.revision)
    );
    let (mut watch, _) = store.watch_after(&configmaps, marked.revision).unwrap();
    let unfinish = |mut object: Value| {
        object["metadata"]["finalizers"] = json!([]);
        Ok(object)
    };
    store
        .update(&configmaps, &key, Write::default(), unfinish)
        .unwrap();
    assert_eq!(
        read_all(&store, &mut watch),
        [(EventKind::Deleted, "a".to_owned(), marked.revision + 1)]
    );
    assert!(store.get(&configmaps, &key).is_none());
}

#[test]
fn write_preconditions_that_fail_are_conflicts() {
    let mut store = store(100);
    let created = create(&mut store, "configmaps", cm("a"));
    set(&mut store, "a", "1");
    let (configmaps, key) = (
        resource(&store, "configmaps"),
        ObjectKey::new("default", "a"),
    );
    let stale = json!({"metadata": {"name": "a", "resourceVersion": created.revision.to_string()}});
    let error = store
        .update(&configmaps, &key, Write::default(), |_| Ok(stale))
        .unwrap_err();
    assert_eq!((error.code(), error.reason()), (409, "Conflict"));
    let other = json!({"metadata": {"name": "a", "uid": "other"}});
    assert_eq!(
        store
            .update(&configmaps, &key, Write::default(), |_| Ok(other))
            .unwrap_err()
            .code(),
        409
    );
    let uid = Preconditions {
        uid: Some("other".to_owned()),
        resource_version: None,
    };
    assert_eq!(
        store
            .delete(&configmaps, &key, &uid, Write::default())
            .unwrap_err()
            .code(),
        409
    );
    let dry = Write {
        dry_run: true,
        ..Write::default()
    };
    assert!(
        store
            .delete(&configmaps, &key, &Preconditions::default(), dry)
            .is_ok()
    );
    assert!(
        store.get(&configmaps, &key).is_some(),
        "a dry run changes nothing"
    );
}

#[test]
fn names_are_generated_or_checked() {
    let mut store = store(100);
    let configmaps = resource(&store, "configmaps");
    let mut named = |metadata: Value| {
        let Value::Object(object) = json!({"metadata": metadata}) else {
            panic!("not an object")
        };
        store.create(&configmaps, object, Write::default())
    };
    let generated = named(json!({"generateName": "x-"})).unwrap();
    assert!(generated.key.name.starts_with("x-") && generated.key.name.len() == 7);
    for bad in [
        json!({}),
        json!({"name": "Upper"}),
        json!({"name": "a/b"}),
        json!({"name": "-a"}),
    ] {
        assert_eq!(named(bad.clone()).unwrap_err().code(), 422, "{bad}");
    }
    named(json!({"name": "a"})).unwrap();
    assert_eq!(
        named(json!({"name": "a"})).unwrap_err().reason(),
        "AlreadyExists"
    );
}

#[test]
fn definition_serves_its_resource_until_it_is_deleted() {
    let mut store = store(100);
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
                 "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
                 "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}}]},
    });
    create(&mut store, "customresourcedefinitions", definition.clone());
    create(
        &mut store,
        "widgets",
        json!({"metadata": {"name": "w", "namespace": "default"}}),
    );
    let widgets = resource(&store, "widgets");
    assert!(widgets.status_subresource);
    let (mut watch, _) = store.watch_after(&widgets, store.revision()).unwrap();
    let before = store.revision();
    delete(
        &mut store,
        "customresourcedefinitions",
        &ObjectKey::new("", "widgets.example.com"),
    );
    assert!(store.registry().find_name("widgets").is_none());
    assert!(
        matches!(store.read(&mut watch, 10, 0), Read::Events(events) if events[0].kind == EventKind::Deleted)
    );
    assert!(matches!(store.read(&mut watch, 10, 0), Read::Ended));
    create(&mut store, "customresourcedefinitions", definition);
    assert!(
        matches!(store.read(&mut watch, 10, 0), Read::Ended),
        "a watch of the former resource stays ended"
    );
    store.rollback(before).unwrap();
    let widgets = resource(&store, "widgets");
    assert!(
        store
            .get(&widgets, &ObjectKey::new("default", "w"))
            .is_some()
    );
}

#[test]
fn namespace_deleted_takes_its_objects_along() {
    let mut store = store(100);
    create(
        &mut store,
        "namespaces",
        json!({"metadata": {"name": "default"}}),
    );
    create(&mut store, "configmaps", cm("a"));
    delete(&mut store, "namespaces", &ObjectKey::new("", "default"));
    assert!(state_at(&store, store.revision()).unwrap().is_empty());
}

#[test]
fn lag_hides_the_newest_events() {
    let mut store = store(100);
    let (mut watch, _) = store
        .watch_after(&resource(&store, "configmaps"), store.revision())
        .unwrap();
    create(&mut store, "configmaps", cm("a"));
    create(&mut store, "configmaps", cm("b"));
    let Read::Events(events) = store.read(&mut watch, 10, 1) else {
        panic!("no events")
    };
    assert_eq!(events.len(), 1);
    assert!(
        matches!(store.read(&mut watch, 10, 1), Read::UpToDate(revision) if revision == store.revision() - 1)
    );
}

#[derive(Clone, Debug)]
enum Step {
    Set(usize, u8),
    Delete(usize),
    Compact,
    Rollback(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_usize, any::<u8>()).prop_map(|(n, v)| Step::Set(n, v)),
        4 => (0..4_usize).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => any::<u8>().prop_map(Step::Rollback),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// A list at any retained revision plus the watch from it gives the present state, and every
    /// past state equals what a plain record of all states says.
    #[test]
    fn list_and_watch_agree_with_a_plain_record(steps in prop::collection::vec(step(), 1..60), window in 1..20_usize) {
        let mut store = store(window);
        let mut record = vec![(store.revision(), BTreeMap::new())];
        for step in steps {
            match step {
                Step::Set(n, value) => {
                    let name = format!("n{n}");
                    let resource = resource(&store, "configmaps");
                    if store.get(&resource, &ObjectKey::new("default", &name)).is_some() {
                        set(&mut store, &name, &value.to_string());
                    } else {
                        create(&mut store, "configmaps", cm(&name));
                    }
                }
                Step::Delete(n) => {
                    let key = ObjectKey::new("default", &format!("n{n}"));
                    let resource = resource(&store, "configmaps");
                    if store.get(&resource, &key).is_some() {
                        delete(&mut store, "configmaps", &key);
                    }
                }
                Step::Compact => store.compact(),
                Step::Rollback(back) => {
                    let to = store.revision().saturating_sub(u64::from(back % 8)).max(1);
                    if store.rollback(to).is_ok() {
                        record.retain(|(revision, _)| *revision <= to);
                    }
                }
            }
            let now = state_at(&store, store.revision()).unwrap();
            if record.last().is_none_or(|(revision, _)| *revision < store.revision()) {
                record.push((store.revision(), now.clone()));
            }
            for (revision, wanted) in &record {
                let Ok(mut state) = state_at(&store, *revision) else { continue };
                prop_assert_eq!(&state, wanted);
                let (mut cursor, _) = store.watch_after(&resource(&store, "configmaps"), *revision).unwrap();
                for (kind, name, at) in read_all(&store, &mut cursor) {
                    match kind {
                        EventKind::Added => prop_assert!(state.insert(name, at).is_none()),
                        EventKind::Modified => prop_assert!(state.insert(name, at).is_some()),
                        EventKind::Deleted => prop_assert!(state.remove(&name).is_some()),
                    }
                }
                prop_assert_eq!(&state, &now);
            }
        }
    }
}
