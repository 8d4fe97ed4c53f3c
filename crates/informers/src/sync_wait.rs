//! Waiting for caches to be filled, and saying who is late.

use std::fmt;
use std::time::Duration;

/// Some informers had not synced when the time was up.
#[derive(Debug, Clone)]
pub struct NotSynced {
    pub(crate) timeout: Duration,
    pub(crate) late: Vec<LateInformer>,
}

/// An informer that had not synced when the time was up, and what is known of it.
#[derive(Debug, Clone)]
pub struct LateInformer {
    /// The name of the informer, for example `v1/pods in namespace x`.
    pub informer: String,
    /// Whether the informer itself has synced, so that only handlers are late.
    pub informer_has_synced: bool,
    /// The handlers that have not returned from their whole initial list.
    pub handlers: Vec<String>,
    /// What it is doing at the moment, in a few words.
    pub state: String,
    /// Its last error, if it had one.
    pub last_error: Option<String>,
}

impl NotSynced {
    /// Who is late.
    pub fn late(&self) -> &[LateInformer] {
        &self.late
    }
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not synced within {:?}: ", self.timeout)?;
        for (n, late) in self.late.iter().enumerate() {
            if n > 0 {
                f.write_str("; ")?;
            }
            fmt::Display::fmt(late, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for LateInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.informer)?;
        if self.informer_has_synced {
            return write!(f, " (handlers still at work: {})", self.handlers.join(", "));
        }
        write!(f, " ({}", self.state)?;
        if let Some(error) = &self.last_error {
            write!(f, "; last error: {error}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for NotSynced {}

/// Some handlers were still at work when the time for a shutdown was up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownTimedOut {
    pub(crate) timeout: Duration,
    pub(crate) late: Vec<String>,
}

impl ShutdownTimedOut {
    /// The handlers (`informer: handler`) and informers that were late.
    pub fn late(&self) -> &[String] {
        &self.late
    }
}

impl fmt::Display for ShutdownTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "still at work {:?} after the shutdown began: {}",
            self.timeout,
            self.late.join(", ")
        )
    }
}

impl std::error::Error for ShutdownTimedOut {}
