//! All state of the server: objects, the event history and one revision, as a plain value.
//!
//! Everything the server answers is computed from this value under one lock, so that reads
//! and writes are linearizable and no event can fall between a LIST and the WATCH after it.

mod write;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

pub(crate) use self::write::{Deleted, Part, Preconditions, Write};
use crate::object::{ObjectKey, Stored};
use crate::resource::{CollectionKey, Registry, Resource, resources_of_definition};
use crate::status::ApiError;

/// What an event did to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The object is new.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone; the event's object carries the revision of the deletion.
    Deleted,
}

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) kind: EventKind,
    pub(crate) object: Arc<Stored>,
    /// The state before; `None` for `Added`.
    pub(crate) previous: Option<Arc<Stored>>,
}

/// The objects of one resource and their recent changes.
///
/// # Memory
///
/// At most `window` events, each keeping one object version alive (and its predecessor).
/// This is also the bound of every watcher's backlog: watchers hold a position in it.
#[derive(Debug)]
struct Collection {
    objects: BTreeMap<ObjectKey, Arc<Stored>>,
    events: VecDeque<Arc<Event>>,
    /// Sequence number of `events[0]`. Sequence numbers are never used twice.
    first_seq: u64,
    /// The oldest revision whose successors are all known; older requests get 410.
    floor: u64,
    /// Raised when open watches must end without seeing later events.
    incarnation: u64,
    /// The resource is not served any more: watches end after their last event.
    removed: bool,
    wake: watch::Sender<()>,
}

impl Collection {
    fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            events: VecDeque::new(),
            first_seq: 0,
            floor: 0,
            incarnation: 0,
            removed: false,
            wake: watch::Sender::new(()),
        }
    }

    fn end_seq(&self) -> u64 {
        self.first_seq + self.events.len() as u64
    }

    fn push(&mut self, event: Event, window: usize) {
        self.events.push_back(Arc::new(event));
        while self.events.len() > window {
            if let Some(dropped) = self.events.pop_front() {
                self.first_seq += 1;
                self.floor = self.floor.max(dropped.revision);
            }
        }
        self.wake.send_replace(());
    }
}

/// A watcher's position in a collection's events.
#[derive(Debug)]
pub(crate) struct Cursor {
    collection: CollectionKey,
    incarnation: u64,
    seq: u64,
    /// Events up to this revision are not for this watcher.
    after: u64,
}

/// What a watcher finds at its position.
#[derive(Debug)]
pub(crate) enum Read {
    /// These happened next.
    Events(Vec<Arc<Event>>),
    /// Nothing more happened up to this revision.
    UpToDate(u64),
    /// The watcher was so slow that the history window has passed it.
    TooSlow { oldest: u64 },
    /// The watch is over: the resource is gone or the revision went back.
    Ended,
}

/// Which objects of a collection are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Range<'a> {
    pub(crate) namespace: Option<&'a str>,
    /// Only objects after this key.
    pub(crate) after: Option<&'a ObjectKey>,
}

/// The state.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    window: usize,
    registry: Registry,
    collections: HashMap<CollectionKey, Collection>,
}

