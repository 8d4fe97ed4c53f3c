//! Doubles for the unit tests of this crate: a tiny object and a server as a plain value.

use informers_cache_core::{Object, ObjectName, ResourceVersion};

/// An object of nothing but metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Obj {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) rv: String,
}

/// `a@5` or `a@5#uid`.
pub(crate) fn obj(text: &str) -> Obj {
    let (text, uid) = text.split_once('#').unwrap_or((text, "u"));
    let (name, rv) = text.split_once('@').unwrap_or((text, "1"));
    Obj {
        name: name.into(),
        uid: uid.into(),
        rv: rv.into(),
    }
}

pub(crate) fn name(text: &str) -> ObjectName {
    ObjectName::new(None, text)
}

pub(crate) fn rv(version: impl std::fmt::Display) -> ResourceVersion {
    ResourceVersion::new(&version.to_string()).expect("a version")
}

impl Object for Obj {
    fn name(&self) -> &str {
        self.name
            .split_once('/')
            .map_or(&self.name, |(_, name)| name)
    }
    fn namespace(&self) -> Option<&str> {
        let (namespace, _) = self.name.split_once('/')?;
        Some(namespace)
    }
    fn uid(&self) -> Option<&str> {
        Some(&self.uid)
    }
    fn resource_version(&self) -> Option<&str> {
        Some(&self.rv)
    }
    fn label(&self, _key: &str) -> Option<&str> {
        None
    }
}

mod source;

pub(crate) use source::FakeSource;
