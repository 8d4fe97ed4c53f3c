//! Prints what a handler is told, one JSON object a line: for debugging, and for programs
//! that judge informers. `event_log --help` lists the options.
#![expect(clippy::print_stderr, reason = "its output is its purpose")]

mod args;
mod log;
mod representation;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use informers::{Client, Config, Kubeconfig, SharedInformerFactory};

use args::Args;
use log::Log;

fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn")),
        )
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("event_log: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(run(&args));
    // A handler that is stuck in a write must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

async fn run(args: &Args) -> ExitCode {
    let log = Log::new();
    let client = match client(args) {
        Ok(client) => client,
        Err(error) => {
            log.error(None, None, &log::chain(&*error));
            eprintln!("event_log: {}", log::chain(&*error));
            return ExitCode::FAILURE;
        }
    };
    let factory = SharedInformerFactory::new(client);
    match representation::watch(args, &factory, &log).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(representation::Unsupported(message)) => {
            eprintln!("event_log: {message}");
            ExitCode::from(2)
        }
    }
}

fn client(args: &Args) -> Result<Client, Box<dyn std::error::Error + Send + Sync>> {
    let config = match (&args.server, &args.kubeconfig) {
        (Some(server), _) => Config::new(server)?,
        (None, Some(path)) => Kubeconfig::read(path)?.config(&args.overrides())?,
        (None, None) => Config::infer_with(&args.overrides())?,
    };
    let config = match args.timeouts() {
        Some(timeouts) => config.with_timeouts(timeouts),
        None => config,
    };
    Ok(Client::new(config)?)
}
