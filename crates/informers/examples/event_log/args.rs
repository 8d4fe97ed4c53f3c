//! The command line.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use informers::{Initial, Overrides, QueueKind, ReflectorOptions, Scope, Timeouts};

/// Prints what a handler is told, one JSON object a line.
#[derive(Debug, Parser)]
#[command(name = "event_log", version)]
pub(crate) struct Args {
    /// Address of an API server, without credentials.
    #[arg(long, conflicts_with = "kubeconfig")]
    pub(crate) server: Option<String>,
    /// A kubeconfig file. With neither: KUBECONFIG, ~/.kube/config, in-cluster.
    #[arg(long)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, conflicts_with = "server")]
    pub(crate) context: Option<String>,
    /// A plural of core/v1, or group/version/plural.
    #[arg(long, default_value = "pods")]
    pub(crate) resource: String,
    /// One namespace only.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// Objects with these labels only.
    #[arg(long)]
    pub(crate) label_selector: Option<String>,
    /// Objects with these fields only.
    #[arg(long)]
    pub(crate) field_selector: Option<String>,
    /// How the first list is asked for.
    #[arg(long, value_enum, default_value_t = InitialArg::Auto)]
    pub(crate) initial: InitialArg,
    /// The queue between the watch and the store.
    #[arg(long, value_enum, default_value_t = QueueArg::DeltaFifo)]
    pub(crate) queue: QueueArg,
    /// How objects are held.
    #[arg(long, value_enum, default_value_t = Representation::Eager)]
    pub(crate) representation: Representation,
    /// Seconds between resyncs; 0: never.
    #[arg(long, default_value_t = 0.0)]
    pub(crate) resync: f64,
    /// Objects in a page of a list.
    #[arg(long)]
    pub(crate) page_size: Option<NonZeroU32>,
    /// Seconds until the server is asked to end a watch. By default, minutes.
    #[arg(long)]
    pub(crate) watch_timeout: Option<f64>,
    /// Seconds until a silent server counts as gone: no headers, no next byte of a list,
    /// no initial events, no answer to a PING, no end of a watch that is over.
    #[arg(long)]
    pub(crate) patience: Option<f64>,
    /// Seconds to run.
    #[arg(long = "for", default_value_t = 10.0)]
    pub(crate) seconds: f64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum InitialArg {
    Auto,
    List,
    Watchlist,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum QueueArg {
    DeltaFifo,
    InOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Representation {
    /// The decoded struct of k8s-openapi.
    Eager,
    /// Metadata, and compressed bytes that are decoded on demand.
    Packed,
    /// A JSON value; for resources without a compiled type.
    Dynamic,
    /// Metadata only.
    Metadata,
}

impl Args {
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            context: self.context.clone(),
            ..Overrides::default()
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::all()
            .in_namespace(self.namespace.clone().unwrap_or_default())
            .with_label_selector(self.label_selector.clone().unwrap_or_default())
            .with_field_selector(self.field_selector.clone().unwrap_or_default())
    }

    pub(crate) fn initial(&self) -> Initial {
        match self.initial {
            InitialArg::Auto => Initial::Auto,
            InitialArg::List => Initial::List,
            InitialArg::Watchlist => Initial::WatchList,
        }
    }

    pub(crate) fn queue(&self) -> QueueKind {
        match self.queue {
            QueueArg::DeltaFifo => QueueKind::DeltaFifo,
            QueueArg::InOrder => QueueKind::InOrder,
        }
    }

    /// The resync period; zero: never.
    pub(crate) fn resync(&self) -> Duration {
        seconds(self.resync)
    }

    /// How patient the reflector is.
    pub(crate) fn reflector(&self) -> ReflectorOptions {
        let mut options = ReflectorOptions {
            initial: self.initial(),
            page_size: self.page_size,
            ..ReflectorOptions::default()
        };
        if let Some(timeout) = self.watch_timeout {
            options.watch_timeout = seconds(timeout);
        }
        if let Some(patience) = self.patience.map(seconds) {
            options.watch_margin = patience;
            options.initial_events_timeout = patience;
            // All pages of a list, each with its own silence.
            options.request_timeout = patience.saturating_mul(4);
        }
        options
    }

    /// How patient the client is, if not as usual.
    pub(crate) fn timeouts(&self) -> Option<Timeouts> {
        let patience = self.patience.map(seconds)?;
        let mut timeouts = Timeouts::default();
        timeouts.connect = patience;
        timeouts.response = patience;
        timeouts.response_max = patience;
        timeouts.body_idle = patience;
        timeouts.ping_interval = patience / 2;
        timeouts.ping_timeout = patience / 2;
        timeouts.watch_margin = patience;
        Some(timeouts)
    }

    pub(crate) fn run_for(&self) -> Duration {
        seconds(self.seconds)
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4)
}
