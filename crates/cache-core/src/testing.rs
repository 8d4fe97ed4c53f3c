//! Doubles for the unit tests of this crate: a tiny object, a store, and a script
//! language that drives a queue and writes down what it hands out.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use crate::{
    Delta, KnownObjects, ListItem, Object, ObjectName, Popped, Queue, Replacement, ResourceVersion,
    Undecodable, Work,
};

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

/// A store in name order; `None` is a name known only as undecodable.
#[derive(Default)]
pub(crate) struct Known(pub(crate) Mutex<BTreeMap<ObjectName, Option<Arc<Obj>>>>);

impl Known {
    pub(crate) fn of(objects: &str) -> Arc<Self> {
        let known = Self::default();
        for text in objects.split_whitespace() {
            let (text, stored) = match text.strip_prefix('?') {
                Some(text) => (text, false),
                None => (text, true),
            };
            let obj = Arc::new(obj(text));
            let name = ObjectName::of(&*obj);
            known.0.lock().unwrap().insert(name, stored.then_some(obj));
        }
        Arc::new(known)
    }
}

impl KnownObjects<Obj> for Known {
    fn known(&self, name: &ObjectName) -> Option<Arc<Obj>> {
        self.0.lock().unwrap().get(name).cloned().flatten()
    }
    fn is_known(&self, name: &ObjectName) -> bool {
        self.0.lock().unwrap().contains_key(name)
    }
    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectName, Option<&Arc<Obj>>)) {
        for (name, obj) in &*self.0.lock().unwrap() {
            visit(name, obj.as_ref());
        }
    }
}

fn undecodable(text: &str) -> Undecodable {
    let obj = obj(text);
    Undecodable {
        name: ObjectName::of(&obj),
        uid: Some(obj.uid),
        resource_version: ResourceVersion::new(&obj.rv),
        path: String::new(),
        message: "bad".into(),
    }
}

/// One delta as text: `Added a@5`, `Tombstone a@5`, `Deleted a`, `Undecodable a`.
pub(crate) fn show(delta: &Delta<Obj>) -> String {
    let kind = match delta {
        Delta::Added(_) => "Added",
        Delta::Updated(_) => "Updated",
        Delta::Replaced(_) => "Replaced",
        Delta::Sync(_) => "Sync",
        Delta::Undecodable(undecodable) => return format!("Undecodable {}", undecodable.name),
        Delta::Deleted(deleted) => {
            let kind = if deleted.is_final_state_unknown() {
                "Tombstone"
            } else {
                "Deleted"
            };
            if deleted.last_known.is_none() {
                return format!("{kind} {}", deleted.name);
            }
            kind
        }
    };
    let obj = delta.object().expect("all other deltas have one");
    format!("{kind} {}@{}", obj.name, obj.rv)
}

/// What was popped as text; `!` marks the initial population, `=rv` a checkpoint.
pub(crate) fn show_popped(popped: &Popped<Obj>) -> String {
    let work = match &popped.work {
        Work::Deltas(batch) => batch
            .iter()
            .map(|(_, deltas)| deltas.iter().map(show).collect::<Vec<_>>().join(", "))
            .collect::<Vec<_>>()
            .join("; "),
        Work::ReplacedAll(all) => {
            let names = all
                .objects
                .iter()
                .map(|(_, obj)| format!("{}@{}", obj.name, obj.rv));
            let bad = all.undecodable.iter().map(|bad| format!("?{}", bad.name));
            format!(
                "ReplacedAll {}",
                names.chain(bad).collect::<Vec<_>>().join(" ")
            )
        }
        Work::SyncAll => "SyncAll".into(),
        Work::Bookmark => "Bookmark".into(),
    };
    let initial = if popped.is_in_initial_list { "!" } else { "" };
    let checkpoint = match &popped.checkpoint {
        Some(rv) => format!(" ={rv}"),
        None => String::new(),
    };
    format!("{initial}{work}{checkpoint}")
}

/// Runs a script against a queue, one command a line; the answer is one line for each
/// `pop [max]` and `synced?`.
///
/// Commands: `add a@1`, `update a@2`, `delete a@3`, `delete-unread a`, `bad a@4`,
/// `replace rv: a@1 ?b@2`, `replace-in ns rv: ns/a@1`, `resync`, `bookmark 9`, `pop`, `pop 10`, `take` (pop without
/// done), `done`, `synced?`.
pub(crate) fn run<Q: Queue<Obj>>(
    queue: &mut Q,
    known: Option<&Arc<Known>>,
    script: &str,
) -> Vec<String> {
    let mut said = Vec::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "add" => queue.add(Arc::new(obj(rest))),
            "update" => queue.update(Arc::new(obj(rest))),
            "delete" => {
                let obj = obj(rest);
                let rv = ResourceVersion::new(&obj.rv);
                queue.delete(ObjectName::of(&obj), Some(Arc::new(obj)), rv.as_ref());
            }
            "delete-unread" => queue.delete(ObjectName::of(&obj(rest)), None, None),
            "bad" => queue.undecodable(Arc::new(undecodable(rest))),
            "replace" | "replace-in" => {
                let (before, items) = rest.split_once(':').expect("RV: ITEMS");
                let (namespace, rv) = match before.split_once(' ') {
                    Some((namespace, rv)) => (Some(Arc::from(namespace)), rv),
                    None => (None, before),
                };
                let known = known.map(|known| Arc::clone(known) as Arc<dyn KnownObjects<Obj>>);
                let mut list = Replacement::new(None, known).in_namespace(namespace);
                for item in items.split_whitespace() {
                    let pushed = match item.strip_prefix('?') {
                        Some(bad) => list.push(ListItem::Undecodable(Box::new(undecodable(bad)))),
                        None => list.push(ListItem::Object(obj(item))),
                    };
                    assert_eq!(pushed.is_err(), item.starts_with('?'));
                }
                queue.replace(list, ResourceVersion::new(rv).as_ref());
            }
            "resync" => queue.resync(),
            "bookmark" => queue.bookmark(&ResourceVersion::new(rest).expect("a version")),
            "pop" | "take" => {
                let max = rest.parse().unwrap_or(NonZeroUsize::MIN);
                let popped = queue.pop(max);
                said.push(
                    popped
                        .as_ref()
                        .map_or_else(|| "nothing".into(), show_popped),
                );
                if command == "pop" && popped.is_some() {
                    queue.done();
                }
            }
            "done" => queue.done(),
            "synced?" => said.push(
                if queue.has_synced() {
                    "synced"
                } else {
                    "not yet"
                }
                .into(),
            ),
            _ => panic!("no such command: {line}"),
        }
    }
    said
}
