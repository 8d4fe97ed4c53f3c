//! The program `event_log`, driven through the table as its user would: what it prints is
//! all that is known of it.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use super::*;
use crate::support::truth;

/// How long one program may take in all, in seconds.
const AT_MOST: &str = "300";
/// Its delays are a real one's (0.8 s, 1.6 s, …), and each of several silences is waited
/// for.
const LONG_PATIENCE: Duration = Duration::from_secs(90);
/// Programs under way at once.
const PROGRAMS: usize = 12;

/// A run of the program.
struct EventLog {
    program: PathBuf,
    args: Vec<String>,
    running: Option<(Child, JoinSet<Result<Value>>)>,
    seen: Arc<Seen>,
}

/// What it has printed so far.
#[derive(Default)]
struct Seen {
    history: History,
    synced: AtomicBool,
}

impl Seen {
    /// Takes down one line; answers it if it is the last.
    fn line(&self, line: &str) -> Result<Option<Value>> {
        let told: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
        match told["op"].as_str() {
            Some("add") => {
                let initial = told["initial"] == true;
                self.history.added(text("key"), text("rv"), initial);
            }
            Some("update") => self
                .history
                .updated(text("key"), text("old_rv"), text("rv")),
            Some("delete") => {
                let unknown = told["final_state_unknown"] == true;
                self.history.deleted(text("key"), Some(text("rv")), unknown);
            }
            Some("synced") => self.synced.store(true, Ordering::Release),
            Some("error") => {}
            Some("store") => return Ok(Some(told)),
            _ => return Err(anyhow!("a line of another kind: {line}")),
        }
        Ok(None)
    }
}

impl EventLog {
    fn new(program: PathBuf, server: &FakeApiServer, mode: Mode, representation: &str) -> Self {
        let initial = match mode.initial {
            Initial::List => "list",
            Initial::WatchList => "watchlist",
            Initial::Auto => "auto",
        };
        let queue = match mode.queue {
            QueueKind::DeltaFifo => "delta-fifo",
            QueueKind::InOrder => "in-order",
        };
        let mut args = vec!["--server".to_owned(), server.url()];
        let more = [
            ["--resource", "configmaps"],
            ["--initial", initial],
            ["--queue", queue],
            ["--representation", representation],
            ["--page-size", "10"],
            // What only its deadline shows to be dead is dead after a few seconds.
            ["--watch-timeout", "2"],
            ["--patience", "1"],
            ["--for", AT_MOST],
        ];
        args.extend(more.iter().flatten().map(|&arg| arg.to_owned()));
        Self {
            program,
            args,
            running: None,
            seen: Arc::default(),
        }
    }
}

impl Subject for EventLog {
    async fn start(&mut self) -> Result<()> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {}", self.program.display()))?;
        let lines = child.stdout.take().context("its output is a pipe")?;
        let seen = Arc::clone(&self.seen);
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            let mut lines = BufReader::new(lines).lines();
            let mut last = None;
            while let Some(line) = lines.next_line().await? {
                ensure!(last.is_none(), "a line after the last: {line}");
                last = seen.line(&line)?;
            }
            last.context("it ended without its last line")
        });
        self.running = Some((child, reading));
        Ok(())
    }

    async fn synced(&self) -> Result<()> {
        let synced = || self.seen.synced.load(Ordering::Acquire);
        until("it says that it has synced", LONG_PATIENCE, synced).await
    }

    async fn converge(&self, server: &FakeApiServer) -> Result<()> {
        let same = || self.seen.history.state() == truth(server, "configmaps");
        let waited = until("its lines add up to a LIST", LONG_PATIENCE, same).await;
        self.seen.history.check(&truth(server, "configmaps"))?;
        waited
    }

    async fn stop(self, server: &FakeApiServer) -> Result<()> {
        self.synced().await?;
        let (mut child, mut reading) = self.running.context("it was started")?;
        let pid = child.id().context("it still runs")?.to_string();
        let interrupted = Command::new("kill").args(["-INT", &pid]).status().await?;
        ensure!(interrupted.success(), "kill: {interrupted}");
        let status = child.wait().await?;
        ensure!(status.success(), "it ended with {status}");
        let store = reading.join_next().await.context("it is read")???;
        let objects: BTreeMap<String, String> = serde_json::from_value(store["objects"].clone())?;
        let truth = truth(server, "configmaps");
        ensure!(objects == truth, "its store is {objects:?}, not {truth:?}");
        Ok(())
    }
}

/// The program as the build of the workspace's tests left it beside this test; built if
/// only this test was.
async fn program() -> Result<PathBuf> {
    let test = env::current_exe()?;
    let profile = test
        .parent()
        .and_then(std::path::Path::parent)
        .context("a test lies in target/PROFILE/deps")?;
    let program = profile
        .join("examples/event_log")
        .with_extension(env::consts::EXE_EXTENSION);
    if !program.exists() {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--package=informers", "--example=event_log"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status()
            .await?;
        ensure!(built.success(), "the build of event_log: {built}");
    }
    Ok(program)
}

async fn drive(initial: Initial) {
    static PROGRAM: OnceCell<PathBuf> = OnceCell::const_new();
    let program = PROGRAM.get_or_try_init(program).await.unwrap();
    let cases = CASES
        .iter()
        .filter(|case| case.initial.is_none_or(|only| only == initial));
    let failures: Vec<String> = stream::iter(cases.enumerate())
        .map(|(n, case)| async move {
            // Neighbours in the table differ in both.
            let queue = [QueueKind::DeltaFifo, QueueKind::InOrder][n % 2];
            let representation = ["eager", "packed", "metadata", "dynamic"][n / 2 % 4];
            let mode = Mode { initial, queue };
            let outcome = async {
                let server = server(false).await?;
                let subject = EventLog::new(program.clone(), &server, mode, representation);
                play(case, &server, subject).await?;
                server.shutdown().await;
                anyhow::Ok(())
            };
            let outcome = outcome.await;
            outcome
                .err()
                .map(|error| format!("{} {mode:?} {representation}: {error:#}", case.name))
        })
        .buffer_unordered(PROGRAMS)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(
        failures.is_empty(),
        "{} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn event_log_survives_every_fault_by_list() {
    drive(Initial::List).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn event_log_survives_every_fault_by_watch_list() {
    drive(Initial::WatchList).await;
}
