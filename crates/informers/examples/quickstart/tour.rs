//! The tour, stop by stop.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use informers::prelude::*;
use informers::{Kubeconfig, Overrides, Selector};
use informers_fake_apiserver::FakeApiServer;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::Args;
use crate::churn;
use crate::handlers::{Counter, Counts, get, node_of};
use crate::screen::Screen;

const PODS: usize = 1000;
const NODES: usize = 20;
const DELETED: usize = 25;

/// What both tours have.
struct Tour {
    factory: SharedInformerFactory,
    pods: SharedIndexInformer<Pod>,
    nodes: SharedIndexInformer<Node>,
    fast: Arc<Counts>,
    slow: Arc<Counts>,
    began: Instant,
}

/// The tour of the embedded API server.
pub(crate) async fn embedded(args: &Args, screen: &Screen) -> anyhow::Result<()> {
    let server = FakeApiServer::start()
        .await
        .context("cannot start the embedded API server")?;
    let cluster = server.cluster();
    cluster.seed_nodes(NODES);
    cluster.seed_pods(PODS, NODES);
    screen.heading("informers quickstart");
    screen.line(format!(
        "connects to the embedded API server at {}",
        server.url()
    ));
    screen.line(format!(
        "which holds {PODS} pods on {NODES} nodes; nothing leaves this machine"
    ));

    let tour = Tour::start(Config::new(&server.url())?, Duration::from_millis(2)).await?;
    tour.show_sync(screen);

    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(churn::run(cluster.clone(), PODS, stop.clone()));
    tour.show_churn(screen, Duration::from_secs(3)).await;

    screen.heading("cut off: the connection breaks while pods are deleted");
    server.pause();
    server.disconnect_all();
    let cut = until(Duration::from_secs(5), || server.open_watches() == 0).await;
    anyhow::ensure!(cut, "the connections were not closed");
    for n in 0..DELETED {
        cluster.delete("pods", &format!("default/pod-{}", n * 7))?;
    }
    cluster.compact();
    screen.line(format!(
        "{DELETED} pods deleted unseen, and the server forgot its history"
    ));
    server.resume().context("cannot listen again")?;
    let healing = Instant::now();
    let all = || tour.fast.tombstones().len() >= DELETED;
    let healed = until(Duration::from_secs(8), all).await;
    anyhow::ensure!(healed, "the tombstones did not arrive");
    for tombstone in tour.fast.tombstones().iter().take(3) {
        screen.line(format!("deleted, final state unknown: {tombstone}"));
    }
    screen.line(format!(
        "… {} tombstones, {:.1} s after the server came back",
        tour.fast.tombstones().len(),
        healing.elapsed().as_secs_f64()
    ));

    tour.show_queries(screen)?;
    if args.follow {
        tour.follow(screen).await?;
    }
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    tour.finish(screen).await?;
    server.shutdown().await;
    Ok(())
}

/// The tour of a cluster: it only reads.
pub(crate) async fn cluster(args: &Args, screen: &Screen) -> anyhow::Result<()> {
    let config = if args.in_cluster {
        Config::in_cluster()?
    } else {
        let overrides = Overrides {
            context: args.context.clone(),
            ..Overrides::default()
        };
        match &args.kubeconfig {
            Some(path) => Kubeconfig::read(path)?.config(&overrides)?,
            None => Config::infer_with(&overrides)?,
        }
    };
    screen.heading("informers quickstart");
    screen.line(format!(
        "connects to {} and only reads",
        config.server_url()
    ));
    let tour = Tour::start(config, Duration::from_millis(2)).await?;
    tour.show_sync(screen);
    tour.show_churn(screen, Duration::from_secs(5)).await;
    tour.show_queries(screen)?;
    if args.follow {
        tour.follow(screen).await?;
    }
    tour.finish(screen).await
}

