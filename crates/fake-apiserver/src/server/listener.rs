//! Accepting connections, and not accepting them for a while.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Never, Registered, Shared};
use crate::connection::{Command, Control, FaultyStream};
use crate::service;

/// A listener that can be closed and opened again on its port.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    runtime: Handle,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    socket: Option<TcpListener>,
    /// Who waits for a connection.
    waiting: Option<Waker>,
}

impl Listener {
    pub(super) async fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        let slot = Mutex::new(Slot {
            socket: Some(socket),
            waiting: None,
        });
        Ok(Self {
            address,
            runtime: Handle::current(),
            slot,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) {
        self.slot().socket = None;
    }

    pub(super) fn reopen(&self) -> io::Result<()> {
        let mut slot = self.slot();
        if slot.socket.is_none() {
            let socket = std::net::TcpListener::bind(self.address)?;
            socket.set_nonblocking(true)?;
            let _runtime = self.runtime.enter();
            slot.socket = Some(TcpListener::from_std(socket)?);
            if let Some(waiting) = slot.waiting.take() {
                waiting.wake();
            }
        }
        Ok(())
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        std::future::poll_fn(|cx| {
            let mut slot = self.slot();
            slot.waiting = Some(cx.waker().clone());
            match &slot.socket {
                Some(socket) => socket.poll_accept(cx).map_ok(|(stream, _)| stream),
                None => Poll::Pending,
            }
        })
        .await
    }
}

/// Accepts connections until `stop`; each is served by a task of its own in `tasks`.
pub(super) async fn accept_all(
    listener: Arc<Listener>,
    shared: Arc<Shared>,
    acceptor: Option<TlsAcceptor>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(stream) => {
                let connection = serve_connection(
                    Arc::clone(&shared),
                    stream,
                    acceptor.clone(),
                    tasks.clone(),
                    stop.clone(),
                );
                let stop = stop.clone();
                tasks.spawn(async move { stop.run_until_cancelled(connection).await });
            }
            Err(error) => {
                // Out of file descriptors, most likely: it passes when others close.
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn serve_connection(
    shared: Arc<Shared>,
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let (control, mut commands) = Control::new();
    let _registered = Registered::new(&shared, &control);
    let stream = FaultyStream::new(stream, Arc::clone(&control));
    let executor = TaskExecutor { tasks, stop };
    let Some(acceptor) = acceptor else {
        return drive(stream, shared, control, commands, executor).await;
    };
    let accepted = tokio::select! {
        accepted = acceptor.accept(stream) => accepted,
        _ = commands.recv() => return,
    };
    match accepted {
        Ok(stream) => drive(stream, shared, control, commands, executor).await,
        Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
}

async fn drive<IO>(
    io: IO,
    shared: Arc<Shared>,
    control: Arc<Control>,
    mut commands: mpsc::UnboundedReceiver<Command>,
    executor: TaskExecutor,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = auto::Builder::new(executor);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000);
    let service = service_fn(move |request| {
        let answer = service::serve(Arc::clone(&shared), Arc::clone(&control), request);
        async move { Ok::<_, Never>(answer.await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    loop {
        tokio::select! {
            // The connection first: what it was given before a command still goes out.
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error, "a connection ended");
                }
                return;
            }
            command = commands.recv() => match command {
                Some(Command::GoAway) => connection.as_mut().graceful_shutdown(),
                Some(Command::Close) | None => return,
            },
        }
    }
}

/// Spawns the streams of an HTTP/2 connection among the server's tasks.
#[derive(Clone, Debug)]
struct TaskExecutor {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl<F> hyper::rt::Executor<F> for TaskExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        let stop = self.stop.clone();
        self.tasks
            .spawn(async move { stop.run_until_cancelled(future).await });
    }
}
