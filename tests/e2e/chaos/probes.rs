//! The informers that are watched: each representation, both queues, both ways to list.

use std::collections::HashMap;

use anyhow::{Context, Error, Result, ensure};
use informers::{
    ApiResource, Initial, Object, Packed, PartialObjectMetadata, QueueKind, SharedInformerFactory,
    wire_type,
};
use informers_objects::Identity;
use informers_tests::{TcpProxy, Told};
use k8s_openapi::api::core::v1::ConfigMap;

use super::SET;
use crate::probe::{Mode, Probe, Truth};
use crate::target::Target;

/// A struct of our own: no more than the identity.
#[derive(serde::Deserialize)]
pub(super) struct Slim {
    metadata: Identity,
}

wire_type!(Slim => namespaced "" / "v1" / "configmaps", "ConfigMap");

/// A part of the program: a factory with its informers, and the proxy on its way.
pub(super) struct Side {
    pub(super) proxy: TcpProxy,
    pub(super) factory: SharedInformerFactory,
    pub(super) probes: Vec<Box<dyn Checked>>,
}

impl Side {
    async fn new(target: &Target) -> Result<Self> {
        let (proxy, client) = target.proxied().await?;
        Ok(Self {
            proxy,
            factory: SharedInformerFactory::new(client),
            probes: Vec::new(),
        })
    }

    /// Typed and packed objects.
    pub(super) async fn first(target: &Target) -> Result<Self> {
        let mut side = Self::new(target).await?;
        let (factory, scope) = (&side.factory, target.scope(SET));
        let list = Mode::new(Initial::List, QueueKind::DeltaFifo);
        let watch_list = Mode::new(Initial::WatchList, QueueKind::InOrder);
        side.probes = vec![
            Box::new(Probe::<ConfigMap>::add(factory, scope.clone(), list)?),
            Box::new(Probe::<Packed<ConfigMap>>::add(factory, scope, watch_list)?),
        ];
        side.factory.start();
        Ok(side)
    }

    /// Metadata, a struct of our own, and JSON values.
    pub(super) async fn second(target: &Target) -> Result<Self> {
        let mut side = Self::new(target).await?;
        let (factory, scope) = (&side.factory, target.scope(SET));
        let list = Mode::new(Initial::List, QueueKind::InOrder);
        let watch_list = Mode::new(Initial::WatchList, QueueKind::DeltaFifo);
        let auto = Mode::new(Initial::Auto, QueueKind::DeltaFifo);
        let resource: ApiResource = "v1/configmaps".parse()?;
        let dynamic = factory.dynamic_with_options(resource, scope.clone(), auto.options());
        side.probes = vec![
            Box::new(Probe::<PartialObjectMetadata<ConfigMap>>::add(
                factory,
                scope.clone(),
                watch_list,
            )?),
            Box::new(Probe::<Slim>::add(factory, scope, list)?),
            Box::new(Probe::of(dynamic)?),
        ];
        side.factory.start();
        Ok(side)
    }
}

/// A probe, whatever its representation.
pub(super) trait Checked: Send + Sync {
    /// What is not as the truth is, if anything.
    fn wrong(&self, truth: &Truth) -> Option<Error>;

    /// Requests sent so far.
    fn requests(&self) -> u64;

    /// Whether the versions of each key only grew.
    fn legal_order(&self) -> Result<()>;

    /// What it went through, in a line.
    fn summary(&self) -> String;
}

impl<T: Object> Checked for Probe<T> {
    fn wrong(&self, truth: &Truth) -> Option<Error> {
        let error = self.check(truth).err()?;
        let state = self.informer.reflector_state();
        let doing = state.map(|state| {
            let error = state
                .last_error
                .map(|(_, error)| format!("{error}: {}", error.error));
            format!("{:?}, last error {error:?}", state.phase)
        });
        Some(error.context(format!("{} ({doing:?})", std::any::type_name::<T>())))
    }

    fn requests(&self) -> u64 {
        let counters = self.informer.reflector_state().map(|state| state.counters);
        let counters = counters.unwrap_or_default();
        counters.list_requests + counters.watch_list_requests + counters.watch_requests
    }

    fn legal_order(&self) -> Result<()> {
        let mut last: HashMap<String, u64> = HashMap::new();
        for told in self.history.told() {
            let (key, rv) = match &told {
                Told::Add { key, rv, .. } | Told::Update { key, rv, .. } => (key, Some(rv)),
                Told::Delete { key, rv, .. } => (key, rv.as_ref()),
            };
            let Some(rv) = rv else { continue };
            let rv = rv.parse().with_context(|| format!("{told:?}"))?;
            let before = last.insert(key.clone(), rv).unwrap_or_default();
            ensure!(before <= rv, "{told:?} was told after version {before}");
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let (adds, updates, deletes) = self.history.counts();
        let told = self.history.told();
        let unknown = |told: &&Told| matches!(told, Told::Delete { unknown: true, .. });
        let tombstones = told.iter().filter(unknown).count();
        let counters = self.informer.reflector_state().map(|state| state.counters);
        let relists = counters.unwrap_or_default().relists();
        let name = std::any::type_name::<T>();
        format!(
            "{name}: {adds} adds, {updates} updates, {deletes} deletes, {tombstones} of them \
             tombstones; {} requests, {relists} relists",
            self.requests()
        )
    }
}