impl Store {
    pub(crate) fn new(registry: Registry, window: usize) -> Self {
        let collections = registry
            .all()
            .iter()
            .map(|r| (r.collection(), Collection::new()))
            .collect();
        Self {
            revision: 1,
            window,
            registry,
            collections,
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn get(&self, resource: &Resource, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.collections
            .get(&resource.collection())?
            .objects
            .get(key)
    }

    pub(crate) fn namespace_exists(&self, name: &str) -> bool {
        let namespaces = CollectionKey {
            group: String::new(),
            plural: "namespaces".to_owned(),
        };
        self.collections
            .get(&namespaces)
            .is_some_and(|c| c.objects.contains_key(&ObjectKey::new("", name)))
    }

    /// The oldest revision from which this resource can be read or watched.
    pub(crate) fn floor(&self, resource: &Resource) -> u64 {
        self.collections
            .get(&resource.collection())
            .map_or(0, |c| c.floor)
    }

    /// How many objects the range holds now.
    pub(crate) fn count(&self, resource: &Resource, range: &Range<'_>) -> usize {
        self.collections
            .get(&resource.collection())
            .map_or(0, |c| in_range(&c.objects, range).count())
    }

    /// The objects of the range as they were at `revision`, in key order, until `enough` says so.
    ///
    /// # Errors
    ///
    /// 410 when the history does not reach back to that revision.
    pub(crate) fn read_at(
        &self,
        resource: &Resource,
        revision: u64,
        range: &Range<'_>,
        mut take: impl FnMut(&Arc<Stored>) -> Take,
    ) -> Result<(), ApiError> {
        let Some(collection) = self.collections.get(&resource.collection()) else {
            return Ok(());
        };
        let past = past_states(collection, self.revision, revision)?;
        let mut current = in_range(&collection.objects, range)
            .filter(|(k, _)| !past.contains_key(*k))
            .peekable();
        let mut older = in_range(&past, range)
            .filter_map(|(k, v)| Some((k, v.as_ref()?)))
            .peekable();
        while let Some(object) = next_of(&mut current, &mut older) {
            if take(object) == Take::Stop {
                break;
            }
        }
        Ok(())
    }

    /// A position from which all events after `revision` will be read, and what wakes its reader.
    ///
    /// # Errors
    ///
    /// 410 when the history does not reach back to that revision.
    pub(crate) fn watch_after(
        &self,
        resource: &Resource,
        revision: u64,
    ) -> Result<(Cursor, watch::Receiver<()>), ApiError> {
        let key = resource.collection();
        let Some(collection) = self.collections.get(&key) else {
            return Err(ApiError::no_such_path());
        };
        if revision < collection.floor {
            return Err(ApiError::expired(revision, collection.floor));
        }
        let known = collection
            .events
            .partition_point(|e| e.revision <= revision);
        let cursor = Cursor {
            collection: key,
            incarnation: collection.incarnation,
            seq: collection.first_seq + known as u64,
            after: revision,
        };
        Ok((cursor, collection.wake.subscribe()))
    }

    /// Reads up to `max` events that are at least `lag` revisions old, and moves the cursor past them.
    pub(crate) fn read(&self, cursor: &mut Cursor, max: usize, lag: u64) -> Read {
        let Some(collection) = self.collections.get(&cursor.collection) else {
            return Read::Ended;
        };
        if collection.incarnation != cursor.incarnation {
            return Read::Ended;
        }
        if cursor.seq < collection.first_seq {
            return Read::TooSlow {
                oldest: collection.floor,
            };
        }
        let visible = self.revision.saturating_sub(lag);
        let start = usize::try_from(cursor.seq - collection.first_seq).unwrap_or(usize::MAX);
        let mut events = Vec::new();
        for event in collection
            .events
            .iter()
            .skip(start)
            .take_while(|e| e.revision <= visible)
            .take(max)
        {
            cursor.seq += 1;
            if event.revision > cursor.after {
                events.push(Arc::clone(event));
            }
        }
        if !events.is_empty() {
            Read::Events(events)
        } else if cursor.seq < collection.end_seq() && lag == 0 {
            self.read(cursor, max, lag)
        } else if collection.removed {
            Read::Ended
        } else {
            Read::UpToDate(visible)
        }
    }

    /// Forgets the history: reads and watches from any older revision get 410. Watches that
    /// are open go on.
    pub(crate) fn compact(&mut self) {
        let revision = self.revision;
        for collection in self.collections.values_mut() {
            collection.floor = revision;
        }
    }

    /// Takes state and revision back, as a restore from a backup does. All watches end.
    ///
    /// # Errors
    ///
    /// 410 when the history does not reach back, 400 for a revision that was never reached.
    pub(crate) fn rollback(&mut self, revision: u64) -> Result<(), ApiError> {
        if revision > self.revision || revision == 0 {
            let message = format!(
                "cannot roll back from revision {} to {revision}",
                self.revision
            );
            return Err(ApiError::bad_request(message));
        }
        let mut past = HashMap::new();
        for (key, collection) in &self.collections {
            past.insert(
                key.clone(),
                past_states(collection, self.revision, revision)?,
            );
        }
        for (key, states) in past {
            let Some(collection) = self.collections.get_mut(&key) else {
                continue;
            };
            for (object, state) in states {
                match state {
                    Some(state) => collection.objects.insert(object, state),
                    None => collection.objects.remove(&object),
                };
            }
            let kept = collection
                .events
                .partition_point(|e| e.revision <= revision);
            collection.events.truncate(kept);
            collection.incarnation += 1;
            collection.wake.send_replace(());
        }
        self.revision = revision;
        self.reload_definitions();
        Ok(())
    }

    /// Serves exactly the custom resources whose definitions are stored.
    fn reload_definitions(&mut self) {
        let Some(crds) = self
            .registry
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .cloned()
        else {
            return;
        };
        let served: Vec<String> = self
            .registry
            .all()
            .iter()
            .filter_map(|r| match &r.origin {
                crate::resource::Origin::Definition(name) => Some(name.clone()),
                crate::resource::Origin::BuiltIn | crate::resource::Origin::Builder => None,
            })
            .collect();
        for name in served {
            for gone in self.registry.remove_definition(&name) {
                if let Some(collection) = self.collections.get_mut(&gone.collection()) {
                    collection.removed = true;
                }
            }
        }
        let stored: Vec<Arc<Stored>> = self
            .collections
            .get(&crds.collection())
            .map(|c| c.objects.values().cloned().collect())
            .unwrap_or_default();
        for definition in stored {
            self.serve_definition(&definition.to_value(&crds));
        }
    }

    /// Serves the resources of a `CustomResourceDefinition` from now on.
    fn serve_definition(&mut self, definition: &serde_json::Value) {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        self.registry.remove_definition(name);
        for resource in resources_of_definition(definition) {
            let collection = self
                .collections
                .entry(resource.collection())
                .or_insert_with(Collection::new);
            if collection.removed {
                collection.removed = false;
                collection.incarnation += 1;
            }
            self.registry.add(resource);
        }
    }

    /// Stops serving what a definition brought in: its objects are deleted, its watches end.
    fn retire_definition(&mut self, name: &str) {
        for gone in self.registry.remove_definition(name) {
            self.delete_all(&gone, None);
            if let Some(collection) = self.collections.get_mut(&gone.collection()) {
                collection.removed = true;
                collection.wake.send_replace(());
            }
        }
    }
}

/// Whether a reader wants the objects that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// Go on.
    More,
    /// Enough.
    Stop,
}

/// For every object changed after `revision`, its state at that revision.
fn past_states(
    collection: &Collection,
    current: u64,
    revision: u64,
) -> Result<BTreeMap<ObjectKey, Option<Arc<Stored>>>, ApiError> {
    if revision < collection.floor {
        return Err(ApiError::expired(revision, collection.floor));
    }
    let mut past = BTreeMap::new();
    if revision < current {
        let known = collection
            .events
            .partition_point(|e| e.revision <= revision);
        for event in collection.events.iter().skip(known) {
            past.entry(event.object.key.clone())
                .or_insert_with(|| event.previous.clone());
        }
    }
    Ok(past)
}

fn in_range<'m, V>(
    map: &'m BTreeMap<ObjectKey, V>,
    range: &Range<'m>,
) -> impl Iterator<Item = (&'m ObjectKey, &'m V)> + use<'m, V> {
    let namespace = range.namespace;
    let start = match (range.after, namespace) {
        (Some(key), _) => Bound::Excluded(key.clone()),
        (None, Some(namespace)) => Bound::Included(ObjectKey::new(namespace, "")),
        (None, None) => Bound::Unbounded,
    };
    map.range((start, Bound::Unbounded))
        .skip_while(move |(key, _)| namespace.is_some_and(|ns| key.namespace.as_str() < ns))
        .take_while(move |(key, _)| namespace.is_none_or(|ns| key.namespace == ns))
}

/// The next of two sorted, disjoint sequences.
fn next_of<'m>(
    a: &mut Peekable<impl Iterator<Item = (&'m ObjectKey, &'m Arc<Stored>)>>,
    b: &mut Peekable<impl Iterator<Item = (&'m ObjectKey, &'m Arc<Stored>)>>,
) -> Option<&'m Arc<Stored>> {
    let take_a = match (a.peek(), b.peek()) {
        (Some((left, _)), Some((right, _))) => left < right,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let (_, object) = if take_a { a.next()? } else { b.next()? };
    Some(object)
}

#[cfg(test)]
mod tests;
