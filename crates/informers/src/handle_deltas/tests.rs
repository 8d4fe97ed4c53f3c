//! From deltas to store and notifications, as data; and a property: whatever is lost,
//! relisted and delayed, the store ends as the server, and each key's history is legal.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use informers_cache_core::{
    Change, DeltaFifo, InOrderFifo, KnownObjects, ListItem, ObjectName, Queue, Replacement,
    Undecodable,
};
use informers_indexer::{Indexers, ThreadSafeStore};
use informers_processor::Notification;
use proptest::prelude::*;

use super::{Told, handle_deltas};
use crate::testing::{Obj, name, obj, rv};

mod handlers;

struct Pipeline {
    store: Arc<ThreadSafeStore<Obj>>,
    queue: Box<dyn Queue<Obj>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Delta,
    InOrder,
}

impl Pipeline {
    fn new(kind: Kind) -> Self {
        let store = Arc::new(ThreadSafeStore::new(Indexers::new()));
        let known = Arc::clone(&store) as Arc<dyn KnownObjects<Obj>>;
        let queue: Box<dyn Queue<Obj>> = match kind {
            Kind::Delta => Box::new(DeltaFifo::new(Some(known))),
            Kind::InOrder => Box::new(InOrderFifo::new()),
        };
        Self { store, queue }
    }

    fn change(&mut self, change: Change<Obj>) {
        match change {
            Change::Added(obj) => self.queue.add(Arc::new(obj)),
            Change::Updated(obj) => self.queue.update(Arc::new(obj)),
            Change::Deleted {
                name,
                object,
                resource_version,
            } => {
                let object = object.map(Arc::new);
                self.queue.delete(name, object, resource_version.as_ref());
            }
            Change::Undecodable(undecodable) => self.queue.undecodable(Arc::from(undecodable)),
            Change::Bookmark(rv) => self.queue.bookmark(&rv),
        }
    }

    fn replace(&mut self, items: impl IntoIterator<Item = ListItem<Obj>>, version: u64) {
        let known = Arc::clone(&self.store) as Arc<dyn KnownObjects<Obj>>;
        let mut list = Replacement::new(None, Some(known));
        for item in items {
            let is_bad = matches!(item, ListItem::Undecodable(_));
            assert_eq!(list.push(item).is_err(), is_bad);
        }
        self.queue.replace(list, Some(&rv(version)));
    }

    /// Processes one piece of work of up to `max` keys.
    fn step(&mut self, max: usize) -> Option<Told<Obj>> {
        let popped = self.queue.pop(NonZeroUsize::new(max)?)?;
        let told = handle_deltas(&self.store, popped);
        self.queue.done();
        Some(told)
    }

    fn all(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(step) = self.step(1000) {
            told.extend(step.iter().map(show));
        }
        told
    }
}

/// `add a@1`, `add! a@1` (initial), `update a@1>2`, `delete a@1`, `gone a@1` (final state
/// unknown); a `~` in front marks a repetition.
fn show((notification, is_sync): &(Notification<Obj>, bool)) -> String {
    let sync = if *is_sync { "~" } else { "" };
    let text = match notification {
        Notification::Add {
            obj,
            is_in_initial_list,
        } => {
            let initial = if *is_in_initial_list { "!" } else { "" };
            format!("add{initial} {}@{}", obj.name, obj.rv)
        }
        Notification::Update { old, new } => format!("update {}@{}>{}", new.name, old.rv, new.rv),
        Notification::Delete(deleted) => {
            let op = if deleted.is_final_state_unknown() {
                "gone"
            } else {
                "delete"
            };
            let rv = deleted.last_known.as_ref().map_or("?", |obj| &obj.rv);
            format!("{op} {}@{rv}", deleted.name)
        }
    };
    format!("{sync}{text}")
}

fn items(text: &str) -> Vec<ListItem<Obj>> {
    text.split_whitespace()
        .map(|item| match item.strip_prefix('?') {
            Some(bad) => ListItem::Undecodable(Box::new(bad_one(bad))),
            None => ListItem::Object(obj(item)),
        })
        .collect()
}

fn bad_one(text: &str) -> Undecodable {
    let obj = obj(text);
    Undecodable {
        name: name(&obj.name),
        uid: Some(obj.uid),
        resource_version: Some(rv(obj.rv)),
        path: "spec".into(),
        message: "bad".into(),
    }
}

