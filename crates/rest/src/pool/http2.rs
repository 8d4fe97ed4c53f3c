//! [`Http2`]: a connection that serves many requests at once.

mod heard;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use informers_reflector::{Error, TransportKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::heard::{Heard, NoPong, silence};
use crate::config::Timeouts;
use crate::connect::{BoxStream, Transport};
use crate::send_error::SendError;
use crate::transport_error::classify_hyper;

/// As much of an answer may be under way unread, in bytes; what a reader that is slow
/// holds at most.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// The same for a connection, in bytes: more than 100 full streams, so that a slow
/// reader of one does not stop the others.
const CONNECTION_WINDOW: u32 = 128 * 1024 * 1024;
/// What hyper takes for the server's limit before the server has named one.
const UNKNOWN_LIMIT: usize = 1;
/// How long to wait for the server to name its limit.
const SETTINGS_WAIT: Duration = Duration::from_millis(500);
const SETTINGS_CHECK: Duration = Duration::from_millis(1);

/// An HTTP/2 connection, driven by a task of the pool.
pub(crate) struct Http2 {
    sender: http2::SendRequest<Full<Bytes>>,
    epoch: u64,
    replaced: Option<CancellationToken>,
    max_streams: usize,
    /// What the server allows.
    allowed: Arc<AtomicUsize>,
    streams: AtomicUsize,
    /// Whether an answer has come, so that the connection may be an old one.
    used: AtomicBool,
    /// Whether an answer did not come: no new requests.
    condemned: AtomicBool,
    /// When the peer was heard last.
    heard: Arc<Mutex<Instant>>,
    /// How long an answer to PING may take, unless there is none.
    ping_timeout: Option<Duration>,
    /// When the last stream ended.
    idle_since: Mutex<Instant>,
}

/// One stream of a connection, free again when dropped.
pub(crate) struct Stream {
    connection: Arc<Http2>,
    reused: bool,
}

impl Http2 {
    pub(super) async fn new(
        stream: BoxStream,
        epoch: u64,
        replaced: Option<CancellationToken>,
        timeouts: &Timeouts,
        max_streams: usize,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let (stream, heard) = Heard::new(stream.into_inner());
        let stream: Box<dyn Transport> = Box::new(stream);
        let stream = TokioIo::new(stream);
        let ping = (!timeouts.ping_interval.is_zero()).then_some(timeouts.ping_interval);
        let (sender, mut driver) = http2::Builder::new(Tasks(tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(UNKNOWN_LIMIT)
            .keep_alive_interval(ping)
            .keep_alive_timeout(timeouts.ping_timeout)
            .keep_alive_while_idle(true)
            .handshake(stream)
            .await
            .map_err(classify_hyper)?;
        wait_for_settings(&mut driver)
            .await
            .map_err(classify_hyper)?;
        let allowed = Arc::new(AtomicUsize::new(driver.current_max_send_streams()));
        tasks.spawn(drive(driver, Arc::clone(&allowed)));
        Ok(Self {
            sender,
            epoch,
            replaced,
            max_streams,
            allowed,
            streams: AtomicUsize::new(0),
            used: AtomicBool::new(false),
            condemned: AtomicBool::new(false),
            heard,
            ping_timeout: ping.map(|_| timeouts.ping_timeout),
            idle_since: Mutex::new(Instant::now()),
        })
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.condemned.load(Ordering::Relaxed)
    }

    pub(super) fn is_new(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }

    /// Whether nothing used it for `max_idle`.
    pub(super) fn is_stale(&self, max_idle: Duration) -> bool {
        let idle_since = self
            .idle_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.streams.load(Ordering::Acquire) == 0 && idle_since.elapsed() >= max_idle
    }

    /// The stream for whoever opened the connection.
    pub(super) fn first_stream(self: &Arc<Self>) -> Stream {
        self.streams.fetch_add(1, Ordering::AcqRel);
        Stream {
            connection: Arc::clone(self),
            reused: false,
        }
    }

    /// A stream, unless as many are in use as may be.
    pub(super) fn stream(self: &Arc<Self>) -> Option<Stream> {
        let limit = self.max_streams.min(self.allowed.load(Ordering::Relaxed));
        let more = |streams| (streams < limit).then_some(streams + 1);
        self.streams
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .ok()?;
        Some(Stream {
            connection: Arc::clone(self),
            reused: !self.is_new(),
        })
    }
}

impl Stream {
    pub(super) fn is_reused(&self) -> bool {
        self.reused
    }

    pub(crate) fn replaced(&self) -> Option<&CancellationToken> {
        self.connection.replaced.as_ref()
    }

    /// What that failure of the stream is: hyper reports streams of a connection whose PING
    /// was not answered as reset. A peer that resets, closes or says goodbye is heard
    /// when it does.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let connection = &*self.connection;
        let broke = matches!(
            error.transport_kind(),
            Some(TransportKind::Reset | TransportKind::Timeout)
        );
        match connection.ping_timeout {
            Some(limit) if broke && silence(&connection.heard) >= limit => {
                Error::transport(TransportKind::Timeout, NoPong { limit, error })
            }
            _ => error,
        }
    }

    /// Keeps new requests off the connection: this one got no answer, and the others
    /// find out by PING.
    pub(crate) fn condemn(&self) {
        self.connection.condemned.store(true, Ordering::Relaxed);
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendError> {
        let mut sender = self.connection.sender.clone();
        let answer = sender.try_send_request(request).await.map_err(|error| {
            let failure = SendError::of(error);
            SendError {
                error: self.explain(failure.error),
                ..failure
            }
        })?;
        self.connection.used.store(true, Ordering::Relaxed);
        Ok(answer)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut idle_since = self
            .connection
            .idle_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *idle_since = Instant::now();
        self.connection.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

type Driver = http2::Connection<BoxStream, Full<Bytes>, Tasks>;

/// Waits until the server has said how many streams it allows: its SETTINGS are the
/// first thing it sends. hyper does not tell when they come.
async fn wait_for_settings(driver: &mut Driver) -> Result<(), hyper::Error> {
    let deadline = Instant::now() + SETTINGS_WAIT;
    while driver.current_max_send_streams() == UNKNOWN_LIMIT && Instant::now() < deadline {
        tokio::select! {
            biased;
            over = &mut *driver => return over,
            () = tokio::time::sleep(SETTINGS_CHECK) => {}
        }
    }
    Ok(())
}

/// Drives a connection to its end, and makes known what the server allows.
async fn drive(mut driver: Driver, allowed: Arc<AtomicUsize>) {
    let over = std::future::poll_fn(|cx| {
        let over = Pin::new(&mut driver).poll(cx);
        allowed.store(driver.current_max_send_streams(), Ordering::Relaxed);
        over
    });
    if let Err(error) = over.await {
        tracing::debug!(%error, "HTTP/2 connection ended");
    }
}

/// hyper's helper tasks belong to the pool too.
#[derive(Clone)]
struct Tasks(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}
