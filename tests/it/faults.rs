//! Every fault of the embedded server, met by an informer that lists in either way over
//! either queue, and by the program `event_log`: they survive, and store, index and
//! handler end as a fresh LIST is.

mod cases;
#[cfg(unix)]
mod event_log;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, stream};
use informers::{
    InformerOptions, Initial, QueueKind, ReflectorOptions, Scope, SharedIndexInformer,
    SharedInformerFactory,
};
use informers_fake_apiserver::{FakeApiServer, FaultId};
use informers_tests::{History, until};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use self::cases::{CASES, Case, Heal, When};
use crate::support::{Mode, PATIENCE, by_value, client, config_map, converge, cut_off, reflector};

/// Objects before anything happens.
const OBJECTS: usize = 30;
/// Cases under way at once.
const PARALLEL: usize = 16;
/// More requests than this in one case are a hot loop.
const MAX_REQUESTS: usize = 200;

async fn table(tls: bool, modes: &[Mode]) {
    let runs = modes
        .iter()
        .flat_map(|mode| CASES.iter().map(move |case| (case, *mode)));
    let runs =
        runs.filter(|(case, mode)| case.initial.is_none_or(|initial| initial == mode.initial));
    let failures: Vec<String> = stream::iter(runs)
        .map(|(case, mode)| async move {
            let outcome = run(case, mode, tls).await;
            outcome
                .err()
                .map(|error| format!("{} {mode:?}: {error:#}", case.name))
        })
        .buffer_unordered(PARALLEL)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(
        failures.is_empty(),
        "{} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn store_is_a_fresh_list_after_every_fault_over_http1() {
    table(false, &Mode::ALL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn store_is_a_fresh_list_after_every_fault_over_http2_and_tls() {
    let modes = [
        Mode {
            initial: Initial::List,
            queue: QueueKind::InOrder,
        },
        Mode {
            initial: Initial::WatchList,
            queue: QueueKind::DeltaFifo,
        },
    ];
    table(true, &modes).await;
}

fn options(mode: Mode) -> InformerOptions<ConfigMap> {
    let reflector = ReflectorOptions {
        initial: mode.initial,
        // What only its deadline shows to be dead is dead after a second or two.
        watch_timeout: Duration::from_secs(1),
        page_size: std::num::NonZeroU32::new(10),
        ..reflector()
    };
    InformerOptions::new()
        .with_queue(mode.queue)
        .with_reflector(reflector)
        .with_indexers(by_value())
}

/// Who meets the faults.
trait Subject {
    /// It lists and watches from here on.
    async fn start(&mut self) -> Result<()>;
    /// It holds what the server has, and so does its handler.
    async fn synced(&self) -> Result<()>;
    /// It holds what the server has, and so does its handler, whose history is whole.
    async fn converge(&self, server: &FakeApiServer) -> Result<()>;
    /// The end of it.
    async fn stop(self, server: &FakeApiServer) -> Result<()>;
}

/// An informer of this process.
struct InProcess {
    factory: SharedInformerFactory,
    maps: SharedIndexInformer<ConfigMap>,
    history: History,
}

impl InProcess {
    fn new(server: &FakeApiServer, mode: Mode) -> Result<Self> {
        let factory = SharedInformerFactory::new(client(server));
        let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), options(mode));
        let history = History::default();
        maps.add_event_handler(history.clone())?;
        Ok(Self {
            factory,
            maps,
            history,
        })
    }
}

impl Subject for InProcess {
    async fn start(&mut self) -> Result<()> {
        self.factory.start();
        Ok(())
    }

    async fn synced(&self) -> Result<()> {
        Ok(self.factory.wait_for_cache_sync(PATIENCE).await?)
    }

    async fn converge(&self, server: &FakeApiServer) -> Result<()> {
        converge(server, "configmaps", &self.maps, &self.history).await
    }

    async fn stop(self, server: &FakeApiServer) -> Result<()> {
        let keys = self.maps.store().index_keys("byValue", "changed")?.len();
        let expected = server.cluster().list("configmaps");
        let expected = expected
            .iter()
            .filter(|map| map["data"]["value"] == "changed")
            .count();
        ensure!(keys == expected, "the index holds {keys} of {expected}");
        self.synced()
            .await
            .context("an informer that holds everything has synced")?;
        self.factory.shutdown(PATIENCE).await?;
        Ok(())
    }
}

async fn server(tls: bool) -> Result<Arc<FakeApiServer>> {
    let server = Arc::new(FakeApiServer::builder().tls(tls).start().await?);
    for n in 0..OBJECTS {
        server
            .cluster()
            .create(config_map(&format!("map-{n}"), &format!("value-{}", n % 3)))?;
    }
    Ok(server)
}

async fn run(case: &Case, mode: Mode, tls: bool) -> Result<()> {
    let server = server(tls).await?;
    let subject = InProcess::new(&server, mode)?;
    play(case, &server, subject).await?;
    server.shutdown().await;
    Ok(())
}

/// Lets the fault strike while things change, and sees that `subject` ends as a fresh
/// LIST is.
async fn play(case: &Case, server: &FakeApiServer, mut subject: impl Subject) -> Result<()> {
    let mut faults = Vec::new();
    if case.when == When::AtFirst {
        faults = inject(server, case);
    }
    subject.start().await?;
    if case.when != When::AtFirst {
        subject.synced().await?;
        server.wait_for_watches(1, PATIENCE).await?;
        match case.when {
            When::AtFirst | When::Watching => faults = inject(server, case),
            When::Rewatching => {
                faults = inject(server, case);
                server.disconnect_all();
            }
            When::Relisting => {
                cut_off(server).await;
                change(server, 0)?;
                server.cluster().compact();
                faults = inject(server, case);
                server.resume()?;
            }
            When::RollingBack => {
                let before = server.cluster().revision();
                change(server, 0)?;
                subject.converge(server).await?;
                faults = inject(server, case);
                server.cluster().rollback(before)?;
                // Not before the versions that are gone are forgotten here too.
                subject.converge(server).await?;
            }
        }
    }
    change(server, 5)?;
    let struck = || {
        let active = server.faults().list();
        faults.iter().all(|id| {
            let fault = active.iter().find(|fault| fault.id == *id);
            fault.is_none_or(|fault| fault.applied > 0)
        })
    };
    until("the fault meets a request", PATIENCE, struck).await?;
    match case.heal {
        Heal::Itself => {}
        Heal::Cleared => server.faults().clear(),
        Heal::Relist => {
            // The events are gone for good: only a list can tell.
            cut_off(server).await;
            server.faults().clear();
            change(server, 10)?;
            server.cluster().compact();
            server.resume()?;
        }
    }
    if case.heal != Heal::Relist {
        change(server, 10)?;
    }
    subject.converge(server).await?;
    let requests = server.requests().len();
    ensure!(requests <= MAX_REQUESTS, "{requests} requests");
    subject.stop(server).await
}

fn inject(server: &FakeApiServer, case: &Case) -> Vec<FaultId> {
    let faults = (case.faults)();
    faults
        .into_iter()
        .map(|fault| server.faults().inject(fault))
        .collect()
}

/// Creates, changes and deletes a few objects, others for each `first`.
fn change(server: &FakeApiServer, first: usize) -> Result<()> {
    let cluster = server.cluster();
    for n in first..first + 3 {
        cluster.create(config_map(&format!("new-{n}"), "new"))?;
        let patch = json!({"data": {"value": "changed"}});
        cluster.patch_merge("configmaps", &format!("default/map-{n}"), patch)?;
        cluster.delete("configmaps", &format!("default/map-{}", n + 15))?;
    }
    Ok(())
}
