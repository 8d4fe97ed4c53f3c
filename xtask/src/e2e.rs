//! `cargo xtask e2e`: the end-to-end suite against a control plane.
//!
//! A provider brings a control plane up and takes it down again, whatever happens
//! in between; the suite is an ordinary test program (`tests/e2e`) that is told
//! by environment variables where it is ([`suite`] lists them).

mod binaries;
mod build;
mod cache;
mod compaction;
mod control;
mod existing;
mod http;
mod interrupt;
mod kind;
mod kubeconfig;
mod member;
mod pki;
mod servers;
mod suite;
mod versions;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use self::interrupt::Interrupt;
use self::versions::Kubernetes;

/// What to run, and against what.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where the control plane comes from (default: binaries, else kind, as installed).
    #[arg(long, value_enum)]
    provider: Option<ProviderName>,
    /// The minor version of Kubernetes, for binaries and kind.
    #[arg(long, value_name = "MINOR", default_value_t = Kubernetes::NEWEST)]
    kubernetes: Kubernetes,
    /// The suite of the test program.
    #[arg(long, default_value = "basic")]
    suite: String,
    /// The seed of what a suite does at random (default: a new one; each run prints its own).
    #[arg(long)]
    seed: Option<u64>,
    /// Starts the control plane, says how to reach it, and waits for Ctrl-C instead of testing.
    #[arg(long)]
    serve: bool,
    /// Has the API server log its requests, and tells the suite where (binaries only).
    #[arg(long)]
    audit: bool,
    /// The kubeconfig of the existing cluster (provider kubeconfig; default: the usual rules).
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// The context of the existing cluster (default: the current one).
    #[arg(long)]
    context: Option<String>,
    /// The image of the kind node (default: the one of the version).
    #[arg(long, value_name = "IMAGE")]
    kind_image: Option<String>,
    /// A configuration file for kind.
    #[arg(long, value_name = "PATH")]
    kind_config: Option<PathBuf>,
    /// The name of the kind cluster (default: one of this run).
    #[arg(long, value_name = "NAME")]
    kind_name: Option<String>,
    /// Passed to the test program: the names of the tests to run.
    #[arg(last = true)]
    filters: Vec<OsString>,
}

/// Where a control plane comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// kube-apiserver and etcd as processes: from `KUBEBUILDER_ASSETS`, or built with Go.
    Binaries,
    /// A cluster of kind in Docker, deleted afterwards.
    Kind,
    /// An existing cluster, in a namespace of the run's own.
    Kubeconfig,
    /// The fake API server inside the test program.
    Fake,
}

/// A control plane that is up.
trait ControlPlane {
    /// What the test program is told about it.
    fn variables(&self) -> Vec<(&'static str, OsString)>;

    /// What a person is told about it, one fact a line.
    fn summary(&self) -> String;

    /// Takes it down; `failed` asks to keep what helps to find out why.
    fn stop(self: Box<Self>, failed: bool) -> Result<()>;
}

/// Brings the control plane up, runs the suite, and takes the control plane down.
pub(crate) fn run(options: &Options) -> Result<()> {
    let provider = match options.provider {
        Some(provider) => provider,
        None => choose()?,
    };
    if options.serve && provider == ProviderName::Fake {
        bail!("the fake server is a program: cargo run -p informers-fake-apiserver");
    }
    provider.check(options)?;
    let interrupt = Interrupt::install()?;
    // Before anything is started: a suite that does not compile needs no control plane.
    let program = (!options.serve).then(suite::build).transpose()?;
    let run_id = suite::run_id();
    println!("provider {}", provider.name());
    let control_plane = start(provider, options, &run_id, &interrupt)?;
    let result = if let Some(program) = &program {
        let run = suite::Run {
            program,
            provider,
            options,
            id: &run_id,
        };
        run.execute(control_plane.as_ref(), &interrupt)
    } else {
        println!("{}\nCtrl-C stops it.", control_plane.summary());
        interrupt.wait();
        Ok(())
    };
    let stopped = control_plane.stop(result.is_err());
    result.and(stopped.context("cannot take the control plane down"))
}

/// Whether the provider `binaries` can work here; the error says what is missing.
pub(crate) fn binaries_available() -> Result<()> {
    binaries::available()
}

impl Options {
    /// The defaults with the provider `binaries`.
    pub(crate) fn binaries() -> Self {
        Self {
            provider: Some(ProviderName::Binaries),
            kubernetes: Kubernetes::NEWEST,
            suite: "basic".to_owned(),
            seed: None,
            serve: false,
            audit: false,
            kubeconfig: None,
            context: None,
            kind_image: None,
            kind_config: None,
            kind_name: None,
            filters: Vec::new(),
        }
    }
}

impl ProviderName {
    fn name(self) -> &'static str {
        match self {
            ProviderName::Binaries => "binaries",
            ProviderName::Kind => "kind",
            ProviderName::Kubeconfig => "kubeconfig",
            ProviderName::Fake => "fake",
        }
    }

    /// Whether it can work here; the error says what is missing.
    fn check(self, options: &Options) -> Result<()> {
        match self {
            ProviderName::Binaries => binaries::available(),
            ProviderName::Kind => kind::available(),
            ProviderName::Kubeconfig => existing::Existing::from_options(options).map(drop),
            ProviderName::Fake => Ok(()),
        }
    }
}

/// Binaries, else kind, whichever works here.
fn choose() -> Result<ProviderName> {
    let Err(no_binaries) = binaries::available() else {
        return Ok(ProviderName::Binaries);
    };
    let Err(no_kind) = kind::available() else {
        return Ok(ProviderName::Kind);
    };
    bail!(
        "no control plane can be started here: for binaries, {no_binaries:#}; \
         for kind, {no_kind:#}; or name a cluster with --provider kubeconfig, \
         or use --provider fake"
    )
}

fn start(
    provider: ProviderName,
    options: &Options,
    run_id: &str,
    interrupt: &Interrupt,
) -> Result<Box<dyn ControlPlane>> {
    Ok(match provider {
        ProviderName::Binaries => Box::new(binaries::Binaries::start(options, interrupt)?),
        ProviderName::Kind => Box::new(kind::Kind::start(options, run_id, interrupt)?),
        ProviderName::Kubeconfig => Box::new(existing::Existing::from_options(options)?),
        ProviderName::Fake => Box::new(existing::Embedded),
    })
}
