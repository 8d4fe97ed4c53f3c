//! [`LoadServer`]: the server of pods, for the length of a run.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A running load server; ended when dropped.
pub(super) struct LoadServer {
    child: Child,
    url: String,
    ready: String,
}

impl LoadServer {
    /// Starts it and waits until it answers.
    pub(super) fn start(program: &Path, pods: u32) -> Result<Self> {
        let address = free_address()?;
        let mut child = Command::new(program)
            .args(["-n", &pods.to_string(), "-addr", &address])
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let stdout = child.stdout.take().context("no standard output")?;
        let mut server = Self {
            child,
            url: format!("http://{address}"),
            ready: String::new(),
        };
        BufReader::new(stdout)
            .read_line(&mut server.ready)
            .context("the load server says nothing")?;
        ensure!(
            server.ready.starts_with("ready "),
            "the load server did not start"
        );
        server.ready = server.ready.trim_end().to_owned();
        // It says so just before it listens.
        let begun = Instant::now();
        while TcpStream::connect(&address).is_err() {
            ensure!(
                begun.elapsed() < Duration::from_secs(10),
                "the load server does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// What it said of its pods.
    pub(super) fn ready(&self) -> &str {
        &self.ready
    }
}

impl Drop for LoadServer {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("the load server does not end: {error}");
        }
    }
}

fn free_address() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.to_string())
}
