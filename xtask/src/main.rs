//! `cargo xtask`: one command for each thing a developer or the CI does.
//!
//! `cargo xtask ci` is what a change has to pass; `.ci/run` and the GitHub
//! workflow call the same gates.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to the person who called it"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "processes and servers live in real time; nothing here runs under a paused clock"
)]

mod bench;
mod ci;
mod conformance;
mod e2e;
mod shell;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// The commands of the informers workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs every gate a change has to pass, in order, and stops at the first that fails.
    Ci(ci::Options),
    /// Checks the house rules: layers, module docs, and that manifests and documents agree.
    Tidy,
    /// Runs the end-to-end suite against a control plane.
    E2e(e2e::Options),
    /// Compares informers with client-go, at one server and by one script.
    Conformance(conformance::Options),
    /// Measures beside client-go and kube-rs, and writes docs/performance.md.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Ci(options) => ci::run(&options),
        Command::Tidy => tidy::run(),
        Command::E2e(options) => e2e::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::Bench(options) => bench::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The names of the subcommands, for the rule that documents name no others.
fn task_names() -> Vec<String> {
    Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, task_names};

    #[test]
    fn command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn task_names_are_what_a_person_types() {
        assert_eq!(task_names(), ["ci", "tidy", "e2e", "conformance", "bench"]);
    }
}
