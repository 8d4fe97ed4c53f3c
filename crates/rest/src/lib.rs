//! Kubernetes client configuration, credentials and HTTP transport for informers.
//!
//! - [`Config`]: where the API server is and who the client is; from code, a
//!   [`Kubeconfig`], or the pod this process runs in.
//! - [`Client`]: requests over shared connections, HTTP/2 or HTTP/1.1, through proxies.
//! - [`ListWatch`]: the [`ListerWatcher`](informers_reflector::ListerWatcher) of one
//!   resource, which decodes objects while they arrive.
//! - [`Api`]: get, create, replace, patch and delete, typed.
//!
//! Credentials of a kubeconfig are sent over `https` alone, as kubectl does; those set in
//! code are sent wherever the code says.

mod config;
mod credentials;
mod proxy;
mod tls;

mod body;
mod connect;
mod pool;
mod send_error;
mod transport_error;

mod client;
mod content;
mod request;
mod retry_after;
mod status;
mod warnings;

mod framing;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod list_watch;

mod api;

#[cfg(test)]
mod testing;

pub use api::{Api, DeleteOptions, ObjectList, Patch, Propagation, Selection, WriteOptions};
pub use body::Body;
pub use client::Client;
pub use config::{
    Compression, Config, ConfigError, Identity, Kubeconfig, Overrides, PemSource, RateLimit,
    Secret, Timeouts, TlsVersion,
};
pub use connect::{Connecting, Connector, Transport};
pub use credentials::{
    Credentials, ExecCluster, ExecConfig, Impersonation, OidcConfig, ProvidedToken, TokenProvider,
};
pub use list_watch::ListWatch;
pub use proxy::{Proxy, ProxyChoice};
pub use request::Request;
pub use warnings::{LogWarnings, WarningHandler};
