//! Ctrl-C and the signal to terminate, as something a wait can notice.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Whether we were asked to stop. Clones share the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Interrupt {
    /// Takes over the signals of this process. The listening thread lives as long as the process.
    pub(super) fn install() -> Result<Self> {
        let interrupt = Self::default();
        let raise = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .context("cannot listen for signals")?;
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || match runtime.block_on(signalled()) {
                Ok(()) => raise.raise(),
                Err(error) => eprintln!("warning: Ctrl-C will not clean up: {error}"),
            })
            .context("cannot start the thread that listens for signals")?;
        Ok(interrupt)
    }

    /// Ends every present and later wait.
    pub(super) fn raise(&self) {
        *self
            .state
            .raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.state.changed.notify_all();
    }

    /// Waits until we are asked to stop.
    pub(super) fn wait(&self) {
        let mut raised = self
            .state
            .raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while !*raised {
            raised = self
                .state
                .changed
                .wait(raised)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for `time`; an error as soon as we are asked to stop.
    pub(super) fn pause(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        let mut raised = self
            .state
            .raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            if *raised {
                bail!("interrupted");
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            (raised, _) = self
                .state
                .changed
                .wait_timeout(raised, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(unix)]
async fn signalled() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn signalled() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_without_interrupt_ends_by_time() {
        assert!(Interrupt::default().pause(Duration::ZERO).is_ok());
    }

    #[test]
    fn pause_ends_with_an_error_when_interrupted_from_elsewhere() {
        let interrupt = Interrupt::default();
        let raise = interrupt.clone();
        let thread = thread::spawn(move || raise.raise());
        let error = interrupt.pause(Duration::from_secs(3600)).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
        thread.join().expect("the thread ends");
        interrupt.wait();
    }
}
