//! The store against a plain model of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use informers_cache_core::ObjectName;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::testing::{Thing, by_tag, key, named, put, remove, spoil, thing, undecodable};
use crate::{Indexers, NAMESPACE_INDEX, StoreChange, ThreadSafeStore, lock, namespace_index_func};

/// How many names there are.
const NAMES: u8 = 30;

#[derive(Debug, Clone)]
enum Op {
    Apply(Vec<Change>),
    /// Objects and undecodable names.
    Replace(Vec<(u8, Vec<u8>)>, Vec<u8>),
    /// Every stored object once more.
    Resync,
    /// A list of the very objects that are stored.
    Relist,
}

#[derive(Debug, Clone)]
enum Change {
    Put(u8, Vec<u8>),
    Remove(u8),
    Spoil(u8),
}

/// Names in three namespaces, one of them that of cluster-scoped objects.
fn name(id: u8) -> String {
    match id % 3 {
        0 => format!("a/{id}"),
        1 => format!("b/{id}"),
        _ => format!("{id}"),
    }
}

/// Few, so that objects share them; two of them make the index function fail.
fn tag(id: u8) -> String {
    match id {
        0 => "error".to_owned(),
        1 => "panic".to_owned(),
        id => format!("tag-{}", id % 5),
    }
}

fn object(id: u8, tags: &[u8]) -> Arc<Thing> {
    let tags: Vec<_> = tags.iter().map(|id| tag(*id)).collect();
    thing(
        &name(id),
        &tags.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..NAMES, vec(0..40_u8, 0..4)).prop_map(|(id, tags)| Change::Put(id, tags)),
        3 => (0..NAMES).prop_map(Change::Remove),
        1 => (0..NAMES).prop_map(Change::Spoil),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => vec(change(), 0..8).prop_map(Op::Apply),
        1 => (vec((0..NAMES, vec(0..40_u8, 0..4)), 0..30), vec(0..NAMES, 0..3))
            .prop_map(|(objects, undecodable)| Op::Replace(objects, undecodable)),
        1 => Just(Op::Resync),
        1 => Just(Op::Relist),
    ]
}

#[derive(Default)]
struct Model {
    objects: BTreeMap<ObjectName, Arc<Thing>>,
    undecodable: BTreeSet<ObjectName>,
}

impl Model {
    fn apply(&mut self, name: &ObjectName, change: &StoreChange<Thing>) -> Option<Arc<Thing>> {
        match change {
            StoreChange::Put(obj) => {
                self.undecodable.remove(name);
                self.objects.insert(name.clone(), Arc::clone(obj))
            }
            StoreChange::Remove => {
                self.undecodable.remove(name);
                self.objects.remove(name)
            }
            StoreChange::Undecodable(_) => {
                self.undecodable.insert(name.clone());
                self.objects.get(name).map(Arc::clone)
            }
        }
    }

    /// An index, computed from scratch.
    fn index(&self, values: fn(&Thing) -> Vec<String>) -> BTreeMap<String, Vec<ObjectName>> {
        let mut index = BTreeMap::<_, Vec<_>>::new();
        for (name, obj) in &self.objects {
            for value in values(obj).into_iter().collect::<BTreeSet<_>>() {
                index.entry(value).or_default().push(name.clone());
            }
        }
        index
    }
}

fn tags_of(thing: &Thing) -> Vec<String> {
    let fails = thing
        .tags
        .iter()
        .any(|tag| tag == "error" || tag == "panic");
    if fails {
        Vec::new()
    } else {
        thing.tags.clone()
    }
}

fn namespace_of(thing: &Thing) -> Vec<String> {
    vec![thing.namespace.clone()]
}

fn assert_index(
    store: &ThreadSafeStore<Thing>,
    name: &str,
    expected: &BTreeMap<String, Vec<ObjectName>>,
) {
    let mut values = store.list_index_func_values(name).unwrap();
    values.sort();
    let values: Vec<_> = values.iter().map(|value| &**value).collect();
    assert_eq!(values, expected.keys().collect::<Vec<_>>());
    for (value, names) in expected {
        assert_eq!(&store.index_keys(name, value).unwrap(), names);
        let objects = store.by_index(name, value).unwrap();
        let mut found: Vec<_> = objects.iter().map(|obj| ObjectName::of(&**obj)).collect();
        found.sort();
        assert_eq!(&found, names);
    }
}