impl Tour {
    async fn start(config: Config, pause: Duration) -> anyhow::Result<Self> {
        let began = Instant::now();
        let factory = SharedInformerFactory::new(Client::new(config)?);
        let pods = factory.informer::<Pod>();
        let nodes = factory.informer::<Node>();
        pods.add_indexers(Indexers::new().with("byNode", |pod: &Pod| {
            node_of(pod)
                .map(str::to_owned)
                .into_iter()
                .collect::<Vec<_>>()
        }))?;
        let (fast, slow) = (Arc::<Counts>::default(), Arc::<Counts>::default());
        for (name, counts, pause) in [("fast", &fast, Duration::ZERO), ("slow", &slow, pause)] {
            let counts = Arc::clone(counts);
            pods.add_event_handler_with_options(
                Counter { counts, pause },
                HandlerOptions::new().with_name(name),
            )?;
        }
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(30)).await?;
        Ok(Self {
            factory,
            pods,
            nodes,
            fast,
            slow,
            began,
        })
    }

    fn show_sync(&self, screen: &Screen) {
        screen.heading("synced: one list and one watch for each type");
        screen.fact("pods", self.pods.store().len());
        screen.fact("nodes", self.nodes.store().len());
        screen.fact(
            "seconds, slow handler included",
            format!("{:.2}", self.began.elapsed().as_secs_f64()),
        );
        screen.fact("adds told to each pod handler", get(&self.fast.initial));
    }

    async fn show_churn(&self, screen: &Screen, time: Duration) {
        screen.heading(format!(
            "watching for {} s: two handlers on one watch",
            time.as_secs()
        ));
        let (fast, slow) = (get(&self.fast.updates), get(&self.slow.updates));
        tokio::time::sleep(time).await;
        screen.fact(
            "updates told to the fast handler",
            get(&self.fast.updates) - fast,
        );
        screen.fact(
            "updates told to the slow handler",
            get(&self.slow.updates) - slow,
        );
        for handler in self.pods.handlers() {
            let waiting = handler.stats().depth;
            screen.fact(
                &format!("waiting for the {} handler", handler.name()),
                waiting,
            );
        }
    }

    fn show_queries(&self, screen: &Screen) -> anyhow::Result<()> {
        screen.heading("asked of the cache, without a request");
        let store = self.pods.store();
        let mut by_node = Vec::new();
        for node in store.list_index_func_values("byNode")? {
            by_node.push((store.by_index("byNode", &node)?.len(), node));
        }
        by_node.sort();
        if let (Some((fewest, quiet)), Some((most, busy))) = (by_node.first(), by_node.last()) {
            screen.fact("index byNode: nodes with pods", by_node.len());
            screen.fact("the busiest", format!("{busy} with {most} pods"));
            screen.fact("the quietest", format!("{quiet} with {fewest} pods"));
        }
        let selector: Selector = "app in (web, api), tier=front".parse()?;
        let found = self.pods.lister().all(&selector).len();
        screen.fact(&format!("lister: {selector}"), format!("{found} pods"));
        Ok(())
    }

    async fn follow(&self, screen: &Screen) -> anyhow::Result<()> {
        screen.heading("following until Ctrl-C");
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        let end = tokio::signal::ctrl_c();
        tokio::pin!(end);
        loop {
            tokio::select! {
                ended = &mut end => return ended.context("cannot wait for Ctrl-C"),
                _ = ticks.tick() => screen.line(format!(
                    "{} pods, {} adds, {} updates, {} deletes",
                    self.pods.store().len(),
                    get(&self.fast.adds),
                    get(&self.fast.updates),
                    get(&self.fast.deletes),
                )),
            }
        }
    }

    async fn finish(self, screen: &Screen) -> anyhow::Result<()> {
        self.factory.shutdown(Duration::from_secs(5)).await?;
        screen.heading("summary");
        let (fast, pods) = (&self.fast, self.pods.store());
        screen.fact("pods in the store", pods.len());
        screen.fact("told: initial adds", get(&fast.initial));
        screen.fact("told: later adds", get(&fast.adds));
        screen.fact("told: updates", get(&fast.updates));
        screen.fact("told: deletes", get(&fast.deletes));
        screen.fact("of these with final state unknown", fast.tombstones().len());
        if let Some(state) = self.pods.reflector_state() {
            let counters = state.counters;
            screen.fact(
                "requests for lists, for watches",
                format!(
                    "{}, {}",
                    counters.list_requests + counters.watch_list_requests,
                    counters.watch_requests
                ),
            );
        }
        screen.fact(
            "seconds in all",
            format!("{:.1}", self.began.elapsed().as_secs_f64()),
        );
        Ok(())
    }
}

/// Waits for a condition; answers whether it came true in time.
async fn until(time: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + time;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}
