//! A server as a plain value that writes at random and fails at random.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::stream;
use informers_cache_core::{ListItem, Object, ObjectName, ResourceVersion};
use informers_reflector::{
    Error, ListMeta, ListOptions, ListPart, ListStream, ListerWatcher, StatusError, TransportKind,
    WatchEvent, WatchOptions, WatchStart,
};
use tokio::sync::watch;

use crate::testing::rv;

/// How many objects there may be.
pub(super) const KEYS: usize = 200;
/// How many changes a watch can go back.
const HISTORY: usize = 2000;
/// Objects in one part of a list.
const PART: usize = 64;

/// The numbers of a run: the same seed gives the same ones.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// How many objects are alive, and how many ever were at once.
#[derive(Default)]
pub(super) struct Census {
    alive: AtomicUsize,
    peak: AtomicUsize,
}

impl Census {
    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub(super) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

/// One version of one object; counted for as long as anybody holds it.
pub(super) struct Item {
    pub(super) number: usize,
    pub(super) uid: u64,
    pub(super) version: u64,
    texts: [String; 4],
    census: Arc<Census>,
}

impl Item {
    fn new(census: &Arc<Census>, number: usize, Identity { uid, version }: Identity) -> Self {
        let alive = census.alive.fetch_add(1, Ordering::SeqCst) + 1;
        census.peak.fetch_max(alive, Ordering::SeqCst);
        Self {
            number,
            uid,
            version,
            texts: [
                format!("obj-{number}"),
                format!("ns-{}", number % 4),
                format!("uid-{uid}"),
                version.to_string(),
            ],
            census: Arc::clone(census),
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.census.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Object for Item {
    fn name(&self) -> &str {
        &self.texts[0]
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.texts[1])
    }
    fn uid(&self) -> Option<&str> {
        Some(&self.texts[2])
    }
    fn resource_version(&self) -> Option<&str> {
        Some(&self.texts[3])
    }
    fn label(&self, _key: &str) -> Option<&str> {
        None
    }
}

/// What tells two objects of a name, and two states of an object, apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u64,
    pub(super) version: u64,
}

impl From<&Item> for Identity {
    fn from(item: &Item) -> Self {
        Self {
            uid: item.uid,
            version: item.version,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

/// How open watches end.
#[derive(Clone, Copy)]
enum End {
    Clean,
    Cut,
    /// An ERROR event of this code.
    Event(u16),
}

struct State {
    random: Random,
    objects: BTreeMap<usize, Identity>,
    version: u64,
    history: VecDeque<(u64, Kind, usize, Identity)>,
    /// Versions below are gone.
    floor: u64,
    /// Ends the watches that were opened before it grew.
    generation: u64,
    end: End,
    list_errors: VecDeque<Error>,
    watch_errors: VecDeque<Error>,
    lists: usize,
}

/// The server; clones are the same one.
#[derive(Clone)]
pub(super) struct Server(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: watch::Sender<()>,
    census: Arc<Census>,
}

fn status(code: u16) -> Error {
    let reason = match code {
        410 => "Expired",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    Error::from_status(StatusError {
        code,
        reason: reason.into(),
        message: "as the test wants".into(),
        ..StatusError::default()
    })
}

impl Server {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                random: Random::new(seed),
                objects: BTreeMap::new(),
                version: 1,
                history: VecDeque::new(),
                floor: 0,
                generation: 0,
                end: End::Clean,
                list_errors: VecDeque::new(),
                watch_errors: VecDeque::new(),
                lists: 0,
            }),
            changed: watch::Sender::new(()),
            census: Arc::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// Writes, deletes and re-creates at random, this many times.
    pub(super) fn write(&self, changes: u64) {
        let mut state = self.state();
        for _ in 0..changes {
            state.change(true);
        }
        drop(state);
        self.0.changed.send_replace(());
    }

    /// One misfortune at random.
    pub(super) fn fail(&self) {
        let mut state = self.state();
        match state.random.below(9) {
            0 => state.end_watches(End::Clean),
            1 => state.end_watches(End::Cut),
            2 => state.end_watches(End::Event(500)),
            // 410 when the watch is begun again, or in its midst.
            3 => state.forget(End::Clean),
            4 => state.forget(End::Event(410)),
            // Changes that no watch will ever tell of.
            5 => {
                for _ in 0..state.random.below(40) {
                    state.change(false);
                }
                state.forget(End::Cut);
            }
            // The relist after it fails, too.
            6 => {
                state.list_errors.extend([status(500), status(429)]);
                state.forget(End::Event(410));
            }
            7 => {
                let refused = Error::transport(TransportKind::Refused, "connection refused");
                state.watch_errors.extend([refused, status(429)]);
                state.end_watches(End::Cut);
            }
            _ => {
                state.watch_errors.push_back(status(500));
                state.end_watches(End::Clean);
            }
        }
        drop(state);
        self.0.changed.send_replace(());
    }

    pub(super) fn objects(&self) -> BTreeMap<usize, Identity> {
        self.state().objects.clone()
    }

    /// How many lists were asked for.
    pub(super) fn lists(&self) -> usize {
        self.state().lists
    }

    pub(super) fn census(&self) -> Arc<Census> {
        Arc::clone(&self.0.census)
    }

    /// Whether a stream or an informer still holds the server.
    pub(super) fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn item(&self, (number, identity): (usize, Identity)) -> Item {
        Item::new(&self.0.census, number, identity)
    }

    /// Events after `at`, and the position behind them; `Err` ends the watch.
    fn events(&self, at: u64, generation: u64) -> Result<(Vec<WatchEvent<Item>>, u64), End> {
        let mut state = self.state();
        if state.generation != generation {
            return Err(state.end);
        }
        let first = state
            .history
            .partition_point(|(version, ..)| *version <= at);
        let changes: Vec<_> = state.history.range(first..).copied().collect();
        let newest = changes.last().map_or(at, |(version, ..)| *version);
        let wants_bookmark = !changes.is_empty() && state.random.below(8) == 0;
        drop(state);
        let mut events: Vec<_> = changes
            .into_iter()
            .map(|(version, kind, number, identity)| {
                let item = self.item((
                    number,
                    Identity {
                        version,
                        ..identity
                    },
                ));
                event(kind, item)
            })
            .collect();
        if wants_bookmark {
            events.push(WatchEvent::Bookmark {
                resource_version: rv(newest),
                initial_events_end: false,
            });
        }
        Ok((events, newest))
    }
}

impl State {
    fn change(&mut self, is_seen: bool) {
        self.version += 1;
        let number = usize::try_from(self.random.below(KEYS as u64)).unwrap();
        let version = self.version;
        let what = self.random.below(10);
        let fresh = Identity {
            uid: version,
            version,
        };
        let (kind, identity) = match self.objects.get(&number).copied() {
            None => {
                self.objects.insert(number, fresh);
                (Kind::Added, fresh)
            }
            Some(known) if what < 7 => {
                let written = Identity { version, ..known };
                self.objects.insert(number, written);
                (Kind::Modified, written)
            }
            Some(known) => {
                self.objects.remove(&number);
                (Kind::Deleted, Identity { version, ..known })
            }
        };
        if !is_seen {
            return;
        }
        self.history.push_back((version, kind, number, identity));
        if self.history.len() > HISTORY
            && let Some((version, ..)) = self.history.pop_front()
        {
            self.floor = version;
        }
    }

    fn end_watches(&mut self, end: End) {
        self.generation += 1;
        self.end = end;
    }

    /// Forgets the history: going on from an older version is a 410.
    fn forget(&mut self, end: End) {
        self.version += 1;
        self.floor = self.version;
        self.history.clear();
        self.end_watches(end);
    }
}

impl ListerWatcher<Item> for Server {
    fn list(&self, _options: ListOptions) -> ListStream<Item> {
        let mut state = self.state();
        state.lists += 1;
        if let Some(error) = state.list_errors.pop_front() {
            return Box::pin(stream::iter([Err(error)]));
        }
        let objects: Vec<_> = state.objects.iter().map(|(&n, &it)| (n, it)).collect();
        let meta = ListMeta {
            resource_version: Some(rv(state.version)),
            ..ListMeta::default()
        };
        drop(state);
        let mut parts: Vec<_> = objects
            .chunks(PART)
            .map(|part| {
                let items = part.iter().map(|&it| ListItem::Object(self.item(it)));
                Ok(ListPart::Items(items.collect()))
            })
            .collect();
        parts.push(Ok(ListPart::End(meta)));
        Box::pin(stream::iter(parts))
    }

    fn watch(&self, options: WatchOptions) -> WatchStart<Item> {
        let server = self.clone();
        let from: u64 = options.resource_version.map_or(0, |rv| {
            rv.as_str().parse().expect("a version of this server")
        });
        Box::pin(async move {
            let generation = {
                let mut state = server.state();
                if let Some(error) = state.watch_errors.pop_front() {
                    return Err(error);
                }
                if from < state.floor {
                    return Err(status(410));
                }
                state.generation
            };
            let changed = server.0.changed.subscribe();
            let watching = Some((server, changed, from));
            let events = stream::unfold(watching, move |watching| async move {
                let (server, mut changed, at) = watching?;
                loop {
                    match server.events(at, generation) {
                        Err(End::Clean) => return None,
                        Err(End::Cut) => {
                            let cut = Error::transport(TransportKind::Eof, "unexpected end");
                            return Some((Err(cut), None));
                        }
                        Err(End::Event(code)) => {
                            return Some((Ok(vec![WatchEvent::Error(status(code))]), None));
                        }
                        Ok((events, newest)) if !events.is_empty() => {
                            return Some((Ok(events), Some((server, changed, newest))));
                        }
                        Ok(_) => changed.changed().await.ok()?,
                    }
                }
            });
            Ok(Box::pin(events) as _)
        })
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        "items".into()
    }
}

fn event(kind: Kind, item: Item) -> WatchEvent<Item> {
    match kind {
        Kind::Added => WatchEvent::Added(item),
        Kind::Modified => WatchEvent::Modified(item),
        Kind::Deleted => WatchEvent::Deleted {
            name: ObjectName::of(&item),
            resource_version: ResourceVersion::new(&item.texts[3]),
            object: Some(item),
        },
    }
}
