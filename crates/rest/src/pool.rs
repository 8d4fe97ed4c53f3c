//! [`Pool`]: connections to one API server, and who may use which.
//!
//! An HTTP/1.1 connection serves one request at a time and is driven by the task that
//! reads the answer. An HTTP/2 connection has a driver of its own and serves as many
//! requests as the server allows streams; one more than that opens another connection,
//! so that no request queues behind a watch.

mod http1;
mod http2;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informers_reflector::Error;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub(crate) use self::http1::Http1;
pub(crate) use self::http2::{Http2, Stream};
use crate::config::{Config, ConfigError, Environment, Timeouts};
use crate::connect::{Connection, Dialer};
use crate::proxy::Proxy;
use crate::tls::Tls;

/// As many unused HTTP/1.1 connections are kept (client-go's).
const MAX_IDLE: usize = 25;

/// Connections to one API server.
///
/// # Locks
/// `state` is held for bookkeeping alone. `dial` is held while a connection is opened
/// whose protocol may turn out to be HTTP/2, so that others may share it instead of
/// opening their own; the wait for it is bounded by the dialer's time limits.
///
/// # Shutdown
/// Dropping the pool and every answer ends all connections and their drivers;
/// [`tasks`](Self::tasks) tells when.
pub(crate) struct Pool {
    dialer: Dialer,
    timeouts: Timeouts,
    max_streams: usize,
    tasks: TaskTracker,
    dial: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    http2: Vec<Arc<Http2>>,
    /// What the server spoke last; `None` before the first connection.
    speaks_http2: Option<bool>,
    closed: bool,
}

struct Idle {
    connection: Http1,
    since: Instant,
}

/// Permission to send one request.
pub(crate) enum Lease {
    /// A connection of its own.
    Http1(Http1),
    /// A stream of a shared one.
    Http2(Stream),
}

impl Lease {
    /// Whether the connection was used before: it may have been closed unnoticed.
    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_reused(),
            Self::Http2(stream) => stream.is_reused(),
        }
    }
}

impl Pool {
    pub(crate) fn new(config: &Config, environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            dialer: Dialer::new(config, environment)?,
            timeouts: config.timeouts.clone(),
            max_streams: config.max_streams_per_connection,
            tasks: TaskTracker::new(),
            dial: tokio::sync::Mutex::new(()),
            state: Mutex::default(),
        })
    }

    /// The drivers of HTTP/2 connections.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// The proxy to which whole requests go.
    pub(crate) fn forwarding_proxy(&self) -> Option<&Proxy> {
        self.dialer.forwarding_proxy()
    }

    /// A connection for one request: an unused one, or a new one; `fresh` asks for a
    /// new one.
    pub(crate) async fn lease(&self, tls: Option<&Tls>, fresh: bool) -> Result<Lease, Error> {
        let epoch = tls.map_or(0, |tls| tls.epoch);
        if !fresh && let Some(lease) = self.reuse(epoch) {
            return Ok(lease);
        }
        if tls.is_none() || self.lock().speaks_http2 == Some(false) {
            return self.dial(tls).await;
        }
        let _dial = self.dial.lock().await;
        // Whoever held the lock before may have opened a connection with room.
        if let Some(lease) = self.reuse_new(epoch, fresh) {
            return Ok(lease);
        }
        self.dial(tls).await
    }

    async fn dial(&self, tls: Option<&Tls>) -> Result<Lease, Error> {
        let connection = self.dialer.dial(tls).await?;
        let epoch = tls.map_or(0, |tls| tls.epoch);
        let replaced = tls.map(|tls| tls.replaced.clone());
        let Connection { stream, http2 } = connection;
        if !http2 {
            let connection = Http1::new(stream, epoch, replaced).await?;
            self.lock().speaks_http2 = Some(false);
            return Ok(Lease::Http1(connection));
        }
        let connection = Http2::new(
            stream,
            epoch,
            replaced,
            &self.timeouts,
            self.max_streams,
            &self.tasks,
        )
        .await?;
        let connection = Arc::new(connection);
        let stream = connection.first_stream();
        let mut state = self.lock();
        state.speaks_http2 = Some(true);
        if !state.closed {
            state.http2.push(connection);
        }
        Ok(Lease::Http2(stream))
    }

    /// A connection that is there and free.
    fn reuse(&self, epoch: u64) -> Option<Lease> {
        let mut state = self.lock();
        state.prune(epoch, self.timeouts.pool_idle);
        for connection in &state.http2 {
            if let Some(stream) = connection.stream() {
                return Some(Lease::Http2(stream));
            }
        }
        // The one used last is the least likely to be closed.
        while let Some(mut idle) = state.idle.pop() {
            if idle.connection.is_usable() {
                return Some(Lease::Http1(idle.connection));
            }
        }
        None
    }

    /// As [`reuse`](Self::reuse); with `fresh`, only an HTTP/2 connection that no
    /// request has failed on counts.
    fn reuse_new(&self, epoch: u64, fresh: bool) -> Option<Lease> {
        if !fresh {
            return self.reuse(epoch);
        }
        let mut state = self.lock();
        state.prune(epoch, self.timeouts.pool_idle);
        let unused = state.http2.iter().find(|connection| connection.is_new());
        unused.and_then(Http2::stream).map(Lease::Http2)
    }

    /// Takes an HTTP/1.1 connection back whose answer was read whole.
    pub(crate) fn give_back(&self, mut connection: Http1) {
        if !connection.is_usable() {
            return;
        }
        connection.mark_reused();
        let mut state = self.lock();
        if state.closed || state.idle.len() >= MAX_IDLE {
            return;
        }
        state.idle.push(Idle {
            connection,
            since: Instant::now(),
        });
    }

    /// How many connections are open for HTTP/2, and how many idle for HTTP/1.1.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.http2.len(), state.idle.len())
    }

    /// Lets go of every connection that no answer uses, and keeps none from now on.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
        state.http2.clear();
        drop(state);
        self.tasks.close();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets go of connections that are closed, of another epoch, or unused for long.
    fn prune(&mut self, epoch: u64, max_idle: Duration) {
        self.idle
            .retain(|idle| idle.connection.epoch() == epoch && idle.since.elapsed() < max_idle);
        self.http2.retain(|connection| {
            connection.epoch() == epoch && !connection.is_closed() && !connection.is_stale(max_idle)
        });
    }
}
