//! [`FakeSource`]: a server as a plain value behind [`ListerWatcher`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::stream;
use informers_cache_core::{ListItem, ObjectName, ResourceVersion};
use informers_reflector::{
    Error, ListMeta, ListOptions, ListPart, ListStream, ListerWatcher, StatusError, WatchEvent,
    WatchOptions, WatchStart,
};
use tokio::sync::watch;

use super::{Obj, rv};

/// Keeps objects, numbers every change, replays the history from any version, and loses
/// what a test tells it to lose.
///
/// # Upstream
/// `tools/cache/testing.FakeControllerSource`.
#[derive(Clone)]
pub(crate) struct FakeSource(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Obj>,
    version: u64,
    history: Vec<(u64, Kind, Obj)>,
    /// Versions below are gone: 410.
    floor: u64,
    /// Ends the watches that were opened before it grew.
    generation: u64,
    list_errors: Vec<Error>,
    lists: usize,
    watches: usize,
}

fn status(code: u16, reason: &str, message: &str) -> StatusError {
    StatusError {
        code,
        reason: reason.into(),
        message: message.into(),
        ..StatusError::default()
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

impl FakeSource {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn put(&self, name: &str, is_seen: bool) -> String {
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        let uid = format!("{name}-uid");
        let obj = Obj {
            name: name.into(),
            uid,
            rv: version.to_string(),
        };
        let known = state.objects.insert(name.into(), obj.clone());
        if is_seen {
            let kind = if known.is_some() {
                Kind::Modified
            } else {
                Kind::Added
            };
            state.history.push((version, kind, obj));
        }
        drop(state);
        self.0.changed.send_replace(());
        version.to_string()
    }

    /// Writes an object; answers its version.
    pub(crate) fn write(&self, name: &str) -> String {
        self.put(name, true)
    }

    /// Writes an object; no watch hears of it.
    pub(crate) fn write_unseen(&self, name: &str) -> String {
        self.put(name, false)
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, name: &str) {
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        let mut obj = state.objects.remove(name).expect("it is there");
        obj.rv = version.to_string();
        state.history.push((version, Kind::Deleted, obj));
        drop(state);
        self.0.changed.send_replace(());
    }

    /// Deletes an object; no watch hears of it.
    pub(crate) fn delete_unseen(&self, name: &str) {
        let mut state = self.state();
        state.version += 1;
        state.objects.remove(name).expect("it is there");
    }

    /// Forgets the history and ends all watches: going on from an old version is a 410.
    pub(crate) fn reset_watch(&self) {
        let mut state = self.state();
        state.version += 1;
        state.floor = state.version;
        state.history.clear();
        state.generation += 1;
        drop(state);
        self.0.changed.send_replace(());
    }

    /// The next list answers with this error.
    pub(crate) fn fail_list(&self, code: u16, reason: &str) {
        self.state().list_errors.push(Error::from_status(status(
            code,
            reason,
            "as the test wants",
        )));
    }

    pub(crate) fn lists(&self) -> usize {
        self.state().lists
    }

    pub(crate) fn watches(&self) -> usize {
        self.state().watches
    }
}

impl ListerWatcher<Obj> for FakeSource {
    fn list(&self, _options: ListOptions) -> ListStream<Obj> {
        let mut state = self.state();
        state.lists += 1;
        if !state.list_errors.is_empty() {
            let error = state.list_errors.remove(0);
            return Box::pin(stream::iter([Err(error)]));
        }
        let items = state.objects.values().cloned().map(ListItem::Object);
        let meta = ListMeta {
            resource_version: Some(rv(state.version)),
            ..ListMeta::default()
        };
        let parts = [
            Ok(ListPart::Items(items.collect())),
            Ok(ListPart::End(meta)),
        ];
        Box::pin(stream::iter(parts))
    }

    fn watch(&self, options: WatchOptions) -> WatchStart<Obj> {
        let source = self.clone();
        let from = options.resource_version.map_or(0, |rv| {
            rv.as_str()
                .parse::<u64>()
                .expect("a version of this source")
        });
        Box::pin(async move {
            let generation = {
                let mut state = source.state();
                state.watches += 1;
                if from < state.floor {
                    let gone = status(410, "Expired", "too old resource version");
                    return Err(Error::from_status(gone));
                }
                state.generation
            };
            let changed = source.0.changed.subscribe();
            let events = stream::unfold(
                (source, changed, from),
                move |(source, mut changed, at)| async move {
                    loop {
                        let (events, newest, ended) = {
                            let state = source.state();
                            let new = state.history.iter().filter(|(version, _, _)| *version > at);
                            let events: Vec<_> =
                                new.map(|(_, kind, obj)| event(*kind, obj)).collect();
                            let newest = state
                                .history
                                .last()
                                .map_or(at, |(version, _, _)| at.max(*version));
                            (events, newest, state.generation != generation)
                        };
                        if ended {
                            return None;
                        }
                        if !events.is_empty() {
                            return Some((Ok(events), (source, changed, newest)));
                        }
                        changed.changed().await.ok()?;
                    }
                },
            );
            Ok(Box::pin(events) as _)
        })
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        "fakes".into()
    }
}

fn event(kind: Kind, obj: &Obj) -> WatchEvent<Obj> {
    match kind {
        Kind::Added => WatchEvent::Added(obj.clone()),
        Kind::Modified => WatchEvent::Modified(obj.clone()),
        Kind::Deleted => WatchEvent::Deleted {
            name: ObjectName::of(obj),
            resource_version: ResourceVersion::new(&obj.rv),
            object: Some(obj.clone()),
        },
    }
}