fn deleted(text: &str) -> Change<Obj> {
    let obj = obj(text);
    Change::Deleted {
        name: ObjectName::of(&obj),
        resource_version: Some(rv(&obj.rv)),
        object: Some(obj),
    }
}

fn both(test: impl Fn(Pipeline)) {
    for kind in [Kind::Delta, Kind::InOrder] {
        test(Pipeline::new(kind));
    }
}

// Scenario: TestReplaceEvents, S5, S7
#[test]
fn first_list_is_initial_and_later_adds_are_not() {
    both(|mut pipeline| {
        pipeline.replace(items("a@1 b@2"), 5);
        assert_eq!(pipeline.all(), ["add! a@1", "add! b@2"]);
        pipeline.change(Change::Added(obj("c@6")));
        pipeline.change(Change::Updated(obj("a@7")));
        assert_eq!(pipeline.all(), ["add c@6", "update a@1>7"]);
    });
}

// R9: the kind of event does not matter, what is stored does.
#[test]
fn modified_of_unknown_key_is_an_add() {
    both(|mut pipeline| {
        pipeline.change(Change::Updated(obj("a@1")));
        pipeline.change(Change::Added(obj("a@2")));
        assert_eq!(pipeline.all(), ["add a@1", "update a@1>2"]);
    });
}

// B56, decision 5
#[test]
fn unchanged_object_found_by_relist_is_a_repetition_and_a_modified_event_never_is() {
    both(|mut pipeline| {
        pipeline.replace(items("x@1 y@2"), 5);
        pipeline.all();
        pipeline.replace(items("x@7 y@2"), 8);
        assert_eq!(pipeline.all(), ["update x@1>7", "~update y@2>2"]);
        pipeline.change(Change::Updated(obj("y@2")));
        assert_eq!(pipeline.all(), ["update y@2>2"]);
        pipeline.change(Change::Added(obj("y@2")));
        assert_eq!(pipeline.all(), ["~update y@2>2"]);
    });
}

// B58, decision 5
#[test]
fn another_uid_found_by_relist_is_a_delete_and_an_add() {
    both(|mut pipeline| {
        pipeline.replace(items("a@1#one"), 5);
        pipeline.all();
        pipeline.replace(items("a@6#two"), 7);
        assert_eq!(pipeline.all(), ["gone a@1", "add a@6"]);
    });
}

// B59, S10
#[test]
fn missed_deletes_are_told_with_the_last_known_state() {
    for (kind, expected) in [
        (Kind::Delta, ["~update b@2>2", "gone a@1", "gone c@3"]),
        (Kind::InOrder, ["gone a@1", "gone c@3", "~update b@2>2"]),
    ] {
        let mut pipeline = Pipeline::new(kind);
        pipeline.replace(items("a@1 b@2 c@3"), 5);
        pipeline.all();
        pipeline.replace(items("b@2"), 9);
        let mut told = pipeline.all();
        if kind == Kind::Delta {
            told[1..].sort();
        } else {
            told[..2].sort();
        }
        assert_eq!(told, expected);
        assert_eq!(pipeline.store.len(), 1);
    }
}

#[test]
fn delete_of_what_nobody_was_told_of_is_not_told() {
    both(|mut pipeline| {
        pipeline.change(deleted("a@1"));
        assert!(pipeline.all().is_empty());
    });
}

#[test]
fn observed_delete_carries_the_final_state_and_falls_back_to_the_last_known() {
    both(|mut pipeline| {
        pipeline.replace(items("a@1 b@1"), 5);
        pipeline.all();
        pipeline.change(deleted("a@6"));
        pipeline.change(Change::Deleted {
            name: name("b"),
            object: None,
            resource_version: Some(rv(7)),
        });
        assert_eq!(pipeline.all(), ["delete a@6", "delete b@1"]);
    });
}

// B14, Representations
#[test]
fn undecodable_object_hides_nothing_and_heals() {
    both(|mut pipeline| {
        pipeline.replace(items("a@1 ?bad@2"), 5);
        assert_eq!(pipeline.all(), ["add! a@1"]);
        assert_eq!(pipeline.store.undecodable().len(), 1);
        // A good version heals it.
        pipeline.change(Change::Updated(obj("bad@6")));
        assert_eq!(pipeline.all(), ["add bad@6"]);
        assert!(pipeline.store.undecodable().is_empty());
        // The last good version stays, and a relist does not take it for deleted.
        pipeline.change(Change::Undecodable(Box::new(bad_one("bad@7"))));
        assert!(pipeline.all().is_empty());
        pipeline.replace(items("a@1 ?bad@7"), 8);
        assert_eq!(pipeline.all(), ["~update a@1>1"]);
        assert_eq!(pipeline.store.get_by_key("bad").unwrap().rv, "6");
        assert_eq!(pipeline.store.undecodable().len(), 1);
        // A DELETED of it still deletes.
        pipeline.change(Change::Deleted {
            name: name("bad"),
            object: None,
            resource_version: Some(rv(9)),
        });
        assert_eq!(pipeline.all(), ["delete bad@6"]);
        assert!(pipeline.store.undecodable().is_empty());
    });
}

