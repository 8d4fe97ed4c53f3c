//! The conformance suite: informers beside client-go, run by `cargo xtask conformance`.
//!
//! The README in this folder describes traces, scripts and the differences they may show.
#![allow(
    clippy::print_stdout,
    reason = "a command talks to the person who called it"
)]

mod play;
mod queues;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

/// Compares informers with client-go.
#[derive(Debug, Parser)]
#[command(name = "conformance", version)]
struct Args {
    /// The program of `tests/conformance/clientgo`.
    #[arg(long)]
    clientgo: PathBuf,
    /// The example `queue_trace` of informers-cache-core.
    #[arg(long)]
    queue_trace: PathBuf,
    /// The example `event_log` of informers.
    #[arg(long)]
    event_log: PathBuf,
    /// The folder of traces and scripts.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance"))]
    folder: PathBuf,
    /// One part only.
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// The seed of everything random (default: a new one; each run prints its own).
    #[arg(long)]
    seed: Option<u64>,
    /// How many random traces for each queue.
    #[arg(long, default_value_t = 300)]
    traces: usize,
    /// How many random scripts.
    #[arg(long, default_value_t = 12)]
    scripts: usize,
    /// How many scripts are played at a time.
    #[arg(long, default_value_t = 12)]
    jobs: usize,
    /// Scripts with this queue only: delta-fifo or in-order.
    #[arg(long)]
    queue: Option<String>,
    /// Says of each script by which rules it differed.
    #[arg(long)]
    verbose: bool,
    /// Only traces and scripts whose names contain one of these.
    filters: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Queues,
    Scripts,
}

impl Args {
    fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }
}

/// The text files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}; again with: cargo xtask conformance --seed {seed}");
    if args.part != Some(Part::Scripts) {
        queues::run(args, seed)?;
    }
    if args.part != Some(Part::Queues) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(play::run(args, seed))?;
    }
    Ok(())
}
