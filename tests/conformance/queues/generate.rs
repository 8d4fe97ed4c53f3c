//! Random traces.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::Trace;

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];
const OPERATIONS: usize = 40;

/// `count` traces for each queue.
pub(super) fn traces(seed: u64, count: usize) -> Vec<Trace> {
    let mut rng = Rng::with_seed(seed);
    let mut traces = Vec::with_capacity(3 * count);
    for number in 0..count {
        for queue in ["delta-fifo", "delta-fifo-alone", "in-order"] {
            traces.push(Trace {
                name: format!("random-{queue}-{number}"),
                lines: Generator::new(rng.fork(), queue).lines(),
            });
        }
    }
    traces
}

struct Generator {
    rng: Rng,
    queue: &'static str,
    version: u32,
    /// Whether a change or a relist came.
    populated: bool,
    lines: Vec<String>,
    model: Model,
}

impl Generator {
    fn new(rng: Rng, queue: &'static str) -> Self {
        Self {
            rng,
            queue,
            version: 10,
            populated: false,
            lines: vec![format!("queue {queue}")],
            model: Model::default(),
        }
    }

    fn lines(mut self) -> Vec<String> {
        // Most informers begin with a list; queues need not.
        if self.rng.u8(..4) > 0 {
            self.replace();
        }
        for _ in 0..OPERATIONS {
            self.operation();
        }
        // Whatever is left shows too.
        for _ in 0..2 * KEYS.len() {
            self.say("pop".to_owned());
        }
        self.lines
    }

    fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    fn operation(&mut self) {
        match self.rng.u8(..20) {
            0 | 1 => self.replace(),
            2 => {
                self.say("resync".to_owned());
                if self.queue == "delta-fifo" {
                    self.model.resync();
                }
            }
            3 => {
                let line = format!("bookmark {}", self.next_version());
                self.say(line);
            }
            4..=9 => self.pop(),
            // Without a store a key in flight is not known to client-go: written traces.
            10 if self.queue != "delta-fifo-alone" => self.in_flight(),
            _ => self.change(None),
        }
    }

    fn pop(&mut self) {
        let verb = if self.rng.bool() && self.queue == "in-order" {
            "batch"
        } else {
            "pop"
        };
        self.say(verb.to_owned());
        self.model.pop();
    }

    /// Changes while a hand-out is processed.
    fn in_flight(&mut self) {
        self.say("take".to_owned());
        self.model.in_flight = self.model.queue.first().map(|(key, _)| key.clone());
        let gone = self.model.pop();
        for _ in 0..self.rng.usize(1..4) {
            // A first relist that comes now differs by R5: a written trace shows it.
            if self.rng.u8(..5) == 0 && self.populated {
                self.replace();
            } else {
                self.change(gone.as_deref());
            }
        }
        self.say("done".to_owned());
        self.model.in_flight = None;
    }

    /// An event. A delete of `spared`, which is gone when its processing ends, differs by
    /// decision 11: a written trace shows it.
    fn change(&mut self, spared: Option<&str>) {
        self.populated = true;
        let key = KEYS[self.rng.usize(..KEYS.len())];
        let object = self.object(key);
        match self.rng.u8(..10) {
            0..=2 => {
                self.say(format!("add {object}"));
                self.model.put(key);
            }
            3..=6 => {
                self.say(format!("update {object}"));
                self.model.put(key);
            }
            _ if spared == Some(key) && !self.model.is_queued(key) => {}
            _ => {
                self.say(format!("delete {object}"));
                self.model.delete(key, self.queue == "delta-fifo");
            }
        }
    }

    fn replace(&mut self) {
        self.populated = true;
        let version = self.next_version();
        let mut keys: Vec<&str> = KEYS.into_iter().filter(|_| self.rng.bool()).collect();
        self.rng.shuffle(&mut keys);
        let mut items: Vec<String> = keys.iter().map(|key| self.object(key)).collect();
        if self.rng.u8(..8) == 0
            && let Some(first) = items.first().cloned()
        {
            // A server that lists an object twice.
            items.push(first);
        }
        self.say(format!("replace {version}: {}", items.join(" ")));
        self.model.replace(&keys, self.queue == "delta-fifo");
    }

    fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }

    fn object(&mut self, key: &str) -> String {
        let uid = match self.rng.u8(..8) {
            0 => "#w",
            1 => "#v",
            _ => "",
        };
        // Now and then a version that was there already.
        let version = if self.rng.u8(..4) == 0 {
            self.version
        } else {
            self.next_version()
        };
        format!("{key}@{version}{uid}")
    }
}

/// As much of a `DeltaFIFO` as tells what a pop hands out.
#[derive(Default)]
struct Model {
    /// Queued keys, and whether the newest delta of each is a delete.
    queue: Vec<(String, bool)>,
    store: BTreeSet<String>,
    /// The key that is being processed; its tombstone comes before those of other keys.
    in_flight: Option<String>,
}

impl Model {
    fn is_queued(&self, key: &str) -> bool {
        self.queue.iter().any(|(queued, _)| queued == key)
    }

    fn push(&mut self, key: &str, deleted: bool) {
        match self.queue.iter_mut().find(|(queued, _)| queued == key) {
            Some((_, newest)) => *newest = deleted,
            None => self.queue.push((key.to_owned(), deleted)),
        }
    }

    fn put(&mut self, key: &str) {
        self.push(key, false);
    }

    fn delete(&mut self, key: &str, asks_store: bool) {
        if self.is_queued(key) || (asks_store && self.store.contains(key)) {
            self.push(key, true);
        }
    }

    fn replace(&mut self, keys: &[&str], asks_store: bool) {
        for key in keys {
            self.push(key, false);
        }
        let queued: Vec<String> = self.queue.iter().map(|(key, _)| key.clone()).collect();
        let mut stored: Vec<String> = self.store.iter().filter(|_| asks_store).cloned().collect();
        stored.sort_by_key(|key| self.in_flight.as_ref() != Some(key));
        let missing: Vec<String> = queued
            .into_iter()
            .chain(stored)
            .filter(|key| !keys.contains(&key.as_str()))
            .collect();
        for key in missing {
            self.push(&key, true);
        }
    }

    fn resync(&mut self) {
        for key in self.store.clone() {
            if !self.is_queued(&key) {
                self.push(&key, false);
            }
        }
    }

    /// Takes the oldest key out; the key, if it is gone then.
    fn pop(&mut self) -> Option<String> {
        if self.queue.is_empty() {
            return None;
        }
        let (key, deleted) = self.queue.remove(0);
        if !deleted {
            self.store.insert(key);
            return None;
        }
        self.store.remove(&key);
        Some(key)
    }
}
