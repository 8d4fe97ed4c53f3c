//! `fake-apiserver`: the embedded API server as a program.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use informers_fake_apiserver::{Cluster, FakeApiServer};
use serde_json::json;
use tokio::time::MissedTickBehavior;

/// A Kubernetes API server in one process, for tests, demos and debugging.
///
/// Prints `listening on URL` as its first line and serves until Ctrl-C or SIGTERM. kubectl
/// (`kubectl --server URL …`) and every Kubernetes client work against it. All objects are
/// in memory. Faults: POST one JSON fault to URL/_fake/faults, for example
/// `{"fault":"status","code":429,"retryAfter":1,"verb":"watch","times":2}`; GET lists them,
/// DELETE clears them. GET URL/_fake/requests is the request log.
#[derive(Debug, Parser)]
#[command(name = "fake-apiserver", version)]
struct Arguments {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Objects to create at the start, such as pods=1000, nodes=20, configmaps=5 or
    /// deployments.apps=3. May be given again.
    #[arg(long, value_name = "RESOURCE=COUNT", value_parser = parse_seed)]
    seed: Vec<(String, usize)>,

    /// Change the seeded pods so many times a second (creations and deletions among them).
    #[arg(long, value_name = "EVENTS_PER_SECOND", default_value_t = 0)]
    churn: u32,

    /// Serve TLS with a certificate made for this run; prints the path of a kubeconfig.
    #[arg(long)]
    tls: bool,

    /// Events kept for each resource; older revisions get 410.
    #[arg(long, value_name = "EVENTS", default_value_t = 10_000)]
    history: usize,

    /// Seconds between two bookmarks of a watch.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    bookmark_interval: f64,

    /// Accept objects in namespaces that do not exist.
    #[arg(long)]
    lenient_namespaces: bool,
}

fn parse_seed(text: &str) -> Result<(String, usize), String> {
    let (resource, count) = text.split_once('=').ok_or("expected RESOURCE=COUNT")?;
    let count = count
        .parse()
        .map_err(|_| format!("{count:?} is not a number"))?;
    Ok((resource.to_owned(), count))
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .init();
    let stopped = stop_signal()?;
    let interval =
        Duration::try_from_secs_f64(arguments.bookmark_interval).context("--bookmark-interval")?;
    let mut builder = FakeApiServer::builder()
        .listen(arguments.listen)
        .tls(arguments.tls)
        .history(arguments.history)
        .bookmark_interval(interval);
    if arguments.lenient_namespaces {
        builder = builder.lenient_namespaces();
    }
    let server = builder
        .start()
        .await
        .with_context(|| format!("listening on {}", arguments.listen))?;
    let cluster = server.cluster();
    for (resource, count) in &arguments.seed {
        cluster
            .seed_resource(resource, *count)
            .with_context(|| format!("--seed {resource}"))?;
    }
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", server.url())?;
    let kubeconfig = if arguments.tls {
        Some(Kubeconfig::write(&server)?)
    } else {
        None
    };
    if let Some(kubeconfig) = &kubeconfig {
        writeln!(out, "kubeconfig {}", kubeconfig.path.display())?;
    }
    out.flush()?;
    tokio::select! {
        () = stopped => {}
        () = churn(&cluster, arguments.churn) => {}
    }
    server.shutdown().await;
    Ok(())
}

/// A kubeconfig file that goes with the process.
struct Kubeconfig {
    path: PathBuf,
}

impl Kubeconfig {
    fn write(server: &FakeApiServer) -> Result<Self> {
        let name = format!(
            "fake-apiserver-{}-{}.kubeconfig",
            std::process::id(),
            server.address().port()
        );
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, server.kubeconfig())
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the kubeconfig was not removed");
        }
    }
}

/// Changes pods for ever, or does nothing for ever at 0 events a second.
async fn churn(cluster: &Cluster, events_per_second: u32) {
    if events_per_second == 0 {
        return std::future::pending().await;
    }
    // Several events a tick at high rates: timers have a resolution of a millisecond.
    let ticks = events_per_second.min(100);
    let mut interval = tokio::time::interval(Duration::from_secs(1) / ticks);
    interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut churn = Churn {
        pods: cluster.keys("pods"),
        step: 0,
    };
    let mut owed = 0_u32;
    loop {
        interval.tick().await;
        owed += events_per_second;
        while owed >= ticks {
            owed -= ticks;
            churn.step(cluster);
        }
    }
}

/// Changes to pods, one at a time: of ten, one creates, one deletes what another created, and
/// the others change one of the pods there are.
struct Churn {
    /// Pods that were there at the start.
    pods: Vec<String>,
    step: u64,
}

impl Churn {
    fn step(&mut self, cluster: &Cluster) {
        let (round, turn) = (self.step / 10, self.step % 10);
        self.step += 1;
        let own = format!("default/churn-{round}");
        let changed = match turn {
            0 => cluster.create(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("churn-{round}"), "labels": {"app": "churn"}},
                "spec": {"containers": [{"name": "c", "image": "registry.example.com/churn:v1"}], "nodeName": "node-0"},
                "status": {"phase": "Running"},
            })),
            9 => cluster.delete("pods", &own),
            _ => {
                let key = if self.pods.is_empty() { &own } else { &self.pods[fastrand::usize(..self.pods.len())] };
                let step = self.step.to_string();
                cluster.patch_merge("pods", key, json!({"metadata": {"annotations": {"example.com/step": step}}}))
            }
        };
        if let Err(error) = changed {
            // Somebody else deleted it, or took its name.
            tracing::debug!(%error, "a step of the churn was not possible");
        }
    }
}

/// Completes at Ctrl-C or SIGTERM. The handlers are installed when this returns.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("handling SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("handling SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Completes at Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>> {
    Ok(async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl-C cannot be handled");
            std::future::pending::<()>().await;
        }
    })
}
