//! [`Config`]: where the API server is, how it is trusted, and who the client is.
//!
//! Made in code ([`Config::new`] and the `with_*` methods), from a kubeconfig
//! ([`Kubeconfig`]), from the pod this process runs in ([`Config::in_cluster`]), or by
//! the rules that kubectl has ([`Config::infer`]).

mod environment;
mod error;
mod fields;
mod in_cluster;
mod infer;
mod kubeconfig;
mod pem_source;
mod resolve;
mod secret;
mod server;
mod timeouts;

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::connect::Connector;
use crate::credentials::{Credentials, Impersonation};
use crate::proxy::ProxyChoice;
use crate::warnings::{LogWarnings, WarningHandler};

pub(crate) use environment::Environment;
pub use error::ConfigError;
pub(crate) use fields::Fields;
pub use kubeconfig::{Kubeconfig, Overrides};
pub use pem_source::PemSource;
pub use secret::Secret;
pub(crate) use server::Server;
pub use timeouts::Timeouts;

/// Where the API server is, how it is trusted, and who the client is.
///
/// Nothing is read or connected to before [`Client::new`](crate::Client::new); files
/// named here are read there, and again when they change.
///
/// `Debug` shows no secrets.
///
/// # Examples
/// ```
/// use informers_rest::{Config, Credentials, PemSource};
///
/// let config = Config::new("https://10.0.0.1:6443")?
///     .with_certificate_authority(PemSource::file("/etc/ca.crt"))
///     .with_credentials(Credentials::token("…"))
///     .with_namespace("default");
/// # Ok::<(), informers_rest::ConfigError>(())
/// ```
///
/// # Upstream
/// `rest.Config`.
#[doc(alias = "rest.Config")]
#[derive(Clone)]
pub struct Config {
    pub(crate) server: Server,
    pub(crate) namespace: String,
    pub(crate) tls: TlsSettings,
    pub(crate) credentials: Credentials,
    pub(crate) impersonation: Impersonation,
    pub(crate) proxy: ProxyChoice,
    pub(crate) compression: Compression,
    pub(crate) timeouts: Timeouts,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) max_streams_per_connection: usize,
    pub(crate) http2: bool,
    pub(crate) user_agent: HeaderValue,
    pub(crate) headers: HeaderMap,
    pub(crate) warnings: Arc<dyn WarningHandler>,
    pub(crate) connector: Option<Arc<dyn Connector>>,
}

/// How the server is verified, and the certificate this client shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsSettings {
    pub(crate) certificate_authority: Option<PemSource>,
    /// In-cluster, a bundle that is missing or empty means the system's roots.
    pub(crate) certificate_authority_optional: bool,
    pub(crate) identity: Option<Identity>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
    pub(crate) min_version: TlsVersion,
}

/// A version of TLS.
///
/// # Upstream
/// `tls.VersionTLS12` and `tls.VersionTLS13`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2, the lowest that this crate speaks.
    #[default]
    V1_2,
    /// TLS 1.3.
    V1_3,
}

/// A client certificate and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by its intermediates if there are any.
    pub certificate: PemSource,
    /// Its private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PemSource,
}

/// When to ask the server for gzip.
///
/// Compressed lists save bandwidth and cost time at both ends; on the same machine
/// they only cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// For https to another machine.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never (kubeconfig: `disable-compression: true`).
    Never,
}

/// A limit on how many requests this client starts; watches are not counted and never
/// wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests per second, on average. More than zero.
    pub per_second: f64,
    /// How many may start at once after a pause.
    pub burst: u32,
}

/// kube-apiserver allows 100 unless told otherwise (`--http2-max-streams-per-connection`).
const DEFAULT_MAX_STREAMS: usize = 100;

impl Config {
    /// A server by its URL: `https://host:port/base/path`. No credentials, the
    /// system's certificate authorities, kubectl's default timeouts.
    ///
    /// # Errors
    /// If that is no `http` or `https` URL.
    pub fn new(server: &str) -> Result<Self, ConfigError> {
        Ok(Self::for_server(Server::parse(server, "https")?))
    }

    pub(crate) fn for_server(server: Server) -> Self {
        Self {
            server,
            namespace: "default".to_owned(),
            tls: TlsSettings::default(),
            credentials: Credentials::None,
            impersonation: Impersonation::default(),
            proxy: ProxyChoice::FromEnvironment,
            compression: Compression::default(),
            timeouts: Timeouts::default(),
            rate_limit: None,
            max_streams_per_connection: DEFAULT_MAX_STREAMS,
            http2: true,
            user_agent: default_user_agent(),
            headers: HeaderMap::new(),
            warnings: Arc::new(LogWarnings::default()),
            connector: None,
        }
    }

