//! A tour of shared informers in a quarter of a minute, without a cluster:
//! `cargo run --example quickstart`.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

mod args;
mod churn;
mod handlers;
mod screen;
mod tour;

use clap::Parser;

use args::Args;
use screen::Screen;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                // The tour cuts the connection itself, and says so.
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error")),
        )
        .init();
    let screen = Screen::new();
    if args.is_embedded() {
        tour::embedded(&args, &screen).await
    } else {
        tour::cluster(&args, &screen).await
    }
}
