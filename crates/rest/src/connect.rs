//! Opening a connection to the API server: TCP, proxies, TLS.

mod dialer;

use std::future::Future;
use std::io;
use std::pin::Pin;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use dialer::{Connection, Dialer, TimedOut};

/// Any byte stream, as hyper wants it.
pub(crate) type BoxStream = TokioIo<Box<dyn Transport>>;

/// A byte stream in both directions. Implemented for whatever tokio can read and write.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection on its way.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send>>;

/// Opens connections instead of TCP: a tunnel, a Unix socket, a test's pipe.
pub trait Connector: Send + Sync + 'static {
    /// Opens a connection that leads to `host` (an IPv6 address has no brackets) and
    /// `port`. Bounded by the client's connect timeout.
    fn connect(&self, host: &str, port: u16) -> Connecting;
}
