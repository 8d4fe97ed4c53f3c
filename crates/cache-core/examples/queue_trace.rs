//! Plays traces of queue operations, read from standard input, and prints what the queues
//! hand out, one JSON object a line. `cargo xtask conformance` compares it with client-go's
//! queues; `tests/conformance/README.md` describes the traces.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use informers_cache_core::{
    Delta, DeltaFifo, InOrderFifo, KnownObjects, ListItem, Object, ObjectName, Popped, Queue,
    Replacement, ResourceVersion, Work,
};
use serde_json::{Map, Value, json};

type Failure = Box<dyn Error>;

/// The largest batch of client-go's `RealFIFO`.
const BATCH: NonZeroUsize = NonZeroUsize::new(1000).expect("not zero");

fn main() -> Result<(), Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut player: Option<Player> = None;
    let mut line = 0;
    for content in text.lines().map(str::trim) {
        line += 1;
        let (verb, rest) = content.split_once(' ').unwrap_or((content, ""));
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if verb == "trace" {
            line = 0;
            player = Some(Player::new(rest));
            continue;
        }
        let player = player.as_mut().ok_or("an operation before any trace")?;
        player
            .play(line, verb, rest.trim())
            .map_err(|error| format!("trace {} line {line}: {error}", player.name))?;
    }
    Ok(())
}

/// An object of nothing but metadata.
#[derive(Debug)]
struct Obj {
    name: String,
    uid: String,
    rv: String,
}

impl Obj {
    /// `a@5` or `a@5#uid`.
    fn parse(text: &str) -> Self {
        let (text, uid) = text.split_once('#').unwrap_or((text, "u"));
        let (name, rv) = text.split_once('@').unwrap_or((text, ""));
        Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
            rv: rv.to_owned(),
        }
    }
}

impl Object for Obj {
    fn name(&self) -> &str {
        &self.name
    }
    fn namespace(&self) -> Option<&str> {
        None
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

/// The store behind the queue.
#[derive(Default)]
struct Known(Mutex<BTreeMap<ObjectName, Arc<Obj>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectName, Arc<Obj>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, obj: &Arc<Obj>) {
        self.lock().insert(ObjectName::of(&**obj), Arc::clone(obj));
    }

    /// Does what the process loop of an informer does with a store.
    fn apply(&self, work: Work<Obj>) {
        match work {
            Work::Deltas(batch) => {
                for (name, deltas) in batch {
                    for delta in deltas {
                        match delta {
                            Delta::Deleted(_) => {
                                self.lock().remove(&name);
                            }
                            Delta::Added(obj)
                            | Delta::Updated(obj)
                            | Delta::Replaced(obj)
                            | Delta::Sync(obj) => self.put(&obj),
                            Delta::Undecodable(_) => {}
                        }
                    }
                }
            }
            Work::ReplacedAll(all) => {
                self.lock().clear();
                for (_, obj) in &all.objects {
                    self.put(obj);
                }
            }
            Work::SyncAll | Work::Bookmark => {}
        }
    }
}

impl KnownObjects<Obj> for Known {
    fn known(&self, name: &ObjectName) -> Option<Arc<Obj>> {
        self.lock().get(name).cloned()
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectName, Option<&Arc<Obj>>)) {
        for (name, obj) in &*self.lock() {
            visit(name, Some(obj));
        }
    }
}

/// Plays one trace.
struct Player {
    name: String,
    known: Arc<Known>,
    /// Whether the queue asks the store.
    asks: bool,
    queue: Option<Box<dyn Queue<Obj>>>,
    /// Work that was taken and is being processed.
    taken: Option<Popped<Obj>>,
}

