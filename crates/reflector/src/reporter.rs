//! [`Reporter`]: tells the log, the state and the error handler what went wrong.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::Undecodable;
use tokio::time::Instant;

use crate::Error;
use crate::machine::Failure;
use crate::state::ReflectorHandle;
use crate::watch_error::{Operation, WatchError, WatchErrorHandler};

/// An error that repeats is logged again after this time.
const LOG_AGAIN_AFTER: Duration = Duration::from_secs(600);

/// Tells the log, the state and the error handler what went wrong.
pub(crate) struct Reporter {
    pub(crate) name: Arc<str>,
    pub(crate) resource: Arc<str>,
    pub(crate) handle: ReflectorHandle,
    pub(crate) handler: Option<WatchErrorHandler>,
    pub(crate) log: RepeatLog,
}

impl Reporter {
    /// A step failed; the next comes after `delay`.
    pub(crate) fn failure(&mut self, failure: Failure, delay: Duration, now: Instant) {
        let error = WatchError {
            operation: failure.operation,
            resource: Arc::clone(&self.resource),
            error: failure.error,
        };
        let name = &*self.name;
        let chain = Chain(&error);
        // An expired version is as much part of normal life as a closed watch.
        if failure.is_quiet || error.error.is_expired() {
            tracing::debug!(reflector = name, error = %chain, ?delay, "goes on after an end");
        } else if let Some(repeats) = self.log.note(chain.to_string(), now) {
            tracing::warn!(reflector = name, error = %chain, ?delay, repeats, "failed");
        } else {
            tracing::debug!(reflector = name, error = %chain, ?delay, "failed again");
        }
        self.handle.update(|state| {
            state.counters.failures += u64::from(!failure.is_quiet);
            state.last_error = Some((now, error.clone()));
        });
        if !failure.is_quiet {
            self.tell(&error);
        }
    }

    /// Objects that did not decode, or that the transform refused.
    pub(crate) fn undecodable(&mut self, objects: Vec<Arc<Undecodable>>, now: Instant) {
        let count = objects.len();
        for (i, undecodable) in objects.into_iter().enumerate() {
            let error = WatchError {
                operation: Operation::Decode,
                resource: Arc::clone(&self.resource),
                error: Error::undecodable(undecodable),
            };
            let name = &*self.name;
            if i == 0 {
                tracing::warn!(reflector = name, error = %error.error, count, "does not decode");
            } else {
                tracing::debug!(reflector = name, error = %error.error, "does not decode");
            }
            self.handle.update(|state| {
                state.counters.undecodable += 1;
                state.last_error = Some((now, error.clone()));
            });
            self.tell(&error);
        }
    }

    fn tell(&self, error: &WatchError) {
        if let Some(handler) = &self.handler {
            handler(error);
        }
    }
}

/// Keeps an error that repeats from filling the log.
#[derive(Debug, Default)]
pub(crate) struct RepeatLog {
    last: Option<(String, Instant)>,
    repeats: u64,
}

impl RepeatLog {
    /// Whether to log `text` at `now`: how often the text before it was left out.
    pub(crate) fn note(&mut self, text: String, now: Instant) -> Option<u64> {
        if let Some((last, at)) = &self.last
            && *last == text
            && now.saturating_duration_since(*at) < LOG_AGAIN_AFTER
        {
            self.repeats += 1;
            return None;
        }
        self.last = Some((text, now));
        Some(std::mem::take(&mut self.repeats))
    }

    /// What failed works again.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// An error and its causes in one line.
struct Chain<'a>(&'a dyn StdError);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