fn assert_equal(store: &ThreadSafeStore<Thing>, model: &Model) {
    let snapshot = store.snapshot();
    let stored: BTreeMap<_, _> = snapshot.iter().collect();
    assert_eq!(stored, model.objects.iter().collect::<BTreeMap<_, _>>());
    assert_eq!(store.len(), model.objects.len());
    for id in 0..NAMES {
        let name = key(&name(id));
        assert_eq!(store.get(&name).as_ref(), model.objects.get(&name));
    }
    let undecodable = store.undecodable();
    let undecodable: BTreeSet<_> = undecodable.iter().map(|u| u.name.clone()).collect();
    assert_eq!(undecodable, model.undecodable);
    assert_index(store, NAMESPACE_INDEX, &model.index(namespace_of));
    assert_index(store, "byTag", &model.index(tags_of));
    if store.index_names().len() > 1 {
        assert_index(store, "late", &model.index(namespace_of));
    }
    lock::read(store.contents()).assert_invariants();
}

fn run(store: &ThreadSafeStore<Thing>, model: &mut Model, op: &Op) {
    let changes: Vec<_> = match op {
        Op::Apply(changes) => changes
            .iter()
            .map(|change| match change {
                Change::Put(id, tags) => put(&object(*id, tags)),
                Change::Remove(id) => remove(&name(*id)),
                Change::Spoil(id) => spoil(&name(*id)),
            })
            .collect(),
        Op::Resync => model.objects.values().map(put).collect(),
        Op::Replace(objects, undecodable) => {
            let objects: Vec<_> = objects.iter().map(|(id, tags)| object(*id, tags)).collect();
            return replace(store, model, &objects, undecodable);
        }
        Op::Relist => {
            let objects: Vec<_> = model.objects.values().map(Arc::clone).collect();
            return replace(store, model, &objects, &[]);
        }
    };
    let previous: Vec<_> = changes
        .iter()
        .map(|(name, change)| model.apply(name, change))
        .collect();
    assert_eq!(store.apply(changes, None), previous);
}

fn replace(
    store: &ThreadSafeStore<Thing>,
    model: &mut Model,
    objects: &[Arc<Thing>],
    spoilt: &[u8],
) {
    let before = std::mem::take(model);
    let list = named(&objects.iter().collect::<Vec<_>>());
    model.objects.extend(list.iter().cloned());
    for id in spoilt {
        let name = key(&name(*id));
        if list.iter().all(|(listed, _)| *listed != name) {
            let kept = before.objects.get(&name);
            model
                .objects
                .extend(kept.map(|obj| (name.clone(), Arc::clone(obj))));
            model.undecodable.insert(name);
        }
    }
    let previous: Vec<_> = list
        .iter()
        .map(|(name, _)| before.objects.get(name).cloned())
        .collect();
    let spoilt = spoilt.iter().map(|id| undecodable(&name(*id))).collect();
    let outcome = store.replace_all(list, spoilt, None);
    assert_eq!(outcome.previous, previous);
    let mut removed = outcome.removed;
    removed.sort_by(|a, b| a.0.cmp(&b.0));
    let gone = before.objects.into_iter();
    let gone: Vec<_> = gone
        .filter(|(name, _)| !model.objects.contains_key(name))
        .collect();
    assert_eq!(removed, gone);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // B74: every index equals its recomputation from scratch after every operation.
    #[test]
    fn store_equals_its_model_after_every_operation(
        ops in vec(op(), 1..40),
        late in 0..40_usize,
    ) {
        let store = ThreadSafeStore::new(by_tag()).on_index_error(|_| {});
        let mut model = Model::default();
        for (place, op) in ops.iter().enumerate() {
            if place == late {
                let indexers = Indexers::new().with("late", namespace_index_func::<Thing>);
                store.add_indexers(indexers).unwrap();
            }
            run(&store, &mut model, op);
            assert_equal(&store, &model);
        }
    }
}
