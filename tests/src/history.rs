//! [`History`]: a handler that holds what it is told against the contract.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, ensure};
use informers::{Deleted, EventHandler, Object, ObjectName};

/// One thing that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Told {
    Add {
        key: String,
        rv: String,
        initial: bool,
    },
    Update {
        key: String,
        old_rv: String,
        rv: String,
    },
    Delete {
        key: String,
        rv: Option<String>,
        unknown: bool,
    },
}

#[derive(Default)]
struct Log {
    told: Vec<Told>,
    state: BTreeMap<String, String>,
    breaches: Vec<String>,
}

/// A handler that writes down what it is told, and every breach of the contract: an add
/// of what is there, an update from another state, a delete of what is not there.
#[derive(Clone, Default)]
pub struct History(Arc<Mutex<Log>>);

impl History {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was told so far.
    pub fn told(&self) -> Vec<Told> {
        self.log().told.clone()
    }

    /// Keys and versions as this handler knows them.
    pub fn state(&self) -> BTreeMap<String, String> {
        self.log().state.clone()
    }

    /// How many adds, updates and deletes were told.
    pub fn counts(&self) -> (usize, usize, usize) {
        let log = self.log();
        let count = |wanted: fn(&Told) -> bool| log.told.iter().filter(|told| wanted(told)).count();
        (
            count(|told| matches!(told, Told::Add { .. })),
            count(|told| matches!(told, Told::Update { .. })),
            count(|told| matches!(told, Told::Delete { .. })),
        )
    }

    /// # Errors
    /// If the contract was broken, or what was told does not add up to `expected`.
    pub fn check(&self, expected: &BTreeMap<String, String>) -> Result<()> {
        let log = self.log();
        ensure!(
            log.breaches.is_empty(),
            "history: {}",
            log.breaches.join("; ")
        );
        let odd: Vec<_> = log
            .state
            .iter()
            .filter(|(key, rv)| expected.get(*key) != Some(*rv))
            .map(|(key, rv)| format!("told {key}@{rv}"))
            .chain(
                expected
                    .iter()
                    .filter(|(key, rv)| log.state.get(*key) != Some(*rv))
                    .map(|(key, rv)| format!("there is {key}@{rv}")),
            )
            .take(6)
            .collect();
        ensure!(
            odd.is_empty(),
            "the handler's view differs: {}",
            odd.join(", ")
        );
        Ok(())
    }
}

fn rv<T: Object>(obj: &T) -> String {
    obj.resource_version().unwrap_or_default().to_owned()
}

impl History {
    /// Takes down an add.
    pub fn added(&self, key: String, rv: String, initial: bool) {
        let mut log = self.log();
        if let Some(before) = log.state.insert(key.clone(), rv.clone()) {
            log.breaches
                .push(format!("add of {key}@{rv}, which was there at {before}"));
        }
        log.told.push(Told::Add { key, rv, initial });
    }

    /// Takes down an update.
    pub fn updated(&self, key: String, old_rv: String, rv: String) {
        let mut log = self.log();
        let before = log.state.insert(key.clone(), rv.clone());
        if before.as_ref() != Some(&old_rv) {
            let breach = format!("update of {key} from {old_rv}, last told {before:?}");
            log.breaches.push(breach);
        }
        log.told.push(Told::Update { key, old_rv, rv });
    }

    /// Takes down a delete.
    pub fn deleted(&self, key: String, rv: Option<String>, unknown: bool) {
        let mut log = self.log();
        if log.state.remove(&key).is_none() {
            log.breaches
                .push(format!("delete of {key}, which was not there"));
        }
        log.told.push(Told::Delete { key, rv, unknown });
    }
}

impl<T: Object> EventHandler<T> for History {
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool) {
        let key = ObjectName::of(&**obj).to_string();
        self.added(key, rv(&**obj), is_in_initial_list);
    }

    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        let key = ObjectName::of(&**new).to_string();
        self.updated(key, rv(&**old), rv(&**new));
    }

    fn on_delete(&mut self, deleted: &Deleted<T>) {
        let last_known = deleted.last_known.as_deref().map(rv);
        let key = deleted.name.to_string();
        self.deleted(key, last_known, deleted.is_final_state_unknown());
    }
}
