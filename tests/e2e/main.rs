//! The suite against a control plane, run by `cargo xtask e2e`.
//!
//! The environment says which suite, and where the control plane is (see
//! [`environment`]); arguments name scenarios, of which any may be a part. One line tells
//! of each scenario, the last of all; the exit code is 1 if one failed.
#![expect(clippy::print_stdout, reason = "its output is for people")]

mod environment;
mod report;
mod target;

mod control;
mod probe;

mod auth;
mod basic;
mod chaos;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::environment::Environment;
use crate::report::Report;
use crate::target::Target;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the suite; answers whether all of it passed.
fn run() -> Result<bool> {
    let environment = Environment::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(run_suite(environment))
}

async fn run_suite(environment: Environment) -> Result<bool> {
    println!(
        "suite {}, provider {}, seed {}, namespace {}",
        environment.suite, environment.provider, environment.seed, environment.namespace
    );
    let mut report = Report::new(std::env::args().skip(1).collect());
    let target = Arc::new(Target::connect(environment).await?);
    target.create_namespace().await?;
    match target.environment().suite.as_str() {
        "basic" => {
            basic::run(&target, &mut report).await;
            auth::run(&target, &mut report).await;
        }
        "chaos" => chaos::run(&target, &mut report).await?,
        other => bail!("there is no suite {other:?}; there are basic and chaos"),
    }
    let cleaned = target.close().await;
    let passed = report.finish(target.environment().seed);
    cleaned.context("cannot clean up")?;
    Ok(passed)
}
