//! How a server is configured.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::resource::{Origin, Registry, Resource, ResourceType};
use crate::server::{Config, ExpiredWatch, FakeApiServer};
use crate::tls;

/// Configures a [`FakeApiServer`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use informers_fake_apiserver::{FakeApiServer, ResourceType};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let server = FakeApiServer::builder()
///     .tls(true)
///     .history(100)
///     .bookmark_interval(Duration::from_millis(500))
///     .resource(ResourceType::new("example.com", "v1", "widgets", "Widget"))
///     .start()
///     .await?;
/// assert!(server.kubeconfig().contains("certificate-authority-data"));
/// # server.shutdown().await; Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FakeApiServerBuilder {
    address: SocketAddr,
    tls: bool,
    window: usize,
    config: Config,
    resources: Vec<ResourceType>,
}

impl FakeApiServerBuilder {
    pub(crate) fn new() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            window: 10_000,
            config: Config {
                bookmark_interval: Duration::from_secs(60),
                expired_watch: ExpiredWatch::Event,
                lenient_namespaces: false,
            },
            resources: Vec::new(),
        }
    }

    /// Where to listen. Default: a free port of 127.0.0.1.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Whether to serve TLS, with a CA made for this server. Default: no.
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// How many events are kept for each resource. Default: 10,000.
    ///
    /// Reads and watches from revisions before them get 410, and so does an open watch whose
    /// client is more than so many events behind. Memory: one version of an object for each.
    pub fn history(mut self, events: usize) -> Self {
        self.window = events.max(1);
        self
    }

    /// How often a watch that allows bookmarks gets one. Default: 60 s, as upstream.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.config.bookmark_interval = interval;
        self
    }

    /// Serves another resource, as a `CustomResourceDefinition` would. Field selectors may name
    /// any path of its objects, and it has a status subresource.
    pub fn resource(mut self, resource: ResourceType) -> Self {
        self.resources.push(resource);
        self
    }

    /// How a watch from a compacted revision is answered. Default: by an ERROR event.
    pub fn expired_watch(mut self, answer: ExpiredWatch) -> Self {
        self.config.expired_watch = answer;
        self
    }

    /// Accepts objects in namespaces that do not exist. Default: they get 404.
    pub fn lenient_namespaces(mut self) -> Self {
        self.config.lenient_namespaces = true;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    ///
    /// That of the operating system when the address cannot be had.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future starts nothing.
    pub async fn start(self) -> io::Result<FakeApiServer> {
        let identity = if self.tls {
            Some(tls::self_signed()?)
        } else {
            None
        };
        let mut registry = Registry::built_in();
        for ty in self.resources {
            registry.add(Resource::new(ty, Origin::Builder, false, None));
        }
        FakeApiServer::serve(self.address, identity, self.config, registry, self.window).await
    }
}
