//! [`Client`]: one program with its arguments, and how it is run.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::build::Programs;
use super::result::Measured;

/// Whose program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    ClientGo,
    KubeRs,
    Ours,
}

/// One configuration of one program.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) peer: Peer,
    /// Leaves managedFields out; compared with its like only.
    pub(super) stripped: bool,
    program: PathBuf,
    arguments: Vec<String>,
}

/// What is run, in this order.
pub(super) fn all(programs: &Programs) -> Vec<Client> {
    let mut clients = Vec::new();
    let mut add = |peer, program: &Path, name: &str, arguments: &str| {
        clients.push(Client {
            name: name.to_owned(),
            peer,
            stripped: arguments.contains("--strip-managed-fields"),
            program: program.to_owned(),
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        });
    };
    for (name, arguments) in CLIENT_GO {
        add(Peer::ClientGo, &programs.client_go, name, arguments);
    }
    for (name, arguments) in KUBE_RS {
        add(Peer::KubeRs, &programs.kube_rs, name, arguments);
    }
    for (name, arguments) in OURS {
        add(Peer::Ours, &programs.ours, name, arguments);
    }
    clients
}

#[rustfmt::skip]
const CLIENT_GO: &[(&str, &str)] = &[
    ("client-go json list", "--encoding json --initial list"),
    ("client-go json watchlist", "--encoding json --initial watchlist"),
    ("client-go protobuf list", "--encoding protobuf --initial list"),
    ("client-go protobuf watchlist", "--encoding protobuf --initial watchlist"),
    ("client-go json list stripped", "--encoding json --initial list --strip-managed-fields"),
    ("client-go protobuf list stripped", "--encoding protobuf --initial list --strip-managed-fields"),
];

#[rustfmt::skip]
const KUBE_RS: &[(&str, &str)] = &[
    ("kube-rs list current-thread", "--initial list --runtime current"),
    ("kube-rs watchlist current-thread", "--initial watchlist --runtime current"),
    ("kube-rs list multi-thread", "--initial list --runtime multi"),
    ("kube-rs list current-thread stripped", "--initial list --runtime current --strip-managed-fields"),
];

#[rustfmt::skip]
const OURS: &[(&str, &str)] = &[
    (PACKED, "--representation packed --initial list"),
    ("packed watchlist", "--representation packed --initial watchlist"),
    ("packed list current-thread", "--representation packed --initial list --runtime current"),
    (PACKED_DECODE, "--representation packed --initial list --touch decode"),
    ("packed list touch=decode current-thread", "--representation packed --initial list --touch decode --runtime current"),
    (PROJECTION, "--representation projection --initial list"),
    ("projection watchlist", "--representation projection --initial watchlist"),
    ("projection list current-thread", "--representation projection --initial list --runtime current"),
    ("eager list", "--representation eager --initial list"),
    ("eager list current-thread", "--representation eager --initial list --runtime current"),
    (EAGER_STRIPPED, "--representation eager --initial list --strip-managed-fields"),
];

/// The clients that have targets.
pub(super) const PACKED: &str = "packed list";
pub(super) const PACKED_DECODE: &str = "packed list touch=decode";
pub(super) const PROJECTION: &str = "projection list";
pub(super) const EAGER_STRIPPED: &str = "eager list stripped";

impl Client {
    /// Runs it once.
    pub(super) fn measure(&self, server: &str, events: u32, limit: Duration) -> Result<Measured> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .args(["--server", server, "--events", &events.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                bail!("not done after {limit:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        // One line: it fits the pipe.
        let mut line = String::new();
        let stdout = child.stdout.as_mut().context("no standard output")?;
        stdout.read_to_string(&mut line)?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Measured::of(line.trim())
    }
}