impl Player {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            known: Arc::default(),
            asks: false,
            queue: None,
            taken: None,
        }
    }

    fn play(&mut self, line: usize, verb: &str, rest: &str) -> Result<(), Failure> {
        match verb {
            "known" => {
                for text in rest.split_whitespace() {
                    self.known.put(&Arc::new(Obj::parse(text)));
                }
                return Ok(());
            }
            "queue" => {
                let known = Arc::clone(&self.known) as Arc<dyn KnownObjects<Obj>>;
                self.asks = rest == "delta-fifo";
                self.queue = Some(match rest {
                    "delta-fifo" => Box::new(DeltaFifo::new(Some(known))),
                    "delta-fifo-alone" => Box::new(DeltaFifo::new(None)),
                    "in-order" => Box::new(InOrderFifo::new()),
                    _ => return Err("no such queue".into()),
                });
                return Ok(());
            }
            _ => {}
        }
        let queue = self.queue.as_mut().ok_or("no queue yet")?;
        match verb {
            "pop" | "take" => self.pop(line, verb, NonZeroUsize::MIN),
            "batch" => self.pop(line, verb, BATCH),
            "done" => {
                // None: there was nothing to take.
                if let Some(taken) = self.taken.take() {
                    self.known.apply(taken.work);
                    queue.done();
                }
                self.say(line, verb, Map::new())
            }
            _ => {
                let known = self
                    .asks
                    .then(|| Arc::clone(&self.known) as Arc<dyn KnownObjects<Obj>>);
                change(queue.as_mut(), known, verb, rest)?;
                self.say(line, verb, Map::new())
            }
        }
    }

    fn pop(&mut self, line: usize, verb: &str, max: NonZeroUsize) -> Result<(), Failure> {
        let queue = self.queue.as_mut().ok_or("no queue yet")?;
        let Some(popped) = queue.pop(max) else {
            let nothing = [("work".to_owned(), json!("nothing"))];
            self.say(line, verb, nothing.into_iter().collect())?;
            return if verb == "take" {
                Ok(())
            } else {
                self.say(line, "processed", Map::new())
            };
        };
        let said = describe(&popped);
        self.say(line, verb, said)?;
        if verb == "take" {
            self.taken = Some(popped);
            return Ok(());
        }
        self.known.apply(popped.work);
        let queue = self.queue.as_mut().ok_or("no queue yet")?;
        queue.done();
        self.say(line, "processed", Map::new())
    }

    fn say(&self, line: usize, op: &str, mut said: Map<String, Value>) -> Result<(), Failure> {
        let queue = self.queue.as_ref().ok_or("no queue yet")?;
        said.insert("trace".to_owned(), json!(self.name));
        said.insert("line".to_owned(), json!(line));
        said.insert("op".to_owned(), json!(op));
        said.insert("synced".to_owned(), json!(queue.has_synced()));
        println!("{}", Value::Object(said));
        Ok(())
    }
}

fn change(
    queue: &mut dyn Queue<Obj>,
    known: Option<Arc<dyn KnownObjects<Obj>>>,
    verb: &str,
    rest: &str,
) -> Result<(), Failure> {
    match verb {
        "add" => queue.add(Arc::new(Obj::parse(rest))),
        "update" => queue.update(Arc::new(Obj::parse(rest))),
        "delete" => {
            let obj = Obj::parse(rest);
            let version = ResourceVersion::new(&obj.rv);
            queue.delete(ObjectName::of(&obj), Some(Arc::new(obj)), version.as_ref());
        }
        "resync" => queue.resync(),
        "bookmark" => {
            queue.bookmark(&ResourceVersion::new(rest).ok_or("a bookmark has a version")?);
        }
        "replace" => {
            let (version, items) = rest.split_once(':').ok_or("replace VERSION: ITEMS")?;
            let mut list = Replacement::new(None, known);
            for item in items.split_whitespace() {
                list.push(ListItem::Object(Obj::parse(item)))
                    .map_err(|undecodable| undecodable.to_string())?;
            }
            queue.replace(list, ResourceVersion::new(version).as_ref());
        }
        _ => return Err(format!("no such operation: {verb}").into()),
    }
    Ok(())
}

fn describe(popped: &Popped<Obj>) -> Map<String, Value> {
    let (work, deltas): (_, Vec<Value>) = match &popped.work {
        Work::Deltas(batch) => {
            let deltas = batch.iter().flat_map(|(_, deltas)| deltas.iter());
            ("deltas", deltas.map(describe_delta).collect())
        }
        Work::ReplacedAll(all) => {
            let objects = all.objects.iter();
            let objects = objects.map(|(_, obj)| describe_object("Replaced", obj));
            ("replaced-all", objects.collect())
        }
        Work::SyncAll => ("sync-all", Vec::new()),
        Work::Bookmark => ("bookmark", Vec::new()),
    };
    let mut said = Map::new();
    said.insert("work".to_owned(), json!(work));
    said.insert("deltas".to_owned(), json!(deltas));
    said.insert("initial".to_owned(), json!(popped.is_in_initial_list));
    // client-go says the version of a relist and of a bookmark only.
    if matches!(popped.work, Work::ReplacedAll(_) | Work::Bookmark) {
        let version = popped.checkpoint.as_ref().map(ToString::to_string);
        said.insert("rv".to_owned(), json!(version));
    }
    said
}

fn describe_delta(delta: &Delta<Obj>) -> Value {
    let kind = match delta {
        Delta::Added(_) => "Added",
        Delta::Updated(_) => "Updated",
        Delta::Replaced(_) => "Replaced",
        Delta::Sync(_) => "Sync",
        Delta::Deleted(_) => "Deleted",
        Delta::Undecodable(_) => "Undecodable",
    };
    let mut said = match delta.object() {
        Some(obj) => describe_object(kind, obj),
        None => json!({"type": kind}),
    };
    if let Delta::Deleted(deleted) = delta {
        said["key"] = json!(deleted.name.as_str());
        said["tombstone"] = json!(deleted.is_final_state_unknown());
    }
    said
}

fn describe_object(kind: &str, obj: &Obj) -> Value {
    json!({"type": kind, "key": obj.name, "rv": obj.rv, "uid": obj.uid})
}
