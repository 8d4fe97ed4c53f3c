//! `cargo xtask bench`: ours beside client-go and kube-rs, against one load server in one
//! run.
//!
//! Absolute times move from run to run, so everything is told as a ratio to client-go's
//! best configuration of the same run.

mod build;
mod clients;
mod load_server;
mod machine;
mod plot;
mod report;
mod result;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::{shell, workspace};
use clients::Client;
use load_server::LoadServer;
use result::Measured;

/// What to measure.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Pods the load server holds.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pods: u32,
    /// MODIFIED events to time.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    events: u32,
    /// Each client runs so many times; the medians are told.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// 5,000 pods, 10,000 events, one round: whether everything works.
    #[arg(long)]
    quick: bool,
    /// Only clients whose name holds one of these texts.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Builds nothing: `server`, `clientgo`, `kubers` and `bench_client` are in this folder.
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// Prints the tables, and leaves docs/performance.md as it is.
    #[arg(long)]
    print: bool,
}

/// More than any client takes.
const CLIENT_LIMIT: Duration = Duration::from_secs(300);

/// Builds, measures and writes down.
pub(crate) fn run(options: &Options) -> Result<()> {
    let options = options.clone().resolved();
    let root = workspace::root()?;
    let programs = if let Some(folder) = &options.programs {
        build::in_folder(folder)
    } else if shell::which("go").is_some() {
        build::programs(&root)?
    } else {
        println!("skipped: the load server and client-go need Go, which is not on the PATH");
        return Ok(());
    };
    let server = LoadServer::start(&programs.server, options.pods)?;
    println!("{}", server.ready());
    let clients: Vec<Client> = clients::all(&programs)
        .into_iter()
        .filter(|client| options.wants(client))
        .collect();
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); clients.len()];
    for round in 1..=options.rounds {
        for (client, runs) in clients.iter().zip(&mut runs) {
            match client.measure(server.url(), options.events, CLIENT_LIMIT) {
                Ok(measured) => {
                    println!("round {round}: {}: {}", client.name, measured.line);
                    runs.push(measured);
                }
                Err(error) => println!("round {round}: {} failed: {error:#}", client.name),
            }
        }
    }
    let results: Vec<(Client, Measured)> = clients
        .into_iter()
        .zip(runs)
        .filter_map(|(client, runs)| Some((client, Measured::median(&runs)?)))
        .collect();
    let conditions = report::Conditions {
        machine: machine::describe(&root)?,
        command: options.command(),
        data: server.ready().to_owned(),
        rounds: options.rounds,
    };
    let block = report::block(&conditions, &results);
    if options.print {
        println!("{block}");
        return Ok(());
    }
    let page = root.join("docs/performance.md");
    let text = fs::read_to_string(&page).unwrap_or_else(|_| report::EMPTY_PAGE.to_owned());
    write(&page, &report::with_block(&text, &block)?)?;
    let folder = root.join("docs/performance");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, svg) in plot::all(&results) {
        write(&folder.join(name), &svg)?;
    }
    let lines: String = results
        .iter()
        .map(|(client, measured)| measured.to_line(&client.name) + "\n")
        .collect();
    write(&folder.join("results.jsonl"), &lines)
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

impl Options {
    fn resolved(mut self) -> Self {
        if self.quick {
            (self.pods, self.events, self.rounds) = (5_000, 10_000, 1);
        }
        self
    }

    fn wants(&self, client: &Client) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| client.name.contains(text))
    }

    fn command(&self) -> String {
        format!(
            "cargo xtask bench --pods {} --events {} --rounds {}",
            self.pods, self.events, self.rounds
        )
    }
}