    /// The server's URL, with its base path and no trailing slash.
    pub fn server_url(&self) -> String {
        self.server.to_string()
    }

    /// The namespace to work in when the user names none: that of the context, or of
    /// the pod; `default` otherwise.
    #[doc(alias = "ClientConfig.Namespace")]
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// Sets the namespace to work in when the user names none.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Trusts these certificate authorities, and no others.
    #[must_use]
    pub fn with_certificate_authority(mut self, bundle: PemSource) -> Self {
        self.tls.certificate_authority = Some(bundle);
        self.tls.certificate_authority_optional = false;
        self
    }

    /// Shows this certificate to the server.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.tls.identity = Some(identity);
        self
    }

    /// Expects this name in the server's certificate (and asks for it by SNI) instead
    /// of the URL's host.
    #[must_use]
    pub fn with_tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// Sets the lowest version of TLS to speak; 1.2 by default, as Go's.
    #[must_use]
    #[doc(alias = "MinVersion")]
    pub fn with_min_tls_version(mut self, version: TlsVersion) -> Self {
        self.tls.min_version = version;
        self
    }

    /// Accepts any certificate: whoever sits in between can read and change
    /// everything, credentials included. For tests.
    #[must_use]
    pub fn with_insecure_skip_tls_verify(mut self) -> Self {
        self.tls.insecure = true;
        self
    }

    /// Sets how the client authenticates. Credentials set here are sent to an `http`
    /// server too; those of a kubeconfig file are not.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Acts as somebody else.
    #[must_use]
    pub fn with_impersonation(mut self, impersonation: Impersonation) -> Self {
        self.impersonation = impersonation;
        self
    }

    /// Sets which proxy to go through; by default the environment says.
    #[must_use]
    pub fn with_proxy(mut self, proxy: ProxyChoice) -> Self {
        self.proxy = proxy;
        self
    }

    /// Sets when to ask for gzip.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets how long the steps of a request may take.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Limits how many requests this client starts; there is no limit by default.
    /// Watches never wait for it.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// Sets how many requests may share one HTTP/2 connection; 100 by default. A server
    /// that allows fewer gets fewer. More connections are opened when these are full,
    /// so that no request waits.
    #[must_use]
    pub fn with_max_streams_per_connection(mut self, streams: std::num::NonZeroUsize) -> Self {
        self.max_streams_per_connection = streams.get();
        self
    }

    /// Does not offer HTTP/2 to the server.
    #[must_use]
    pub fn without_http2(mut self) -> Self {
        self.http2 = false;
        self
    }

    /// Sets the `User-Agent`; by default `informers/VERSION (OS/ARCHITECTURE)`.
    ///
    /// # Errors
    /// If the text cannot stand in a header.
    pub fn with_user_agent(mut self, user_agent: &str) -> Result<Self, ConfigError> {
        self.user_agent = HeaderValue::from_str(user_agent).map_err(|error| {
            ConfigError::new("user agent", "cannot stand in a header").with_source(error)
        })?;
        Ok(self)
    }

    /// Adds a header to every request. Those that the client itself sets win.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Sets who is told of the server's warnings; by default each different one is
    /// logged once.
    #[must_use]
    pub fn with_warning_handler(mut self, handler: Arc<dyn WarningHandler>) -> Self {
        self.warnings = handler;
        self
    }

    /// Sets what opens connections instead of TCP and proxies: a tunnel, a Unix
    /// socket, a test's pipe. TLS is spoken over it as the server's URL says.
    #[must_use]
    pub fn with_connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Whether to ask for gzip.
    pub(crate) fn asks_gzip(&self) -> bool {
        match self.compression {
            Compression::Always => true,
            Compression::Never => false,
            Compression::Auto => self.server.is_https() && !self.server.is_loopback(),
        }
    }
}

/// `informers/0.1.0 (linux/x86_64)`.
fn default_user_agent() -> HeaderValue {
    let text = format!(
        "informers/{} ({}/{})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
    );
    HeaderValue::try_from(text).expect("version, system and architecture are plain ASCII")
}

// By hand: headers may hold secrets, a connector need not be `Debug`.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("namespace", &self.namespace)
            .field("tls", &self.tls)
            .field("credentials", &self.credentials)
            .field("impersonation", &self.impersonation)
            .field("proxy", &self.proxy)
            .field("compression", &self.compression)
            .field("timeouts", &self.timeouts)
            .field("rate_limit", &self.rate_limit)
            .field("user_agent", &self.user_agent)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
