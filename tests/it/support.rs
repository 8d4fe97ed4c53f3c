//! A server, a client with short delays, and what the truth is.

use std::collections::BTreeMap;
use std::time::Duration;

use informers::{
    BackoffOptions, Client, Config, Indexers, InformerOptions, Initial, Object, ObjectName,
    QueueKind, ReflectorOptions, SharedIndexInformer, SharedInformerFactory, Store,
};
use informers_fake_apiserver::FakeApiServer;
use informers_rest::{PemSource, Timeouts};
use informers_tests::{History, until};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How an informer lists, and which queue it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) initial: Initial,
    pub(crate) queue: QueueKind,
}

impl Mode {
    pub(crate) const ALL: [Mode; 4] = [
        Mode::new(Initial::List, QueueKind::DeltaFifo),
        Mode::new(Initial::List, QueueKind::InOrder),
        Mode::new(Initial::WatchList, QueueKind::DeltaFifo),
        Mode::new(Initial::WatchList, QueueKind::InOrder),
    ];

    const fn new(initial: Initial, queue: QueueKind) -> Self {
        Self { initial, queue }
    }

    pub(crate) fn options<T: Object>(self) -> InformerOptions<T> {
        let reflector = ReflectorOptions {
            initial: self.initial,
            ..reflector()
        };
        InformerOptions::new()
            .with_queue(self.queue)
            .with_reflector(reflector)
    }
}

/// A reflector that is quick to try again and quick to give up.
pub(crate) fn reflector() -> ReflectorOptions {
    ReflectorOptions {
        backoff: BackoffOptions {
            initial: Duration::from_millis(10),
            factor: 2.0,
            cap: Duration::from_millis(80),
            jitter: 0.2,
            reset_after: Duration::from_secs(1),
        },
        watch_margin: Duration::from_millis(200),
        request_timeout: Duration::from_millis(1500),
        initial_events_timeout: Duration::from_millis(400),
        ..ReflectorOptions::default()
    }
}

/// A configuration for the server, with short limits.
pub(crate) fn config(server: &FakeApiServer) -> Config {
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_secs(2);
    timeouts.response = Duration::from_millis(800);
    timeouts.response_max = Duration::from_millis(1600);
    timeouts.body_idle = Duration::from_millis(1500);
    timeouts.ping_interval = Duration::from_millis(300);
    timeouts.ping_timeout = Duration::from_millis(300);
    timeouts.watch_margin = Duration::from_millis(200);
    let config = Config::new(&server.url()).unwrap().with_timeouts(timeouts);
    match server.ca_certificate() {
        Some(ca) => config.with_certificate_authority(PemSource::inline(ca)),
        None => config,
    }
}

pub(crate) fn client(server: &FakeApiServer) -> Client {
    Client::new(config(server)).unwrap()
}

pub(crate) fn factory(server: &FakeApiServer) -> SharedInformerFactory {
    SharedInformerFactory::new(client(server))
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"value": value},
    })
}

/// The index of config maps by their `value`.
pub(crate) fn by_value() -> Indexers<ConfigMap> {
    Indexers::new().with("byValue", |map: &ConfigMap| {
        map.data.as_ref()?.get("value").cloned()
    })
}

/// Keys and versions of what the server has.
pub(crate) fn truth(server: &FakeApiServer, resource: &str) -> BTreeMap<String, String> {
    server.cluster().versions(resource).into_iter().collect()
}

/// Keys and versions of what the store has.
pub(crate) fn stored<T: Object>(store: &Store<T>) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    store.for_each(|name, obj| {
        let rv = obj.resource_version().unwrap_or_default();
        versions.insert(name.to_string(), rv.to_owned());
    });
    versions
}

/// Waits until the store and what the handler was told are what the server has; then the
/// handler's history has no breach either.
pub(crate) async fn converge<T: Object>(
    server: &FakeApiServer,
    resource: &str,
    informer: &SharedIndexInformer<T>,
    history: &History,
) -> anyhow::Result<()> {
    let store = informer.store();
    let same = || {
        let truth = truth(server, resource);
        stored(&store) == truth && history.state() == truth
    };
    let waited = until("store, handler and server agree", PATIENCE, same).await;
    let truth = truth(server, resource);
    history.check(&truth)?;
    waited.map_err(|error| {
        let stored = stored(&store);
        let odd: Vec<_> = stored
            .iter()
            .filter(|(key, rv)| truth.get(*key) != Some(*rv))
            .chain(
                truth
                    .iter()
                    .filter(|(key, rv)| stored.get(*key) != Some(*rv)),
            )
            .take(4)
            .collect();
        let state = informer.reflector_state();
        error.context(format!("{odd:?} differ; {state:?}"))
    })
}

/// The name of an object of the namespace `default`.
pub(crate) fn named(name: &str) -> ObjectName {
    format!("default/{name}").parse().unwrap()
}

/// Cuts every connection and refuses new ones, until `resume`; no event passes any more.
pub(crate) async fn cut_off(server: &FakeApiServer) {
    server.pause();
    server.disconnect_all();
    let gone = || server.open_watches() == 0;
    until("the watches are gone", PATIENCE, gone).await.unwrap();
}

/// LIST and WATCH requests for a resource so far.
pub(crate) fn reads(server: &FakeApiServer, plural: &str) -> (usize, usize) {
    let requests = server.requests();
    let of = requests
        .iter()
        .filter(|request| request.plural.as_deref() == Some(plural));
    let (watches, lists): (Vec<_>, Vec<_>) = of.partition(|request| request.is_watch());
    (lists.len(), watches.len())
}
