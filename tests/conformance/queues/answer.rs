//! [`Answer`]: one line that a queue program printed.

use std::fmt;

use serde::Deserialize;

/// What one line of a trace led to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Answer {
    pub(super) trace: String,
    /// Of the trace, counted from one.
    pub(super) line: usize,
    pub(super) op: String,
    pub(super) synced: bool,
    /// The kind of work, where some was handed out; `nothing` where there was none.
    #[serde(default)]
    pub(super) work: Option<String>,
    #[serde(default)]
    initial: bool,
    #[serde(default)]
    deltas: Vec<Handed>,
    #[serde(default)]
    rv: Option<String>,
}

/// One delta, or one object of a relist.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Handed {
    #[serde(rename = "type")]
    kind: String,
    key: String,
    #[serde(default)]
    rv: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    tombstone: bool,
}

impl Answer {
    /// What was handed out, in words: `!` marks the initial population and, behind
    /// `Deleted`, a tombstone.
    pub(super) fn work(&self) -> String {
        let Some(work) = &self.work else {
            return String::new();
        };
        let mut words = Vec::new();
        if self.initial {
            words.push("!".to_owned());
        }
        if work != "deltas" {
            words.push(work.clone());
        }
        words.extend(self.rv.clone());
        words.extend(self.deltas.iter().map(Handed::to_string));
        words.join(" ")
    }

    /// What is announced where it differs: the work, or whether the queue has synced.
    pub(super) fn says(&self) -> String {
        match self.work {
            Some(_) => self.work(),
            None => self.state().to_owned(),
        }
    }

    fn state(&self) -> &'static str {
        if self.synced { "synced" } else { "not synced" }
    }

    /// With consecutive relists of one object as one, the newest.
    pub(super) fn with_relists_merged(&self) -> Self {
        let mut merged = self.clone();
        merged.deltas.dedup_by(|next, kept| {
            let both = next.kind == "Replaced" && kept.kind == "Replaced";
            let merges = both && next.key == kept.key && next.uid == kept.uid;
            if merges {
                *kept = next.clone();
            }
            merges
        });
        merged
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let synced = self.state();
        write!(
            f,
            "line {} {}: {} ({synced})",
            self.line,
            self.op,
            self.work()
        )
    }
}

impl fmt::Display for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tombstone = if self.tombstone { "!" } else { "" };
        write!(f, "{}{tombstone} {}", self.kind, self.key)?;
        if !self.rv.is_empty() {
            write!(f, "@{}", self.rv)?;
        }
        match self.uid.as_str() {
            "" | "u" => Ok(()),
            uid => write!(f, "#{uid}"),
        }
    }
}
