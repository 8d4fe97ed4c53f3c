//! [`Dialer`]: one connection, opened step by step, each with its time limit.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use informers_reflector::{Error, TransportKind};
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::{BoxStream, Connector, Transport};
use crate::config::{Config, ConfigError, Environment, Timeouts, TlsVersion};
use crate::proxy::{Proxy, ProxyKind};
use crate::tls::Tls;
use crate::transport_error::{classify, classify_connect};

type BoxError = Box<dyn StdError + Send + Sync>;
type Dial = Pin<Box<dyn Future<Output = Result<BoxStream, BoxError>> + Send>>;

/// Opens connections to one API server.
pub(crate) struct Dialer {
    target: Uri,
    host: String,
    port: u16,
    route: Route,
    timeouts: Timeouts,
}

/// Which way.
enum Route {
    Direct(HttpConnector),
    Proxy(HttpConnector, Proxy),
    Custom(Arc<dyn Connector>),
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) stream: BoxStream,
    /// Whether both sides agreed on HTTP/2.
    pub(crate) http2: bool,
}

impl Dialer {
    pub(crate) fn new(config: &Config, environment: &Environment) -> Result<Self, ConfigError> {
        let server = &config.server;
        let target = format!("{}://{}/", server.scheme(), server.host_and_port());
        let target = target
            .parse()
            .map_err(|error| ConfigError::new("server", "is not a URL").with_source(error))?;
        let proxy = config.proxy.for_server(server, environment)?;
        let route = match (&config.connector, proxy) {
            (Some(connector), _) => Route::Custom(Arc::clone(connector)),
            (None, None) => Route::Direct(tcp(&config.timeouts)),
            (None, Some(proxy)) => Route::Proxy(tcp(&config.timeouts), proxy),
        };
        Ok(Self {
            target,
            host: server.host().to_owned(),
            port: server.port(),
            route,
            timeouts: config.timeouts.clone(),
        })
    }

    /// The proxy to which requests for a plain `http` server are sent whole, if there is
    /// one.
    pub(crate) fn forwarding_proxy(&self) -> Option<&Proxy> {
        let plain = self.target.scheme_str() == Some("http");
        match &self.route {
            Route::Proxy(_, proxy) if plain && proxy.kind != ProxyKind::Socks5 => Some(proxy),
            _ => None,
        }
    }

    /// Opens a connection; over TLS if `tls` is given.
    pub(crate) async fn dial(&self, tls: Option<&Tls>) -> Result<Connection, Error> {
        let through_proxy = matches!(self.route, Route::Proxy(..));
        let stream = within(self.timeouts.connect, "connect", self.open(tls))
            .await?
            .map_err(|error| classify_connect(error, through_proxy))?;
        let Some(tls) = tls else {
            let http2 = false;
            return Ok(Connection { stream, http2 });
        };
        let connector = TlsConnector::from(Arc::clone(&tls.config));
        let name = tls.server_name.clone();
        let handshake = connector.connect(name, stream.into_inner());
        let stream = within(self.timeouts.tls_handshake, "TLS handshake", handshake)
            .await?
            .map_err(|error| tls_error(error, tls.min_version))?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let stream: Box<dyn Transport> = Box::new(stream);
        Ok(Connection {
            stream: TokioIo::new(stream),
            http2,
        })
    }

    /// Opens the stream over which TLS or HTTP is spoken.
    fn open(&self, tls: Option<&Tls>) -> Dial {
        let target = self.target.clone();
        match &self.route {
            Route::Custom(connector) => {
                let connecting = connector.connect(&self.host, self.port);
                Box::pin(async move { Ok(TokioIo::new(connecting.await?)) })
            }
            Route::Direct(tcp) => open(tcp.clone(), target),
            Route::Proxy(tcp, proxy) => {
                let near = Near {
                    tcp: tcp.clone(),
                    tls: match proxy.kind {
                        ProxyKind::Https => Some(proxy_tls(tls, proxy)),
                        ProxyKind::Http | ProxyKind::Socks5 => None,
                    },
                };
                let uri = proxy.uri.clone();
                match proxy.kind {
                    ProxyKind::Socks5 => {
                        let mut socks = SocksV5::new(uri, near);
                        if let Some((user, password)) = &proxy.user {
                            socks = socks.with_auth(user.clone(), password.clone());
                        }
                        open(socks, target)
                    }
                    ProxyKind::Http | ProxyKind::Https if tls.is_none() => open(near, uri),
                    ProxyKind::Http | ProxyKind::Https => {
                        let mut tunnel = Tunnel::new(uri, near);
                        if let Some(authorization) = &proxy.authorization {
                            tunnel = tunnel.with_auth(authorization.clone());
                        }
                        open(tunnel, target)
                    }
                }
            }
        }
    }
}

