//! How a test breaks the control plane it runs against: a line a command over loopback TCP.
//!
//! A client sends one of [`Command`]'s names and a newline, and reads `ok` or
//! `error TEXT`, once the command is carried out. Commands of several clients are
//! carried out one after the other.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

use super::servers::Servers;

/// How often a connection without commands looks whether it is over.
const IDLE: Duration = Duration::from_millis(200);

/// What a test may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Waits until the API server is ready.
    StartApiserver,
    /// Lets it finish what it does.
    StopApiserver,
    /// Stops it and starts it again.
    RestartApiserver,
    /// Ends it at once, as a crash does.
    KillApiserver,
    StartEtcd,
    StopEtcd,
    /// Compacts etcd to its current revision.
    Compact,
    /// Replaces the API server's serving certificate.
    RotateServingCertificate,
}

impl Command {
    pub(super) const ALL: &[(&str, Command)] = &[
        ("start-apiserver", Command::StartApiserver),
        ("stop-apiserver", Command::StopApiserver),
        ("restart-apiserver", Command::RestartApiserver),
        ("kill-apiserver", Command::KillApiserver),
        ("start-etcd", Command::StartEtcd),
        ("stop-etcd", Command::StopEtcd),
        ("compact", Command::Compact),
        (
            "rotate-serving-certificate",
            Command::RotateServingCertificate,
        ),
    ];

    fn parse(line: &str) -> Option<Self> {
        let (_, command) = Self::ALL.iter().find(|(name, _)| *name == line.trim())?;
        Some(*command)
    }

    fn execute(self, servers: &mut Servers) -> Result<()> {
        match self {
            Command::StartApiserver => servers.start_apiserver(),
            Command::StopApiserver => servers.stop_apiserver(),
            Command::RestartApiserver => {
                servers.stop_apiserver()?;
                servers.start_apiserver()
            }
            Command::KillApiserver => servers.kill_apiserver(),
            Command::StartEtcd => servers.start_etcd(),
            Command::StopEtcd => servers.stop_etcd(),
            Command::Compact => servers.compact(),
            Command::RotateServingCertificate => servers.rotate_serving_certificate(),
        }
    }
}

/// What carries out a command: the servers, or a test's double.
type Execute = dyn Fn(Command) -> Result<()> + Send + Sync;

/// The listening side. Its threads end when it is dropped.
pub(super) struct Control {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens on a free port of the loopback address for commands to `servers`.
    pub(super) fn listen(servers: Arc<Mutex<Servers>>) -> Result<Self> {
        Self::serve(Arc::new(move |command: Command| {
            command.execute(&mut servers.lock().unwrap_or_else(PoisonError::into_inner))
        }))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(execute: Arc<Execute>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .context("no port for the control server")?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let acceptor = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || accept(&listener, &execute, &stop))
            .context("cannot start the control server")?;
        Ok(Self {
            address,
            over,
            acceptor: Some(acceptor),
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // A last connection wakes the thread that waits for one.
        if let Err(error) = TcpStream::connect(self.address) {
            eprintln!("warning: cannot wake the control server: {error}");
            return;
        }
        if self
            .acceptor
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            eprintln!("warning: the control server panicked");
        }
    }
}

fn accept(listener: &TcpListener, execute: &Arc<Execute>, over: &AtomicBool) {
    thread::scope(|scope| {
        for connection in listener.incoming() {
            if over.load(Ordering::SeqCst) {
                break;
            }
            match connection {
                Ok(stream) => {
                    scope.spawn(|| {
                        if let Err(error) = converse(stream, execute.as_ref(), over) {
                            eprintln!("warning: control connection: {error:#}");
                        }
                    });
                }
                Err(error) => eprintln!("warning: control connection: {error}"),
            }
        }
    });
}

/// Answers the commands of one client until it leaves or all is over.
fn converse(stream: TcpStream, execute: &Execute, over: &AtomicBool) -> Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    let mut answers = stream.try_clone()?;
    let mut commands = BufReader::new(stream);
    let mut line = String::new();
    while !over.load(Ordering::SeqCst) {
        match commands.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {
                let answer = answer(&line, execute);
                println!("control: {}: {answer}", line.trim());
                answers.write_all(format!("{answer}\n").as_bytes())?;
                line.clear();
            }
            // What was read of a line stays in it.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn answer(line: &str, execute: &Execute) -> String {
    let Some(command) = Command::parse(line) else {
        let names: Vec<&str> = Command::ALL.iter().map(|(name, _)| *name).collect();
        return format!("error unknown command; known are {}", names.join(", "));
    };
    match execute(command) {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("error {error:#}").replace('\n', " | "),
    }
}

#[cfg(test)]
mod tests;