#[test]
fn undecodable_object_that_never_decoded_leaves_no_trace_once_gone() {
    both(|mut pipeline| {
        pipeline.replace(items("?bad@2 ?worse@3"), 5);
        assert!(pipeline.all().is_empty());
        pipeline.change(Change::Deleted {
            name: name("bad"),
            object: None,
            resource_version: Some(rv(6)),
        });
        pipeline.all();
        assert_eq!(pipeline.store.undecodable().len(), 1);
        pipeline.replace(items(""), 7);
        assert!(pipeline.all().is_empty());
        assert!(pipeline.store.undecodable().is_empty());
    });
}

// R12, Y5
#[test]
fn resync_repeats_what_is_stored() {
    both(|mut pipeline| {
        pipeline.replace(items("a@1"), 5);
        pipeline.all();
        pipeline.queue.resync();
        assert_eq!(pipeline.all(), ["~update a@1>1"]);
    });
}

// V1, V2: the store's version follows what is in it.
#[test]
fn store_version_follows_lists_events_deletes_and_bookmarks() {
    both(|mut pipeline| {
        let at = |pipeline: &mut Pipeline| {
            pipeline.all();
            let version = pipeline.store.last_store_sync_resource_version();
            version.map_or(String::new(), |version| version.to_string())
        };
        assert_eq!(at(&mut pipeline), "");
        pipeline.replace(items("a@1"), 5);
        assert_eq!(at(&mut pipeline), "5");
        pipeline.change(Change::Updated(obj("a@6")));
        assert_eq!(at(&mut pipeline), "6");
        pipeline.change(deleted("a@7"));
        assert_eq!(at(&mut pipeline), "7");
    });
}

