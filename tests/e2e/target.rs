//! [`Target`]: the control plane the suite runs against.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};
use informers::{Client, Config, Kubeconfig, Overrides, Scope};
use informers_fake_apiserver::FakeApiServer;
use informers_rest::Timeouts;
use informers_tests::{RawApi, Refused, TcpProxy};
use serde_json::{Value, json};

use crate::control::Control;
use crate::environment::Environment;

/// Requests under way at once when many objects are written.
const PARALLEL: usize = 16;

/// The control plane, and the part of it that is the suite's own.
pub(crate) struct Target {
    environment: Environment,
    config: Config,
    address: SocketAddr,
    api: RawApi,
    control: Control,
}

impl Target {
    /// Starts the embedded server or reads the kubeconfig.
    pub(crate) async fn connect(environment: Environment) -> Result<Self> {
        let (config, control) = if let Some(paths) = &environment.kubeconfig {
            let control = match environment.control {
                Some(address) => Control::Lines(address),
                None => Control::None,
            };
            (from_kubeconfig(paths, &environment)?, control)
        } else {
            // TLS, so that it speaks HTTP/2 as a real one does.
            let server = FakeApiServer::builder().tls(true).start().await?;
            let kubeconfig = Kubeconfig::from_text(server.kubeconfig())?;
            let config = kubeconfig.config(&Overrides::default())?;
            (config, Control::Embedded(Arc::new(server)))
        };
        let address = resolve(&config.server_url()).await?;
        Ok(Self {
            api: RawApi::new(Client::new(config.clone())?),
            environment,
            config,
            address,
            control,
        })
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The configuration of the suite's own user.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Plain requests, by a way of their own.
    pub(crate) fn api(&self) -> &RawApi {
        &self.api
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Plain requests that are given up soon, by a way of their own: for a writer that is to
    /// go on while the control plane is broken.
    pub(crate) fn impatient_api(&self) -> Result<RawApi> {
        let mut timeouts = Timeouts::default();
        timeouts.connect = Duration::from_secs(2);
        timeouts.response_max = Duration::from_secs(3);
        let config = self.config.clone().with_timeouts(timeouts);
        Ok(RawApi::new(Client::new(config)?))
    }

    /// A proxy before the API server, and a client whose way leads through it.
    pub(crate) async fn proxied(&self) -> Result<(TcpProxy, Client)> {
        let proxy = TcpProxy::start(self.address)
            .await
            .context("cannot start a proxy")?;
        let mut timeouts = Timeouts::default();
        timeouts.ping_interval = Duration::from_secs(2);
        timeouts.ping_timeout = Duration::from_secs(1);
        let config = self.config.clone().with_timeouts(timeouts);
        let client = Client::new(config.with_connector(proxy.connector()))?;
        Ok((proxy, client))
    }

    /// The scope of a scenario's objects, which carry the label `set`.
    pub(crate) fn scope(&self, set: &str) -> Scope {
        Scope::all()
            .in_namespace(&self.environment.namespace)
            .with_label_selector(format!("set={set}"))
    }

    /// The path of a core collection in the suite's namespace.
    pub(crate) fn collection(&self, plural: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}", self.environment.namespace)
    }

    /// The path of that collection restricted to a set.
    pub(crate) fn set(&self, plural: &str, set: &str) -> String {
        format!("{}?labelSelector=set%3D{set}", self.collection(plural))
    }

    /// The path of a config map.
    pub(crate) fn config_map(&self, name: &str) -> String {
        format!("{}/{name}", self.collection("configmaps"))
    }

    /// Creates config maps `SET-0` … of a set, with values of 10 kinds. Those that are
    /// there stay as they are.
    pub(crate) async fn fill(&self, set: &str, count: usize) -> Result<()> {
        let collection = self.collection("configmaps");
        let create = |n: usize| {
            let collection = collection.clone();
            async move {
                let object = config_map(set, &format!("{set}-{n}"), &format!("v{}", n % 10));
                match self.api.create(&collection, &object).await {
                    Err(error) if Refused::of(&error).is_some_and(|it| it.code == 409) => Ok(()),
                    created => created.map(drop),
                }
            }
        };
        stream::iter(0..count)
            .map(create)
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await
    }

    /// How many watches of a core resource are open in single namespaces, as the server
    /// counts them; `None` where it does not tell.
    pub(crate) async fn open_watches(&self, plural: &str) -> Result<Option<usize>> {
        if let Control::Embedded(server) = &self.control {
            return Ok(Some(server.open_watches()));
        }
        match self.api.text("/metrics").await {
            Ok(metrics) => Ok(Some(gauge(&metrics, plural))),
            Err(error) if Refused::of(&error).is_some_and(|it| it.code == 403) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn create_namespace(&self) -> Result<()> {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.environment.namespace},
        });
        let created = self.api.create("/api/v1/namespaces", &namespace).await;
        created.map(drop).context("cannot create the namespace")
    }

    /// Deletes the namespace, and stops the embedded server.
    pub(crate) async fn close(&self) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}", self.environment.namespace);
        let deleted = self.api.delete(&path).await;
        if let Control::Embedded(server) = &self.control {
            server.shutdown().await;
        }
        deleted.map(drop).context("cannot delete the namespace")
    }
}

/// A config map of a set; the value is in its data and in a label.
pub(crate) fn config_map(set: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"set": set, "value": value}},
        "data": {"value": value},
    })
}

/// What changes the value of a config map.
pub(crate) fn value_patch(value: &str) -> Value {
    json!({"metadata": {"labels": {"value": value}}, "data": {"value": value}})
}

fn from_kubeconfig(paths: &std::ffi::OsStr, environment: &Environment) -> Result<Config> {
    let mut kubeconfig = Kubeconfig::default();
    for path in std::env::split_paths(paths).filter(|path| path.is_file()) {
        kubeconfig.merge(Kubeconfig::read(&path)?);
    }
    let overrides = Overrides {
        context: environment.context.clone(),
        ..Overrides::default()
    };
    Ok(kubeconfig.config(&overrides)?)
}

/// The address of the server that a URL names.
async fn resolve(url: &str) -> Result<SocketAddr> {
    let (scheme, rest) = url
        .split_once("://")
        .context("the server's URL has no scheme")?;
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let authority = match (has_port, scheme) {
        (true, _) => authority.to_owned(),
        (false, "http") => format!("{authority}:80"),
        (false, _) => format!("{authority}:443"),
    };
    let mut addresses = tokio::net::lookup_host(&authority)
        .await
        .with_context(|| format!("cannot resolve {authority}"))?;
    addresses
        .next()
        .with_context(|| format!("{authority} has no address"))
}

/// The watches of a resource in single namespaces, of the API server's metrics.
fn gauge(metrics: &str, plural: &str) -> usize {
    let wanted = [
        r#"verb="WATCH""#.to_owned(),
        r#"scope="namespace""#.to_owned(),
        format!(r#"resource="{plural}""#),
    ];
    let matching = metrics.lines().filter_map(|line| {
        let line = line.strip_prefix("apiserver_longrunning_requests{")?;
        let (labels, value) = line.split_once('}')?;
        let is_meant = wanted.iter().all(|label| labels.contains(label.as_str()));
        is_meant.then(|| value.trim().parse::<usize>().ok())?
    });
    matching.sum()
}
