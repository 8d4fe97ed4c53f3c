//! [`Client`]: an informer program, and what it printed so far.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Longer than a stop takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// One line that an informer program printed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Line {
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
        rv: String,
        final_state_unknown: bool,
    },
    Synced,
    Error {
        code: Option<u16>,
        message: String,
    },
    Store {
        rv: String,
        objects: BTreeMap<String, String>,
    },
}

impl Line {
    /// The word that scripts use.
    pub(super) fn op(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Synced => "synced",
            Self::Error { .. } => "error",
            Self::Store { .. } => "store",
        }
    }
}

/// What was printed, and what a handler that heard it believes there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    pub(super) lines: Vec<Line>,
    pub(super) view: BTreeMap<String, String>,
    pub(super) synced: bool,
    ended: bool,
}

impl Printed {
    fn push(&mut self, line: Line) {
        match &line {
            Line::Add { key, rv, .. } | Line::Update { key, rv, .. } => {
                self.view.insert(key.clone(), rv.clone());
            }
            Line::Delete { key, .. } => {
                self.view.remove(key);
            }
            Line::Synced => self.synced = true,
            Line::Error { .. } | Line::Store { .. } => {}
        }
        self.lines.push(line);
    }

    /// How many lines of this kind there are.
    pub(super) fn count(&self, op: &str) -> usize {
        self.lines.iter().filter(|line| line.op() == op).count()
    }
}

/// A running informer program.
pub(super) struct Client {
    name: &'static str,
    child: Child,
    printed: Arc<Mutex<Printed>>,
    changed: watch::Receiver<()>,
    readers: JoinSet<Result<()>>,
    stderr: Arc<Mutex<String>>,
}

impl Client {
    pub(super) fn start(name: &'static str, program: &Path, arguments: &[String]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let stdout = child.stdout.take().context("a child without output")?;
        let mut errors = child.stderr.take().context("a child without stderr")?;
        let printed: Arc<Mutex<Printed>> = Arc::default();
        let stderr: Arc<Mutex<String>> = Arc::default();
        let (sender, changed) = watch::channel(());
        let mut readers = JoinSet::new();
        let (into, said) = (Arc::clone(&printed), Arc::clone(&stderr));
        readers.spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Some(text) = lines.next_line().await? {
                let line = serde_json::from_str(&text)
                    .with_context(|| format!("{name} printed {text:?}"))?;
                lock(&into).push(line);
                sender.send_replace(());
            }
            lock(&into).ended = true;
            sender.send_replace(());
            Ok(())
        });
        readers.spawn(async move {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).await?;
            *lock(&said) = String::from_utf8_lossy(&bytes).into_owned();
            Ok(())
        });
        Ok(Self {
            name,
            child,
            printed,
            changed,
            readers,
            stderr,
        })
    }

    /// What it printed so far.
    pub(super) fn printed(&self) -> MutexGuard<'_, Printed> {
        lock(&self.printed)
    }

    /// Waits until what was printed satisfies `wanted`.
    pub(super) async fn wait_for(
        &mut self,
        what: &str,
        wanted: impl Fn(&Printed) -> bool,
        patience: Duration,
    ) -> Result<()> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            self.changed.mark_unchanged();
            {
                let printed = self.printed();
                if wanted(&printed) {
                    return Ok(());
                }
                if printed.ended {
                    bail!("{} ended before {what}", self.name);
                }
            }
            let changed = tokio::time::timeout_at(deadline, self.changed.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                let printed = self.printed();
                bail!(
                    "{} has not come to {what} after {patience:?}; its last lines: {:#?}",
                    self.name,
                    &printed.lines[printed.lines.len().saturating_sub(8)..]
                );
            }
        }
    }

    /// Interrupts it, and returns all that it printed.
    pub(super) async fn stop(mut self) -> Result<Printed> {
        let pid = self.child.id().context("it ended by itself")?;
        let before = self.printed().lines.len();
        let signalled = Command::new("kill")
            .args(["-INT", &pid.to_string()])
            .status()
            .await
            .context("cannot run kill")?;
        if !signalled.success() {
            bail!("cannot interrupt {}", self.name);
        }
        let ended = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .with_context(|| format!("{} does not stop", self.name))??;
        while let Some(reader) = self.readers.join_next().await {
            reader.context("a reader failed")??;
        }
        if !ended.success() {
            bail!("{} failed with {ended}: {}", self.name, lock(&self.stderr));
        }
        let mut printed = self.printed().clone();
        // Requests that the stop ends are no failures to compare.
        let mut index = 0;
        printed.lines.retain(|line| {
            index += 1;
            index <= before || line.op() != "error"
        });
        Ok(printed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
