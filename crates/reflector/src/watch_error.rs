//! [`WatchError`]: what the watch error handler is told.

use std::fmt;
use std::sync::Arc;

use crate::Error;

/// What a reflector was doing when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// LIST.
    List,
    /// WATCH with initial events.
    WatchList,
    /// WATCH.
    Watch,
    /// Giving changes to the store.
    Store,
    /// Decoding one object. The others are not affected.
    Decode,
}

/// A failure of a reflector: what it was doing, to which resource, and the error.
///
/// The text is `failed to list pods`; the error is in
/// [`source`](std::error::Error::source) and in [`error`](Self::error).
#[derive(Debug, Clone)]
pub struct WatchError {
    /// What the reflector was doing.
    pub operation: Operation,
    /// To what, as [`ListerWatcher::description`](crate::ListerWatcher::description)
    /// names it.
    pub resource: Arc<str>,
    /// Why it failed.
    pub error: Error,
}

/// Called for every failed request, every ERROR event, every object that does not
/// decode and every refusal of the store; not when a watch closes, in good order or
/// because a connection ended. Called from the reflector's task: what it does delays
/// the watch.
///
/// # Upstream
/// `cache.WatchErrorHandler`, which mid-stream errors do not reach.
#[doc(alias = "SetWatchErrorHandler")]
pub type WatchErrorHandler = Arc<dyn Fn(&WatchError) + Send + Sync>;

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = &*self.resource;
        match self.operation {
            Operation::List => write!(f, "failed to list {resource}"),
            Operation::WatchList => write!(f, "failed to list {resource} by a watch"),
            Operation::Watch => write!(f, "failed to watch {resource}"),
            Operation::Store => write!(f, "failed to store {resource}"),
            Operation::Decode => write!(f, "failed to decode one of {resource}"),
        }
    }
}

impl std::error::Error for WatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