/// TCP with the settings of long-lived connections.
fn tcp(timeouts: &Timeouts) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(timeouts.tcp_keepalive));
    tcp.set_keepalive_interval(Some(timeouts.tcp_keepalive));
    tcp.set_keepalive_retries(Some(3));
    tcp.set_connect_timeout(Some(timeouts.connect));
    tcp
}

/// Calls a connector and boxes what it gives.
fn open<C>(mut connector: C, uri: Uri) -> Dial
where
    C: Service<Uri> + Send + 'static,
    C::Response: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    Box::pin(async move {
        std::future::poll_fn(|cx| connector.poll_ready(cx))
            .await
            .map_err(Into::into)?;
        let stream = connector.call(uri).await.map_err(Into::into)?;
        let stream: Box<dyn Transport> = Box::new(TokioIo::new(stream));
        Ok(TokioIo::new(stream))
    })
}

/// A handshake that failed. rustls names no versions where both sides have none in common.
fn tls_error(error: io::Error, lowest: TlsVersion) -> Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let no_common_version = matches!(
        cause,
        Some(
            rustls::Error::AlertReceived(rustls::AlertDescription::ProtocolVersion)
                | rustls::Error::PeerIncompatible(
                    rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13
                        | rustls::PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
                )
        )
    );
    if no_common_version {
        return Error::transport(TransportKind::Tls, NoCommonVersion { lowest, error });
    }
    classify(error.into(), TransportKind::Tls)
}

/// The server speaks no version of TLS that this client may.
#[derive(Debug)]
struct NoCommonVersion {
    lowest: TlsVersion,
    error: io::Error,
}

impl fmt::Display for NoCommonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.lowest {
            TlsVersion::V1_2 => "the server speaks TLS 1.1 at most, and this client 1.2 at least",
            TlsVersion::V1_3 => "the server speaks TLS 1.2 at most, and this client 1.3 at least",
        })
    }
}

impl StdError for NoCommonVersion {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.error)
    }
}

/// Opens the connection to a proxy.
#[derive(Clone)]
struct Near {
    tcp: HttpConnector,
    tls: Option<Result<(TlsConnector, ServerName<'static>), NoTls>>,
}

impl Service<Uri> for Near {
    type Response = BoxStream;
    type Error = BoxError;
    type Future = Dial;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, proxy: Uri) -> Dial {
        let connecting = self.tcp.call(proxy);
        let tls = self.tls.clone();
        Box::pin(async move {
            let stream = connecting.await?;
            let stream: Box<dyn Transport> = match tls {
                None => Box::new(stream.into_inner()),
                Some(tls) => {
                    let (connector, name) = tls?;
                    Box::new(connector.connect(name, stream.into_inner()).await?)
                }
            };
            Ok(TokioIo::new(stream))
        })
    }
}

/// TLS to an https proxy: the cluster's settings, as in Go, but for the name and ALPN.
fn proxy_tls(
    tls: Option<&Tls>,
    proxy: &Proxy,
) -> Result<(TlsConnector, ServerName<'static>), NoTls> {
    let tls = tls.ok_or(NoTls)?;
    let name = ServerName::try_from(proxy.host().to_owned()).map_err(|_| NoTls)?;
    let mut config = (*tls.config).clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// An https proxy before a server without TLS settings.
#[derive(Debug, Clone, Copy)]
struct NoTls;

impl fmt::Display for NoTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an https proxy cannot be verified on the way to an http server")
    }
}

impl StdError for NoTls {}

/// `future` within `limit`, or an error that says which step took too long.
async fn within<F: Future>(
    limit: Duration,
    step: &'static str,
    future: F,
) -> Result<F::Output, Error> {
    tokio::time::timeout(limit, future)
        .await
        .map_err(|_| Error::transport(TransportKind::Timeout, TimedOut { step, limit }))
}

/// A step that took too long.
#[derive(Debug)]
pub(crate) struct TimedOut {
    pub(crate) step: &'static str,
    pub(crate) limit: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} took longer than {:?}", self.step, self.limit)
    }
}

impl StdError for TimedOut {}
