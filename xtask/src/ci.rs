//! `cargo xtask ci`: the gates of a change, in order, each with the time it took.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::workspace;
use crate::{conformance, e2e, shell, tidy};

/// Which gates to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these gates, in the usual order (default: all).
    #[arg(value_enum)]
    gates: Vec<Gate>,
}

/// A gate, in the order in which they run: what fails fastest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Gate {
    /// Formatting.
    Fmt,
    /// Lints of all targets; a warning fails.
    Clippy,
    /// Unit, integration and documentation tests.
    Test,
    /// Documentation builds without a warning.
    Doc,
    /// The house rules.
    Tidy,
    /// Model checks of the concurrent parts.
    Loom,
    /// Comparison with client-go, where Go is installed.
    Conformance,
    /// The end-to-end suite against a real control plane, where Go or `KUBEBUILDER_ASSETS` is there.
    E2e,
}

/// What became of a gate.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    /// Not run, and why.
    Skipped(String),
}

/// Runs the gates and stops at the first that fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let started = Instant::now();
    let mut outcomes: Vec<(Gate, Outcome)> = Vec::new();
    let mut result = Ok(());
    for &gate in Gate::value_variants() {
        if !options.gates.is_empty() && !options.gates.contains(&gate) {
            continue;
        }
        println!("\n==> {}: {}", gate.name(), gate.purpose());
        let gate_started = Instant::now();
        match gate.run() {
            Ok(outcome) => outcomes.push((gate, outcome)),
            Err(error) => {
                outcomes.push((gate, Outcome::Failed(gate_started.elapsed())));
                result = Err(error).with_context(|| format!("gate {} failed", gate.name()));
                break;
            }
        }
    }
    println!("\n==> summary");
    for (gate, outcome) in &outcomes {
        match outcome {
            Outcome::Passed(time) => println!("{:>11}  passed in {}", gate.name(), seconds(*time)),
            Outcome::Failed(time) => {
                println!("{:>11}  failed after {}", gate.name(), seconds(*time));
            }
            Outcome::Skipped(reason) => println!("{:>11}  skipped: {reason}", gate.name()),
        }
    }
    println!("{:>11}  {}", "total", seconds(started.elapsed()));
    result
}

impl Gate {
    fn name(self) -> &'static str {
        match self {
            Gate::Fmt => "fmt",
            Gate::Clippy => "clippy",
            Gate::Test => "test",
            Gate::Doc => "doc",
            Gate::Tidy => "tidy",
            Gate::Loom => "loom",
            Gate::Conformance => "conformance",
            Gate::E2e => "e2e",
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Gate::Fmt => "formatting",
            Gate::Clippy => "lints of all targets",
            Gate::Test => "unit, integration and documentation tests",
            Gate::Doc => "documentation without a warning",
            Gate::Tidy => "house rules",
            Gate::Loom => "model checks of the concurrent parts",
            Gate::Conformance => "comparison with client-go",
            Gate::E2e => "the suite against a real control plane",
        }
    }

    fn run(self) -> Result<Outcome> {
        let started = Instant::now();
        match self {
            Gate::Fmt => cargo("fmt --all --check", None)?,
            Gate::Clippy => cargo("clippy --workspace --all-targets -- -D warnings", None)?,
            Gate::Test => cargo("test --workspace", None)?,
            Gate::Doc => cargo(
                "doc --workspace --no-deps",
                Some(("RUSTDOCFLAGS", "-D warnings")),
            )?,
            Gate::Tidy => tidy::run()?,
            Gate::Loom => loom()?,
            Gate::Conformance => {
                if let Err(reason) = conformance::available() {
                    println!("skipped: {reason:#}");
                    return Ok(Outcome::Skipped(format!("{reason:#}")));
                }
                conformance::run(&conformance::Options::of_ci())?;
            }
            Gate::E2e => {
                if let Err(reason) = e2e::binaries_available() {
                    println!("skipped: {reason:#}");
                    return Ok(Outcome::Skipped(format!("{reason:#}")));
                }
                e2e::run(&e2e::Options::binaries())?;
            }
        }
        println!("{} passed in {}", self.name(), seconds(started.elapsed()));
        Ok(Outcome::Passed(started.elapsed()))
    }
}

/// Runs cargo in the root with `arguments` and perhaps flags for its compilers.
fn cargo(arguments: &str, flags: Option<(&str, &str)>) -> Result<()> {
    shell::run(
        shell::cargo()
            .current_dir(workspace::root()?)
            .args(arguments.split_whitespace())
            .envs(flags),
    )
}

/// Runs the model checks, and fails where there are none: a filter that matches nothing passes.
fn loom() -> Result<()> {
    // A target folder of its own: the flag changes every crate below.
    let arguments = "test -p informers-cache-core -p informers-processor --lib \
                     --target-dir target/loom loom";
    let flags = Some(("RUSTFLAGS", "--cfg informers_loom"));
    cargo(arguments, flags)?;
    let listing = shell::read(
        shell::cargo()
            .current_dir(workspace::root()?)
            .args(arguments.split_whitespace())
            .args(["--quiet", "--", "--list", "--format", "terse"])
            .envs(flags),
    )?;
    if !listing.lines().any(|line| line.ends_with(": test")) {
        bail!("`cargo {arguments}` finds no test");
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
