//! What the tests of this crate share: a small object and its builders.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use informers_cache_core::{Object, ObjectName, ResourceVersion, Undecodable};

use crate::{IndexError, Indexers, Store, StoreChange, ThreadSafeStore, lock};

/// An object with tags to index by.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Thing {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) resource_version: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) tags: Vec<String>,
}

impl Object for Thing {
    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(&self.namespace)
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn resource_version(&self) -> Option<&str> {
        (!self.resource_version.is_empty()).then_some(&self.resource_version)
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

pub(crate) fn key(text: &str) -> ObjectName {
    text.parse().unwrap()
}

/// The object of that key with those tags.
pub(crate) fn thing(name: &str, tags: &[&str]) -> Arc<Thing> {
    let name = key(name);
    Arc::new(Thing {
        namespace: name.namespace().unwrap_or_default().to_owned(),
        name: name.name().to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Thing::default()
    })
}

pub(crate) fn put(obj: &Arc<Thing>) -> (ObjectName, StoreChange<Thing>) {
    (ObjectName::of(&**obj), StoreChange::Put(Arc::clone(obj)))
}

pub(crate) fn remove(name: &str) -> (ObjectName, StoreChange<Thing>) {
    (key(name), StoreChange::Remove)
}

pub(crate) fn undecodable(name: &str) -> Arc<Undecodable> {
    Arc::new(Undecodable {
        name: key(name),
        uid: None,
        resource_version: None,
        path: "spec".to_owned(),
        message: "expected a map".to_owned(),
    })
}

pub(crate) fn spoil(name: &str) -> (ObjectName, StoreChange<Thing>) {
    (key(name), StoreChange::Undecodable(undecodable(name)))
}

pub(crate) fn named(objects: &[&Arc<Thing>]) -> Vec<(ObjectName, Arc<Thing>)> {
    let objects = objects.iter();
    objects
        .map(|obj| (ObjectName::of(&***obj), Arc::clone(obj)))
        .collect()
}

pub(crate) fn version(text: &str) -> ResourceVersion {
    ResourceVersion::new(text).unwrap()
}

/// Objects by tag. The tag `error` makes the function fail, `panic` makes it panic.
pub(crate) fn by_tag() -> Indexers<Thing> {
    Indexers::new().with_fallible("byTag", |thing: &Thing| {
        if thing.tags.iter().any(|tag| tag == "panic") {
            // As a panic does, without the message on stderr.
            std::panic::resume_unwind(Box::new("the tag says so"));
        }
        if thing.tags.iter().any(|tag| tag == "error") {
            return Err("the tag says so");
        }
        Ok(thing.tags.clone())
    })
}

/// A store by tag, and the index errors it reports.
pub(crate) fn store_by_tag() -> (ThreadSafeStore<Thing>, Arc<Mutex<Vec<String>>>) {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&errors);
    let store = ThreadSafeStore::new(by_tag()).on_index_error(move |error: &IndexError| {
        lock::lock(&reported).push(error.to_string());
    });
    (store, errors)
}

/// What a store answers, in order.
pub(crate) fn keys_with(store: &Store<Thing>, tag: &str) -> Vec<String> {
    let names = store.index_keys("byTag", tag).unwrap();
    names.iter().map(ToString::to_string).collect()
}

pub(crate) fn keys(store: &Store<Thing>) -> Vec<String> {
    let mut names = store.list_keys();
    names.sort();
    names.iter().map(ToString::to_string).collect()
}

pub(crate) fn tags(store: &Store<Thing>) -> Vec<String> {
    let values = store.list_index_func_values("byTag").unwrap();
    let mut values: Vec<_> = values.iter().map(ToString::to_string).collect();
    values.sort();
    values
}