/// What the network and the scheduler do.
#[derive(Debug, Clone)]
enum Step {
    /// The server writes object `n`; the event is delivered, or lost.
    Write {
        n: u8,
        delivered: bool,
    },
    Delete {
        n: u8,
        delivered: bool,
    },
    /// Deleted and created again under another UID.
    Recreate {
        n: u8,
        delivered: bool,
    },
    Relist,
    Resync,
    Process(u8),
    /// Two writes come in while one piece of work is being processed.
    Overlap {
        n: u8,
        m: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0..6u8;
    let delivered = prop_oneof![4 => Just(true), 1 => Just(false)];
    let write = (n.clone(), delivered.clone());
    prop_oneof![
        6 => write.clone().prop_map(|(n, delivered)| Step::Write { n, delivered }),
        3 => write.clone().prop_map(|(n, delivered)| Step::Delete { n, delivered }),
        2 => write.prop_map(|(n, delivered)| Step::Recreate { n, delivered }),
        2 => Just(Step::Relist),
        1 => Just(Step::Resync),
        5 => (1..4u8).prop_map(Step::Process),
        2 => (n.clone(), n).prop_map(|(n, m)| Step::Overlap { n, m }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..60)
}

/// The server, and what a handler has been told.
struct World {
    pipeline: Pipeline,
    server: BTreeMap<String, Obj>,
    version: u64,
    /// Whether an event was lost, so that the watch cannot go on before a relist.
    broken: bool,
    told: BTreeMap<ObjectName, Arc<Obj>>,
    /// All that was told, in order.
    log: Told<Obj>,
}

impl World {
    fn new(kind: Kind) -> Self {
        let mut world = Self {
            pipeline: Pipeline::new(kind),
            server: BTreeMap::new(),
            version: 0,
            broken: false,
            told: BTreeMap::new(),
            log: Vec::new(),
        };
        world.relist();
        world
    }

    fn write(&mut self, n: u8, delivered: bool) {
        self.version += 1;
        let name = format!("p{n}");
        let known = self.server.get(&name);
        let uid = known.map_or_else(|| format!("u{}", self.version), |obj| obj.uid.clone());
        let written = Obj {
            name: name.clone(),
            uid,
            rv: self.version.to_string(),
        };
        let change = if known.is_some() {
            Change::Updated(written.clone())
        } else {
            Change::Added(written.clone())
        };
        self.server.insert(name, written);
        self.deliver(change, delivered);
    }

    fn delete(&mut self, n: u8, delivered: bool) {
        let Some(mut gone) = self.server.remove(&format!("p{n}")) else {
            return;
        };
        self.version += 1;
        gone.rv = self.version.to_string();
        let change = Change::Deleted {
            name: ObjectName::of(&gone),
            resource_version: Some(rv(self.version)),
            object: Some(gone),
        };
        self.deliver(change, delivered);
    }

    fn deliver(&mut self, change: Change<Obj>, delivered: bool) {
        self.broken |= !delivered;
        if !self.broken {
            self.pipeline.change(change);
        }
    }

    fn relist(&mut self) {
        let items: Vec<_> = self
            .server
            .values()
            .cloned()
            .map(ListItem::Object)
            .collect();
        self.pipeline.replace(items, self.version);
        self.broken = false;
    }

    fn hear(&mut self, told: Told<Obj>) -> Result<(), TestCaseError> {
        self.log.extend(told.iter().cloned());
        for (notification, _) in told {
            match notification {
                Notification::Add { obj, .. } => {
                    let before = self.told.insert(ObjectName::of(&*obj), Arc::clone(&obj));
                    prop_assert!(before.is_none(), "add of {obj:?}, which was told");
                }
                Notification::Update { old, new } => {
                    let before = self.told.insert(ObjectName::of(&*new), Arc::clone(&new));
                    prop_assert_eq!(before.as_ref(), Some(&old), "update from another state");
                    prop_assert_eq!(&old.uid, &new.uid, "an update keeps the identity");
                }
                Notification::Delete(deleted) => {
                    let before = self.told.remove(&deleted.name);
                    prop_assert!(before.is_some(), "delete of untold {}", deleted.name);
                    prop_assert!(deleted.last_known.is_some(), "no last known state");
                }
            }
        }
        Ok(())
    }

    fn process(&mut self, max: usize) -> Result<bool, TestCaseError> {
        match self.pipeline.step(max) {
            Some(told) => self.hear(told).map(|()| true),
            None => Ok(false),
        }
    }

    /// Changes arrive between the store's write and `done`.
    fn overlap(&mut self, n: u8, m: u8) -> Result<(), TestCaseError> {
        let Some(popped) = self.pipeline.queue.pop(NonZeroUsize::MIN) else {
            return Ok(());
        };
        self.write(n, true);
        let told = handle_deltas(&self.pipeline.store, popped);
        self.delete(m, true);
        self.pipeline.queue.done();
        self.hear(told)
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Write { n, delivered } => self.write(n, delivered),
            Step::Delete { n, delivered } => self.delete(n, delivered),
            Step::Recreate { n, delivered } => {
                self.delete(n, delivered);
                self.write(n, delivered);
            }
            Step::Relist => self.relist(),
            Step::Resync => self.pipeline.queue.resync(),
            Step::Process(max) => {
                self.process(usize::from(max))?;
            }
            Step::Overlap { n, m } => self.overlap(n, m)?,
        }
        Ok(())
    }

    /// Once everything has arrived, store and handlers know what the server knows.
    fn finish(&mut self) -> Result<(), TestCaseError> {
        self.relist();
        while self.process(3)? {}
        let stored: BTreeMap<_, _> = self
            .pipeline
            .store
            .list()
            .iter()
            .map(|obj| (obj.name.clone(), (**obj).clone()))
            .collect();
        prop_assert_eq!(&stored, &self.server, "the store is not the server");
        let told: BTreeMap<_, _> = self
            .told
            .values()
            .map(|obj| (obj.name.clone(), (**obj).clone()))
            .collect();
        prop_assert_eq!(&told, &self.server, "the handler's view is not the server");
        prop_assert!(self.pipeline.queue.has_synced());
        Ok(())
    }

    fn run(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for step in steps {
            self.step(step)?;
        }
        self.finish()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn delta_fifo_and_store_agree_with_the_server_whatever_is_lost(steps in steps()) {
        World::new(Kind::Delta).run(&steps)?;
    }

    #[test]
    fn in_order_fifo_and_store_agree_with_the_server_whatever_is_lost(steps in steps()) {
        World::new(Kind::InOrder).run(&steps)?;
    }
}
