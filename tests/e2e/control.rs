//! [`Control`]: breaks the control plane on command.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use informers_fake_apiserver::{FakeApiServer, Fault};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An API server on a busy machine may take a while to be ready.
const LIMIT: Duration = Duration::from_secs(180);

/// What can be done to a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Waits until the API server is ready.
    StartApiserver,
    /// Ends it at once, as a crash does.
    KillApiserver,
    /// Stops it in good order and starts it again.
    RestartApiserver,
    /// Forgets the history of the database.
    Compact,
    /// Stops the database.
    StopEtcd,
    /// Starts it again, with what it held.
    StartEtcd,
    /// Gives the API server another certificate of the same authority.
    RotateServingCertificate,
}

impl Command {
    fn name(self) -> &'static str {
        match self {
            Self::StartApiserver => "start-apiserver",
            Self::KillApiserver => "kill-apiserver",
            Self::RestartApiserver => "restart-apiserver",
            Self::Compact => "compact",
            Self::StopEtcd => "stop-etcd",
            Self::StartEtcd => "start-etcd",
            Self::RotateServingCertificate => "rotate-serving-certificate",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The way to break the control plane.
#[derive(Clone)]
pub(crate) enum Control {
    /// The embedded server, in this process.
    Embedded(Arc<FakeApiServer>),
    /// Commands over TCP, a line each.
    Lines(SocketAddr),
    /// There is none: the cluster is not ours.
    None,
}

impl Control {
    /// Why commands cannot be carried out here, if they cannot.
    pub(crate) fn missing(&self) -> Option<String> {
        match self {
            Self::Embedded(_) | Self::Lines(_) => None,
            Self::None => Some("the provider does not let its control plane be broken".to_owned()),
        }
    }

    /// Whether that command can be carried out here.
    pub(crate) fn can(&self, command: Command) -> bool {
        match self {
            Self::Embedded(_) => command != Command::RotateServingCertificate,
            Self::Lines(_) => true,
            Self::None => false,
        }
    }

    /// Carries a command out; returns when it is done.
    pub(crate) async fn execute(&self, command: Command) -> Result<()> {
        match self {
            Self::Embedded(server) => embedded(server, command),
            Self::Lines(address) => timeout(LIMIT, send(*address, command))
                .await
                .with_context(|| format!("{command}: not done after {LIMIT:?}"))?,
            Self::None => bail!("{command}: there is no way to do that here"),
        }
    }
}

/// The same, done to the embedded server: its state is the database's, its connections are
/// the API server's.
fn embedded(server: &FakeApiServer, command: Command) -> Result<()> {
    match command {
        Command::StartApiserver => server.resume().context("cannot listen again")?,
        Command::KillApiserver => {
            server.faults().inject(Fault::cut(0).by_reset().now());
            server.pause();
            server.disconnect_all();
        }
        Command::RestartApiserver => {
            server.pause();
            server.disconnect_all();
            server.resume().context("cannot listen again")?;
        }
        Command::Compact => server.cluster().compact(),
        Command::StopEtcd => {
            let refused = Fault::status(500).message("etcdserver: request timed out");
            server.faults().inject(refused);
        }
        Command::StartEtcd => server.faults().clear(),
        Command::RotateServingCertificate => bail!("the embedded server keeps its certificate"),
    }
    Ok(())
}

async fn send(address: SocketAddr, command: Command) -> Result<()> {
    let stream = TcpStream::connect(address)
        .await
        .context("cannot connect to the control server")?;
    let mut stream = BufReader::new(stream);
    stream.write_all(format!("{command}\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    match answer.trim() {
        "ok" => Ok(()),
        answer => bail!("{command}: {answer}"),
    }
}
