//! [`TcpProxy`]: a way to a server that can be cut, and made to lose every byte.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informers_rest::{Connecting, Connector, Transport};
use tokio::io::AsyncReadExt;
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
    /// Closes connections, and does not listen for new ones.
    Refuse,
    /// Keeps connections and loses everything: a black hole.
    Hole,
}

/// A TCP proxy in process, to break the way to a server without touching the server.
///
/// # Shutdown
/// [`shutdown`](Self::shutdown) closes every connection and waits for the tasks; dropping
/// the proxy closes them without waiting.
pub struct TcpProxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    accepted: Arc<AtomicUsize>,
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
        let proxy = Self {
            address,
            mode: watch::Sender::new(Mode::Open),
            accepted: Arc::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let accept = accept(
            listener,
            address,
            server,
            proxy.mode.subscribe(),
            Arc::clone(&proxy.accepted),
            proxy.tasks.clone(),
        );
        let stop = proxy.stop.clone();
        proxy.tasks.spawn(async move {
            let ended = stop.run_until_cancelled_owned(accept).await;
            listened(ended.unwrap_or(Ok(())));
        });
        Ok(proxy)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What leads a client through this proxy, whatever the server's URL is: TLS is spoken
    /// with the server that the URL names.
    pub fn connector(&self) -> Arc<dyn Connector> {
        Arc::new(Through(self.address))
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Closes every connection, and new ones at once, until [`open`](Self::open).
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Closes every connection and has new ones refused, as by a server that is down, until
    /// [`open`](Self::open), which listens on the same port again.
    pub fn refuse(&self) {
        self.mode.send_replace(Mode::Refuse);
    }

    /// Keeps connections, takes new ones, and loses every byte of both sides: neither
    /// learns anything, not even that the other has closed. [`open`](Self::open) closes
    /// the connections of that time.
    pub fn black_hole(&self) {
        self.mode.send_replace(Mode::Hole);
    }

    /// Hands bytes on again.
    pub fn open(&self) {
        self.mode.send_replace(Mode::Open);
    }

    /// Closes every connection and waits for the tasks.
    pub async fn shutdown(&self) {
        self.cut();
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.cut();
        self.stop.cancel();
    }
}

/// Connects to the proxy instead of the server.
struct Through(SocketAddr);

impl Connector for Through {
    fn connect(&self, _host: &str, _port: u16) -> Connecting {
        let proxy = self.0;
        Box::pin(async move {
            let stream = TcpStream::connect(proxy).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }
}

async fn accept(
    mut listener: TcpListener,
    address: SocketAddr,
    server: SocketAddr,
    mut mode: watch::Receiver<Mode>,
    accepted: Arc<AtomicUsize>,
    tasks: TaskTracker,
) -> io::Result<()> {
    loop {
        tokio::select! {
            client = listener.accept() => {
                let (client, _) = client?;
                accepted.fetch_add(1, Ordering::SeqCst);
                tasks.spawn(serve(client, server, mode.clone()));
            }
            () = begin_of(&mut mode, Mode::Refuse) => {
                drop(listener);
                end_of(&mut mode, Mode::Refuse).await;
                listener = TcpListener::bind(address).await?;
            }
        }
    }
}

/// Without its port the proxy is of no use, and no test should go on by accident.
fn listened(ended: io::Result<()>) {
    ended.expect("the proxy can listen on its port");
}

/// Carries one connection; dropping both its ends closes it.
async fn serve(mut client: TcpStream, server: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let now = *mode.borrow_and_update();
    let mut upstream = match now {
        Mode::Cut | Mode::Refuse => return,
        Mode::Hole => None,
        Mode::Open => match TcpStream::connect(server).await {
            Ok(upstream) => Some(upstream),
            // Nobody listens there: the client learns it by the end of its connection.
            Err(_) => return,
        },
    };
    if let Some(upstream) = &mut upstream {
        // Without it small messages wait for each other's acknowledgement.
        if client.set_nodelay(true).is_err() || upstream.set_nodelay(true).is_err() {
            return;
        }
        tokio::select! {
            // However a connection ends, both its ends are closed.
            _ = tokio::io::copy_bidirectional(&mut client, upstream) => return,
            () = end_of(&mut mode, Mode::Open) => {}
        }
    }
    if *mode.borrow() == Mode::Hole {
        tokio::select! {
            () = swallow(client, upstream) => {}
            () = end_of(&mut mode, Mode::Hole) => {}
        }
    }
}

/// Waits until the mode is `next`.
async fn begin_of(mode: &mut watch::Receiver<Mode>, next: Mode) {
    let begun = mode.wait_for(|mode| *mode == next).await.is_ok();
    if !begun {
        // The proxy is gone, and its token cancelled.
        std::future::pending::<()>().await;
    }
}

/// Waits until the mode is another than `now`.
async fn end_of(mode: &mut watch::Receiver<Mode>, now: Mode) {
    let changed = mode.wait_for(|mode| *mode != now).await.is_ok();
    debug_assert!(changed, "a proxy cuts its connections before it is gone");
}

/// Reads what comes and loses it, for ever.
async fn swallow(client: TcpStream, upstream: Option<TcpStream>) {
    let upstream = async {
        match upstream {
            Some(upstream) => lose(upstream).await,
            None => std::future::pending().await,
        }
    };
    tokio::join!(lose(client), upstream);
}

async fn lose(mut stream: TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {}
    // Held open: its end is not to be seen by the other side.
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests;
