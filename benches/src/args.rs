//! The command line.

use clap::{Parser, ValueEnum};

/// The informers side of the benchmark: one shared pod informer with one handler and the
/// namespace index. Prints one JSON line.
#[derive(Debug, Parser)]
#[command(name = "bench_client")]
pub(crate) struct Args {
    /// The load server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:18080")]
    pub(crate) server: String,
    /// How an object is held.
    #[arg(long, value_enum, default_value_t = Representation::Packed)]
    pub(crate) representation: Representation,
    /// How the first objects come.
    #[arg(long, value_enum, default_value_t = Initial::List)]
    pub(crate) initial: Initial,
    /// MODIFIED events to time.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) events: u64,
    /// What the handler looks at.
    #[arg(long, value_enum, default_value_t = Touch::Metadata)]
    pub(crate) touch: Touch,
    /// Leaves out `metadata.managedFields` before anything is decoded.
    #[arg(long)]
    pub(crate) strip_managed_fields: bool,
    /// The tokio runtime.
    #[arg(long, value_enum, default_value_t = Runtime::Multi)]
    pub(crate) runtime: Runtime,
}

/// How an object is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Representation {
    /// The decoded k8s-openapi struct.
    Eager,
    /// Its JSON, compressed.
    Packed,
    /// A struct of eight fields.
    Projection,
}

/// How the first objects come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Initial {
    /// By a list.
    List,
    /// As the initial events of a watch.
    Watchlist,
}

/// What the handler looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Touch {
    /// The name alone.
    Metadata,
    /// All of it: each object that is new to the handler is decoded once, as client-go
    /// does with each that arrives.
    Decode,
}

/// The tokio runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Runtime {
    /// One thread, and one for the handler.
    Current,
    /// A thread for each core.
    Multi,
}

/// The word of the command line for a choice.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
