//! [`Thing`]: the smallest object, so that the stages and not the objects are measured.

use std::sync::Arc;

use informers_cache_core::{Object, ObjectName};

/// An object that has a key and a version.
pub(crate) struct Thing {
    namespace: Box<str>,
    name: Box<str>,
    version: Box<str>,
}

impl Thing {
    pub(crate) fn new(index: usize, version: usize) -> Self {
        Self {
            namespace: format!("team-{:03}", index % 200).into(),
            name: format!("service-{:04}-5d4f8c7b9-{index:05x}", index / 25).into(),
            version: version.to_string().into(),
        }
    }
}

impl Object for Thing {
    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn resource_version(&self) -> Option<&str> {
        Some(&self.version)
    }

    fn label(&self, _key: &str) -> Option<&str> {
        None
    }
}

/// `count` of them, all of one version.
pub(crate) fn things(count: usize, version: usize) -> Vec<Arc<Thing>> {
    (0..count)
        .map(|index| Arc::new(Thing::new(index, version)))
        .collect()
}

/// The same with their keys.
pub(crate) fn named(count: usize, version: usize) -> Vec<(ObjectName, Arc<Thing>)> {
    things(count, version)
        .into_iter()
        .map(|thing| (ObjectName::of(&*thing), thing))
        .collect()
}
