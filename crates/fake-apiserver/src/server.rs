//! The server: what its parts share, its listener and its connections.

mod listener;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::listener::Listener;
use crate::builder::FakeApiServerBuilder;
use crate::cluster::Cluster;
use crate::connection::Control;
use crate::fault::{Action, FaultSet, Faults, OpenWatches};
use crate::request::{RequestLog, RequestRecord, WaitTimeout};
use crate::resource::Registry;
use crate::status::ApiError;
use crate::store::Store;
use crate::tls::Identity;

/// How a watch from a compacted revision is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpiredWatch {
    /// HTTP 200 with an ERROR event of code 410, as the API server's watch cache does.
    #[default]
    Event,
    /// HTTP status 410.
    Status,
}

/// What the builder fixes.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) bookmark_interval: Duration,
    pub(crate) expired_watch: ExpiredWatch,
    pub(crate) lenient_namespaces: bool,
}

/// What all requests share.
///
/// # Locks
///
/// `store` is held for one read or write and never across an await; the locks within
/// `faults`, `log` and `open` are taken alone or, by the faults, after `store` was released.
#[derive(Debug)]
pub(crate) struct Shared {
    store: Mutex<Store>,
    pub(crate) config: Config,
    pub(crate) faults: FaultSet,
    pub(crate) log: RequestLog,
    pub(crate) open: OpenWatches,
    pub(crate) started: Instant,
    connections: Mutex<HashMap<u64, Arc<Control>>>,
    next_connection: AtomicU64,
}

