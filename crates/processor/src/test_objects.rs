//! Doubles for the tests of this crate.

#![cfg(not(informers_loom))]

use std::sync::{Arc, Mutex};

use informers_cache_core::{DeleteReason, Deleted, Object, ObjectName};

use crate::{EventHandler, Notification};

/// An object with a name and a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Object for Thing {
    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> Option<&str> {
        Some("ns")
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

pub(crate) fn thing(name: &str, version: u32) -> Arc<Thing> {
    Arc::new(Thing {
        name: name.to_owned(),
        version: version.to_string(),
    })
}

pub(crate) fn add(name: &str, version: u32) -> Notification<Thing> {
    Notification::Add {
        obj: thing(name, version),
        is_in_initial_list: false,
    }
}

pub(crate) fn initial(name: &str, version: u32) -> Notification<Thing> {
    Notification::Add {
        obj: thing(name, version),
        is_in_initial_list: true,
    }
}

pub(crate) fn update(name: &str, old: u32, new: u32) -> Notification<Thing> {
    Notification::Update {
        old: thing(name, old),
        new: thing(name, new),
    }
}

pub(crate) fn delete(name: &str, version: u32) -> Notification<Thing> {
    Notification::Delete(Deleted {
        name: ObjectName::new(Some("ns"), name),
        last_known: Some(thing(name, version)),
        reason: DeleteReason::Observed,
    })
}

/// A tombstone; without a last known state if there is no version.
pub(crate) fn tombstone(name: &str, version: Option<u32>) -> Notification<Thing> {
    Notification::Delete(Deleted {
        name: ObjectName::new(Some("ns"), name),
        last_known: version.map(|version| thing(name, version)),
        reason: DeleteReason::FinalStateUnknown,
    })
}

/// One line for a notification: `initial a 1`, `add a 1`, `update a 1>2`, `delete a 2`,
/// `tombstone a ?`.
pub(crate) fn text(notification: &Notification<Thing>) -> String {
    match notification {
        Notification::Add {
            obj,
            is_in_initial_list,
        } => {
            let what = if *is_in_initial_list {
                "initial"
            } else {
                "add"
            };
            format!("{what} {} {}", obj.name, obj.version)
        }
        Notification::Update { old, new } => {
            format!("update {} {}>{}", new.name, old.version, new.version)
        }
        Notification::Delete(deleted) => {
            let what = match deleted.reason {
                DeleteReason::Observed => "delete",
                DeleteReason::FinalStateUnknown => "tombstone",
            };
            let version = deleted
                .last_known
                .as_ref()
                .map_or("?", |obj| obj.version.as_str());
            format!("{what} {} {version}", deleted.name.name())
        }
    }
}

/// What handlers were told, as lines of [`text`]; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A handler that writes down what it is told.
pub(crate) struct Recorder(pub(crate) Log);

impl EventHandler<Thing> for Recorder {
    fn on_add(&mut self, obj: &Arc<Thing>, is_in_initial_list: bool) {
        self.0.push(text(&Notification::Add {
            obj: Arc::clone(obj),
            is_in_initial_list,
        }));
    }

    fn on_update(&mut self, old: &Arc<Thing>, new: &Arc<Thing>) {
        self.0.push(text(&Notification::Update {
            old: Arc::clone(old),
            new: Arc::clone(new),
        }));
    }

    fn on_delete(&mut self, deleted: &Deleted<Thing>) {
        self.0.push(text(&Notification::Delete(deleted.clone())));
    }
}
