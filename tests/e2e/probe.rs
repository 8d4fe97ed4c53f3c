//! [`Probe`]: an informer whose store, index and handler are held against a fresh LIST.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::{
    BackoffOptions, FromWire, Indexers, InformerOptions, Initial, Object, QueueKind,
    ReflectorOptions, Resource, Scope, SharedIndexInformer, SharedInformerFactory,
};
use informers_tests::{History, TcpProxy, until_ok};
use serde_json::Value;

use crate::target::Target;

/// How long an initial list or the recovery from a fault may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The index of every probe.
pub(crate) const BY_VALUE: &str = "byValue";

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

    pub(crate) const fn new(initial: Initial, queue: QueueKind) -> Self {
        Self { initial, queue }
    }

    /// `list/delta-fifo`.
    pub(crate) fn name(self) -> String {
        let initial = match self.initial {
            Initial::List => "list",
            Initial::WatchList => "watchlist",
            Initial::Auto => "auto",
        };
        let queue = match self.queue {
            QueueKind::DeltaFifo => "delta-fifo",
            QueueKind::InOrder => "in-order",
        };
        format!("{initial}/{queue}")
    }

    pub(crate) fn options<T: Object>(self) -> InformerOptions<T> {
        let reflector = ReflectorOptions {
            initial: self.initial,
            backoff: BackoffOptions {
                initial: Duration::from_millis(100),
                cap: Duration::from_secs(2),
                ..BackoffOptions::default()
            },
            ..ReflectorOptions::default()
        };
        let by_value = |obj: &T| obj.label("value").map(str::to_owned);
        InformerOptions::new()
            .with_queue(self.queue)
            .with_reflector(reflector)
            .with_indexers(Indexers::new().with(BY_VALUE, by_value))
    }
}

/// What the server has, by a LIST of its database.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) versions: BTreeMap<String, String>,
    /// Keys by the label `value`.
    pub(crate) by_value: BTreeMap<String, BTreeSet<String>>,
}

impl Truth {
    pub(crate) async fn of(target: &Target, set: &str) -> Result<Self> {
        let items = target.api().list(&target.set("configmaps", set)).await?;
        let mut truth = Self::default();
        for item in &items {
            let metadata = &item["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let key = format!(
                "{}/{}",
                text(&metadata["namespace"]),
                text(&metadata["name"])
            );
            let value = text(&metadata["labels"]["value"]);
            truth.by_value.entry(value).or_default().insert(key.clone());
            let rv = text(&metadata["resourceVersion"]);
            truth.versions.insert(key, rv);
        }
        Ok(truth)
    }
}

/// An informer of the config maps of one set, and a handler that was there from the start.
pub(crate) struct Probe<T: Object> {
    pub(crate) informer: SharedIndexInformer<T>,
    pub(crate) history: History,
}

impl<T: Object + Resource + FromWire> Probe<T> {
    /// Asks the factory for the informer; it runs from the next start.
    pub(crate) fn add(factory: &SharedInformerFactory, scope: Scope, mode: Mode) -> Result<Self> {
        let informer = factory.informer_with_options::<T>(scope, mode.options());
        Self::of(informer)
    }
}

impl<T: Object> Probe<T> {
    pub(crate) fn of(informer: SharedIndexInformer<T>) -> Result<Self> {
        let history = History::default();
        informer.add_event_handler(history.clone())?;
        Ok(Self { informer, history })
    }

    /// Whether store, index and handler are as the truth is.
    pub(crate) fn check(&self, truth: &Truth) -> Result<()> {
        let store = self.informer.store();
        let mut versions = BTreeMap::new();
        store.for_each(|name, obj| {
            let rv = obj.resource_version().unwrap_or_default();
            versions.insert(name.to_string(), rv.to_owned());
        });
        ensure!(
            versions == truth.versions,
            "the store holds {} objects, the server {}; differing: {}",
            versions.len(),
            truth.versions.len(),
            differing(&versions, &truth.versions)
        );
        let values = store.list_index_func_values(BY_VALUE)?;
        let values: BTreeSet<&str> = values.iter().map(|value| &**value).collect();
        ensure!(
            values
                .iter()
                .copied()
                .eq(truth.by_value.keys().map(String::as_str)),
            "the index has the values {values:?}, it should have {:?}",
            truth.by_value.keys()
        );
        for (value, keys) in &truth.by_value {
            let found = store.index_keys(BY_VALUE, value)?;
            ensure!(
                found
                    .iter()
                    .map(ToString::to_string)
                    .eq(keys.iter().cloned()),
                "the index holds {} objects for {value}, it should hold {}",
                found.len(),
                keys.len()
            );
        }
        self.history.check(&truth.versions)
    }

    /// Waits until store, index and handler are as a fresh LIST is.
    pub(crate) async fn converge(&self, target: &Target, set: &str) -> Result<()> {
        let attempt = || async { self.check(&Truth::of(target, set).await?) };
        until_ok("store and LIST agree", PATIENCE, attempt)
            .await
            .with_context(|| format!("{:?}", self.informer.reflector_state()))
    }
}

fn differing(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> String {
    let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    let odd = keys
        .into_iter()
        .filter(|key| ours.get(*key) != theirs.get(*key));
    let told = odd.take(4).map(|key| {
        let (ours, theirs) = (ours.get(key), theirs.get(key));
        format!("{key} ({ours:?}, {theirs:?})")
    });
    told.collect::<Vec<_>>().join(", ")
}

/// A probe of typed config maps, its factory, and the proxy on its way.
pub(crate) struct Rig {
    pub(crate) factory: SharedInformerFactory,
    pub(crate) proxy: TcpProxy,
    pub(crate) probe: Probe<k8s_openapi::api::core::v1::ConfigMap>,
}

impl Rig {
    /// Starts an informer of a set, through a proxy, and waits for its sync.
    pub(crate) async fn start(target: &Target, set: &str, mode: Mode) -> Result<Self> {
        let (proxy, client) = target.proxied().await?;
        let factory = SharedInformerFactory::new(client);
        let probe = Probe::add(&factory, target.scope(set), mode)?;
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await?;
        Ok(Self {
            factory,
            proxy,
            probe,
        })
    }

    /// Waits for the truth, then stops all and sees that nothing is late.
    pub(crate) async fn finish(self, target: &Target, set: &str) -> Result<()> {
        self.probe.converge(target, set).await?;
        self.factory.shutdown(Duration::from_secs(5)).await?;
        self.factory.client().close().await;
        self.proxy.shutdown().await;
        Ok(())
    }
}
