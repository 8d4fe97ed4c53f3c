//! [`TcpProxy`]: a connection that can be cut, held back and refused.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the proxy does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Hands them on.
    Open,
    /// Closes connections, old and new ones.
    Cut,
    /// Keeps connections and drops everything: a black hole.
    Hole,
}

/// A TCP proxy in process, to break the way to a server without touching the server.
pub struct TcpProxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl TcpProxy {
    /// Listens on loopback in front of `server`.
    ///
    /// # Errors
    /// If there is no port to be had.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (mode, stop, tasks) = (
            watch::Sender::new(Mode::Open),
            CancellationToken::new(),
            TaskTracker::new(),
        );
        let accept = accept(listener, server, mode.subscribe(), tasks.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(accept));
        Ok(Self {
            address,
            mode,
            stop,
            tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection, and new ones at once, until [`open`](Self::open).
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Keeps connections but loses every byte, until [`open`](Self::open), which closes
    /// the connections of that time.
    pub fn black_hole(&self) {
        self.mode.send_replace(Mode::Hole);
    }

    /// Hands bytes on again.
    pub fn open(&self) {
        self.mode.send_replace(Mode::Open);
    }

    /// Ends all connections and waits for the tasks.
    pub async fn shutdown(&self) {
        self.cut();
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    mode: watch::Receiver<Mode>,
    tasks: TaskTracker,
) {
    while let Ok((client, _)) = listener.accept().await {
        let mut mode = mode.clone();
        tasks.spawn(async move {
            let now = *mode.borrow_and_update();
            match now {
                Mode::Cut => {}
                Mode::Open => serve(client, server, mode).await,
                Mode::Hole => changed(&mut mode, Mode::Hole).await,
            }
        });
    }
}

/// Waits until the mode is another than `now`.
async fn changed(mode: &mut watch::Receiver<Mode>, now: Mode) {
    // An error means that the proxy is gone, which ends the connection just as well.
    if mode.wait_for(|mode| *mode != now).await.is_err() {
        tracing_free();
    }
}

/// There is nothing to be told.
fn tracing_free() {}

async fn serve(client: TcpStream, server: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let Ok(upstream) = TcpStream::connect(server).await else {
        return;
    };
    let (client, upstream) = (Arc::new(client), Arc::new(upstream));
    let mut pumped = std::pin::pin!(pump(&client, &upstream));
    tokio::select! {
        () = &mut pumped => {}
        () = changed(&mut mode, Mode::Open) => {
            // Held open without a byte: neither side learns anything.
            changed(&mut mode, Mode::Hole).await;
        }
    }
}

async fn pump(client: &TcpStream, upstream: &TcpStream) {
    let up = copy(client, upstream);
    let down = copy(upstream, client);
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

async fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
