//! Random scripts, written as the text that a person would write.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use fastrand::Rng;
use serde_json::json;

use super::script::{Script, parse};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const ROUNDS: usize = 6;
/// Each doubles the delay of the next.
const BREAKS: usize = 3;
/// Events that a watch may lose; none: all.
const TYPES: [&str; 4] = ["", "ADDED", "MODIFIED", "DELETED"];

/// `count` scripts.
pub(super) fn scripts(seed: u64, count: usize) -> Result<Vec<Script>> {
    let mut rng = Rng::with_seed(seed);
    let mut scripts = Vec::with_capacity(count);
    for number in 0..count {
        let text = Generator::new(rng.fork()).text(number);
        for mut script in parse(&text)? {
            script.text = Some(text.clone());
            scripts.push(script);
        }
    }
    Ok(scripts)
}

struct Generator {
    rng: Rng,
    text: String,
    labels: bool,
    watch_list: bool,
    existing: BTreeSet<&'static str>,
}

impl Generator {
    fn new(mut rng: Rng) -> Self {
        Self {
            labels: rng.u8(..3) == 0,
            watch_list: rng.bool(),
            rng,
            text: String::new(),
            existing: BTreeSet::new(),
        }
    }

    fn say(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn text(mut self, number: usize) -> String {
        _ = writeln!(self.text, "script random-{number}");
        if self.watch_list {
            self.say("initial watchlist");
        }
        if self.labels {
            self.say("label-selector app=web");
        }
        // Its events show how far a watch has come.
        self.say("create z app=web");
        self.writes(4);
        self.say("start");
        self.say("settle");
        let mut breaks = 0;
        for _ in 0..ROUNDS {
            breaks += match self.rng.u8(..8) {
                0 => self.broken_connection(),
                1 if breaks + 2 <= BREAKS => self.failing_relist(),
                2..=5 if breaks < BREAKS => self.loss(),
                _ => self.writes(8),
            };
            self.say("settle");
        }
        self.text
    }

    /// Writes, and breaks nothing.
    fn writes(&mut self, most: usize) -> usize {
        for _ in 0..self.rng.usize(1..=most) {
            let name = NAMES[self.rng.usize(..NAMES.len())];
            let label = match self.rng.u8(..4) {
                0 => " app=db",
                _ => " app=web",
            };
            if !self.existing.contains(name) {
                self.say(&format!("create {name}{label}"));
                self.existing.insert(name);
                continue;
            }
            match self.rng.u8(..6) {
                0 => {
                    self.say(&format!("delete {name}"));
                    self.existing.remove(name);
                }
                1 => self.say(&format!("recreate {name}{label}")),
                2 if self.labels => self.say(&format!("update {name}{label}")),
                _ => self.say(&format!("update {name}")),
            }
        }
        0
    }

    /// Events of some objects are lost, and found by a relist.
    fn loss(&mut self) -> usize {
        let kind = TYPES[self.rng.usize(..TYPES.len())];
        let all = self.rng.bool();
        for name in NAMES {
            if all || self.rng.bool() {
                let mut fault = json!({"fault": "dropEvents", "object": format!("default/{name}")});
                if !kind.is_empty() {
                    fault["type"] = json!(kind);
                }
                self.say(&format!("fault {fault}"));
            }
        }
        self.writes(6);
        self.say("update z");
        self.say("seen z");
        self.say("clear-faults");
        if self.rng.u8(..3) == 0 {
            // Events of objects in a state that nobody was told of.
            self.writes(3);
            self.say("update z");
            self.say("seen z");
        }
        self.relist();
        1
    }

    fn failing_relist(&mut self) -> usize {
        let code = [500, 503, 403][self.rng.usize(..3)];
        self.say(&format!(
            r#"fault {{"fault":"status","code":{code},"verb":"list","times":1}}"#
        ));
        self.relist();
        self.say("clear-faults");
        2
    }

    fn relist(&mut self) {
        let code = if self.rng.bool() { 410 } else { 500 };
        self.say(&format!(
            r#"fault {{"fault":"errorEvent","code":{code},"now":true}}"#
        ));
        self.say("relisted");
    }

    fn broken_connection(&mut self) -> usize {
        // A watch that brought nothing is another matter. (A5)
        self.say("update z");
        self.say("seen z");
        self.say("disconnect");
        self.say("rewatched");
        0
    }
}
