//! A server process of a control plane: started, stopped, killed, started again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const POLL: Duration = Duration::from_millis(20);

/// How much of a log an error shows.
const TAIL_LINES: usize = 25;

/// A process with a log file. Killed when dropped.
#[derive(Debug)]
pub(super) struct Member {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
    log: PathBuf,
    child: Option<Child>,
}

impl Member {
    pub(super) fn new(
        name: &'static str,
        program: PathBuf,
        arguments: Vec<OsString>,
        log: PathBuf,
    ) -> Self {
        Self {
            name,
            program,
            arguments,
            log,
            child: None,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Starts the process unless it runs; its output is appended to the log.
    pub(super) fn start(&mut self) -> Result<()> {
        if self.exited()?.is_none() && self.child.is_some() {
            return Ok(());
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .with_context(|| format!("cannot open {}", self.log.display()))?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        apart(&mut command);
        let child = command
            .spawn()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// How the process ended; `None` while it runs and before it was started.
    pub(super) fn exited(&mut self) -> Result<Option<ExitStatus>> {
        match &mut self.child {
            Some(child) => child
                .try_wait()
                .with_context(|| format!("cannot look after {}", self.name)),
            None => Ok(None),
        }
    }

    /// Asks the process to end, and kills it where it does not within `grace`.
    pub(super) fn stop(&mut self, grace: Duration) -> Result<()> {
        let Some(child) = &mut self.child else {
            return Ok(());
        };
        terminate(child)?;
        let until = Instant::now() + grace;
        while child.try_wait()?.is_none() {
            if Instant::now() >= until {
                return self.kill();
            }
            thread::sleep(POLL);
        }
        self.child = None;
        Ok(())
    }

    /// Ends the process without a chance to clean up.
    pub(super) fn kill(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        child
            .kill()
            .with_context(|| format!("cannot kill {}", self.name))?;
        child
            .wait()
            .with_context(|| format!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// The last lines of the log.
    pub(super) fn log_tail(&self) -> String {
        match fs::read(&self.log) {
            Ok(bytes) => tail(&String::from_utf8_lossy(&bytes), TAIL_LINES),
            Err(error) => format!("(no log: {error})"),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("warning: {error:#}");
        }
    }
}

/// Ctrl-C in a terminal reaches the whole group of processes; a server of its own group is
/// stopped by us, in order.
#[cfg(unix)]
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    command.process_group(0);
}

#[cfg(not(unix))]
fn apart(_: &mut Command) {}

/// Asks a process to end. The standard library only knows how to kill.
#[cfg(unix)]
fn terminate(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_none() {
        let status = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .context("cannot run `kill`")?;
        if !status.success() && child.try_wait()?.is_none() {
            child.kill()?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn terminate(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_none() {
        child.kill()?;
    }
    Ok(())
}

fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests;
