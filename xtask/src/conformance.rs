//! `cargo xtask conformance`: informers beside client-go, at one server and by one script.
//!
//! Builds client-go's side with Go and ours with cargo, and runs the suite
//! (`tests/conformance`), which says what differs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;

use crate::{shell, workspace};

/// What the suite is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The seed of everything random (default: a new one; each run prints its own).
    #[arg(long)]
    seed: Option<u64>,
    /// Passed to the suite: its options, and names of traces and scripts; `-- --help` lists them.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

impl Options {
    /// What a change has to pass: the same random traces and scripts at each run, so that
    /// a failure is the change's. Other seeds are for whoever looks for more.
    pub(crate) fn of_ci() -> Self {
        Self {
            seed: Some(CI_SEED),
            arguments: Vec::new(),
        }
    }
}

/// The seed of the gate; any number does.
const CI_SEED: u64 = 1;

/// Where client-go's side lies.
const MODULE: &str = "tests/conformance/clientgo";

/// The programs of our side, as cargo calls them.
const PROGRAMS: [&str; 3] = ["conformance", "queue_trace", "event_log"];

/// Whether the suite can run here; the error says what is missing.
pub(crate) fn available() -> Result<()> {
    if shell::which("go").is_none() {
        bail!("Go is not installed");
    }
    Ok(())
}

/// Builds both sides and compares them.
pub(crate) fn run(options: &Options) -> Result<()> {
    available()?;
    let root = workspace::root()?;
    let clientgo = build_theirs(&root)?;
    let [suite, queue_trace, event_log] = build_ours(&root)?;
    let mut command = Command::new(suite);
    command.arg("--clientgo").arg(clientgo);
    command.arg("--queue-trace").arg(queue_trace);
    command.arg("--event-log").arg(event_log);
    command.arg("--folder").arg(root.join("tests/conformance"));
    if let Some(seed) = options.seed {
        command.arg("--seed").arg(seed.to_string());
    }
    shell::run(command.args(&options.arguments))
}

fn build_theirs(root: &Path) -> Result<PathBuf> {
    println!("building client-go's side");
    let program = root.join("target/conformance/clientgo");
    shell::run(
        Command::new("go")
            .current_dir(root.join(MODULE))
            .env("GOWORK", "off")
            .env("GOFLAGS", "-buildvcs=false")
            .args(["build", "-o"])
            .arg(&program)
            .arg("."),
    )?;
    Ok(program)
}

fn build_ours(root: &Path) -> Result<[PathBuf; 3]> {
    println!("building our side");
    let messages = shell::read(shell::cargo().current_dir(root).args([
        "build",
        "--package=informers",
        "--package=informers-cache-core",
        "--package=informers-tests",
        "--bin=conformance",
        "--example=queue_trace",
        "--example=event_log",
        "--message-format=json-render-diagnostics",
    ]))?;
    let find = |name| {
        executable(&messages, name).with_context(|| format!("cargo built no program {name}"))
    };
    let [suite, queue_trace, event_log] = PROGRAMS;
    Ok([find(suite)?, find(queue_trace)?, find(event_log)?])
}

/// The path of a program in what cargo printed.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        executable: Option<PathBuf>,
    }

    #[derive(Deserialize)]
    struct Target {
        name: String,
    }

    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.target.name == name)
        .find_map(|message| message.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_is_found_by_its_name() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"informers","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"event_log","kind":["example"]},"executable":"examples/event_log"}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(
            executable(messages, "event_log"),
            Some("examples/event_log".into())
        );
        assert_eq!(executable(messages, "informers"), None);
    }
}
