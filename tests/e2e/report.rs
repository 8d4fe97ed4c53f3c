//! [`Report`]: runs scenarios and tells how they went.

use std::future::Future;
use std::time::Duration;

use anyhow::{Error, Result};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// How a scenario ended that did not fail.
pub(crate) enum Outcome {
    /// All of it was as promised.
    Passed,
    /// It cannot run here, for that reason.
    Skipped(String),
}

/// What has run so far.
pub(crate) struct Report {
    filters: Vec<String>,
    passed: usize,
    skipped: usize,
    failed: Vec<String>,
}

impl Report {
    /// Runs only scenarios that contain one of the filters; all if there is none.
    pub(crate) fn new(filters: Vec<String>) -> Self {
        Self {
            filters,
            passed: 0,
            skipped: 0,
            failed: Vec::new(),
        }
    }

    /// Whether a scenario of that name is to run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// Runs a scenario; it fails by an error, a panic, or after `limit`.
    pub(crate) async fn run(
        &mut self,
        name: &str,
        limit: Duration,
        scenario: impl Future<Output = Result<Outcome>> + Send + 'static,
    ) {
        if !self.wants(name) {
            return;
        }
        let began = Instant::now();
        // In a task of its own, so that a panic is a failure of this one alone.
        let mut task = JoinSet::new();
        task.spawn(scenario);
        let ended = match timeout(limit, task.join_next()).await {
            Ok(Some(Ok(ended))) => ended,
            Ok(Some(Err(error))) => Err(Error::new(error)),
            Ok(None) => Err(Error::msg("the scenario was lost")),
            Err(_) => Err(Error::msg(format!("not done after {limit:?}"))),
        };
        task.shutdown().await;
        let took = began.elapsed().as_secs_f64();
        match ended {
            Ok(Outcome::Passed) => {
                self.passed += 1;
                println!("test {name} ... ok ({took:.1} s)");
            }
            Ok(Outcome::Skipped(reason)) => {
                self.skipped += 1;
                println!("test {name} ... skipped: {reason}");
            }
            Err(error) => {
                println!("test {name} ... FAILED ({took:.1} s)\n    {error:#}");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// Tells the sum; answers whether nothing failed and something ran.
    pub(crate) fn finish(&self, seed: u64) -> bool {
        for name in &self.failed {
            println!("failed: {name}");
        }
        println!(
            "{} passed, {} failed, {} skipped (seed {seed})",
            self.passed,
            self.failed.len(),
            self.skipped
        );
        self.failed.is_empty() && self.passed + self.skipped > 0
    }
}