impl Shared {
    fn new(config: Config, registry: Registry, window: usize) -> Self {
        Self {
            store: Mutex::new(Store::new(registry, window)),
            config,
            faults: FaultSet::default(),
            log: RequestLog::new(),
            open: OpenWatches::new(),
            started: Instant::now(),
            connections: Mutex::default(),
            next_connection: AtomicU64::new(0),
        }
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Arc<Control>>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Compaction and rollback, when a fault asks for them.
    pub(crate) fn change_state(&self, action: &Action) -> Result<(), ApiError> {
        match action {
            Action::Compact => self.store().compact(),
            Action::Rollback { revision } => self.store().rollback(*revision)?,
            _ => {}
        }
        Ok(())
    }
}

/// A running Kubernetes API server.
///
/// Dropping it stops it without waiting; [`FakeApiServer::shutdown`] waits.
///
/// # Examples
///
/// ```
/// use informers_fake_apiserver::FakeApiServer;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = FakeApiServer::start().await?;
/// let cluster = server.cluster();
/// cluster.create(json!({
///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"},
/// }))?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// assert_eq!(cluster.list("configmaps").len(), 1);
/// server.shutdown().await;
/// # Ok(()) }
/// ```
///
/// # Shutdown
///
/// 1. The listener closes and every connection is dropped where it stands.
/// 2. `shutdown` returns when the last connection's task has ended.
#[derive(Debug)]
pub struct FakeApiServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    ca_pem: Option<String>,
    listener: Arc<Listener>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl FakeApiServer {
    /// Configures a server.
    pub fn builder() -> FakeApiServerBuilder {
        FakeApiServerBuilder::new()
    }

    /// Starts a server with the defaults on a free port of 127.0.0.1, without TLS.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future starts nothing.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    pub(crate) async fn serve(
        address: SocketAddr,
        identity: Option<Identity>,
        config: Config,
        registry: Registry,
        window: usize,
    ) -> io::Result<Self> {
        let listener = Arc::new(Listener::bind(address).await?);
        let address = listener.address();
        let shared = Arc::new(Shared::new(config, registry, window));
        bootstrap(&shared);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (acceptor, ca_pem) = match identity {
            Some(identity) => (Some(identity.acceptor), Some(identity.ca_pem)),
            None => (None, None),
        };
        let accept = listener::accept_all(
            Arc::clone(&listener),
            Arc::clone(&shared),
            acceptor,
            tasks.clone(),
            stop.clone(),
        );
        tasks.spawn(accept);
        Ok(Self {
            shared,
            address,
            ca_pem,
            listener,
            tasks,
            stop,
        })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's base URL, without a slash at its end.
    pub fn url(&self) -> String {
        let scheme = if self.ca_pem.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the server's own authority in PEM, under TLS.
    pub fn ca_certificate(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// A kubeconfig for this server; with its CA under TLS.
    pub fn kubeconfig(&self) -> String {
        let ca = self
            .ca_pem
            .as_ref()
            .map(|pem| format!("\n    certificate-authority-data: {}", STANDARD.encode(pem)))
            .unwrap_or_default();
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: fake\n  cluster:\n    server: {}{ca}\n\
             users:\n- name: fake\n  user:\n    token: fake-apiserver\n\
             contexts:\n- name: fake\n  context:\n    cluster: fake\n    user: fake\ncurrent-context: fake\n",
            self.url()
        )
    }

    /// Direct access to the objects.
    pub fn cluster(&self) -> Cluster {
        Cluster {
            shared: Arc::clone(&self.shared),
        }
    }

    /// The faults.
    pub fn faults(&self) -> Faults {
        Faults {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Closes every open connection by FIN. New ones are accepted.
    pub fn disconnect_all(&self) {
        for control in self.shared.connections().values() {
            control.close();
        }
    }

    /// Stops listening: new connections are refused until [`FakeApiServer::resume`]. Open
    /// connections go on; [`FakeApiServer::disconnect_all`] closes them.
    pub fn pause(&self) {
        self.listener.close();
    }

    /// Listens again, on the same port.
    ///
    /// # Errors
    ///
    /// That of the operating system when the port cannot be had again.
    pub fn resume(&self) -> io::Result<()> {
        self.listener.reopen()
    }

    /// The requests received so far, oldest first, without those to `/_fake`. The latest
    /// 100,000 are kept.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.shared.log.all()
    }

    /// Waits for a request that satisfies `wanted`; those received before count too.
    ///
    /// The predicate sees each request again once its status is known.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn wait_for_request(
        &self,
        wanted: impl FnMut(&RequestRecord) -> bool,
        timeout: Duration,
    ) -> Result<RequestRecord, WaitTimeout> {
        self.shared.log.wait_for(wanted, timeout).await
    }

    /// Waits until at least `watches` watches are open. What is written to the cluster after
    /// this returns reaches each of them.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn wait_for_watches(
        &self,
        watches: usize,
        timeout: Duration,
    ) -> Result<(), WaitTimeout> {
        let mut count = self.shared.open.count();
        let reached = tokio::time::timeout(timeout, count.wait_for(|open| *open >= watches))
            .await
            .is_ok();
        if reached {
            return Ok(());
        }
        let open = *self.shared.open.count().borrow();
        Err(WaitTimeout {
            message: format!("{open} of {watches} watches open after {timeout:?}"),
        })
    }

    /// How many watches are open now.
    pub fn open_watches(&self) -> usize {
        *self.shared.open.count().borrow()
    }

    /// Stops the server and waits for its tasks. May be called again.
    ///
    /// # Cancel safety
    ///
    /// The server stops even when the future is dropped; only the waiting ends.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.listener.close();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for FakeApiServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.listener.close();
    }
}

/// The namespaces each cluster has.
fn bootstrap(shared: &Arc<Shared>) {
    let cluster = Cluster {
        shared: Arc::clone(shared),
    };
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
            "spec": {"finalizers": ["kubernetes"]},
        });
        let created = cluster.create(namespace);
        debug_assert!(created.is_ok(), "a new store takes the first namespaces");
    }
}

/// A connection in the server's list, until dropped.
struct Registered {
    shared: Arc<Shared>,
    id: u64,
}

impl Registered {
    fn new(shared: &Arc<Shared>, control: &Arc<Control>) -> Self {
        let id = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        shared.connections().insert(id, Arc::clone(control));
        Self {
            shared: Arc::clone(shared),
            id,
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.connections().remove(&self.id);
    }
}

/// The service's error type: every failure is an answer.
type Never = Infallible;

#[cfg(test)]
mod tests;
