//! [`ListenerCore`]: the state of one listener as a plain value, without lock or clock.

use std::time::Duration;

use informers_cache_core::Object;
use tokio::time::Instant;

use crate::pending::{Pending, Pushed};
use crate::{Buffer, HandlerStats, Notification};

/// A handler is reported as slow when more than this many notifications wait …
///
/// Source: client-go's trace of slow handlers.
pub(crate) const SLOW_DEPTH: usize = 1024;
/// … and a callback took longer than this.
pub(crate) const SLOW_CALLBACK: Duration = Duration::from_millis(100);
/// A slow handler is reported at most once in this time.
pub(crate) const SLOW_REPORT_PERIOD: Duration = Duration::from_secs(10);

/// What waits for one handler, and what became of the rest.
pub(crate) struct ListenerCore<T> {
    pending: Pending<T>,
    in_flight: Option<Instant>,
    reported: Option<Instant>,
    delivered: u64,
    panics: u64,
    coalesced: u64,
    max_depth: usize,
}

/// How a callback ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It returned.
    Returned,
    /// It panicked.
    Panicked,
}

/// A handler that does not keep up, for a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowHandler {
    pub(crate) depth: usize,
    pub(crate) oldest_age: Duration,
    pub(crate) took: Duration,
}

impl<T: Object> ListenerCore<T> {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self {
            pending: Pending::new(buffer),
            in_flight: None,
            reported: None,
            delivered: 0,
            panics: 0,
            coalesced: 0,
            max_depth: 0,
        }
    }

    /// Queues a notification.
    pub(crate) fn add(&mut self, notification: Notification<T>, now: Instant) {
        match self.pending.push(notification, now) {
            Pushed::Appended => self.max_depth = self.max_depth.max(self.pending.len()),
            Pushed::Merged => self.coalesced += 1,
        }
    }

    /// Takes the next notification out; a callback with it begins.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Notification<T>> {
        let notification = self.pending.pop()?;
        self.in_flight = Some(now);
        Some(notification)
    }

    /// The callback that began last ended. Answers whether it is time to say that the
    /// handler is slow.
    pub(crate) fn end(&mut self, ended: Ended, now: Instant) -> Option<SlowHandler> {
        let began = self.in_flight.take()?;
        self.delivered += 1;
        match ended {
            Ended::Returned => {}
            Ended::Panicked => self.panics += 1,
        }
        let took = now.saturating_duration_since(began);
        let depth = self.pending.len();
        if took <= SLOW_CALLBACK || depth <= SLOW_DEPTH {
            return None;
        }
        if self
            .reported
            .is_some_and(|at| now.saturating_duration_since(at) < SLOW_REPORT_PERIOD)
        {
            return None;
        }
        self.reported = Some(now);
        Some(SlowHandler {
            depth,
            oldest_age: self.oldest_age(now).unwrap_or_default(),
            took,
        })
    }

    /// Takes out what waits, for the caller to drop once it holds no lock.
    pub(crate) fn take_pending(&mut self) -> Pending<T> {
        self.pending.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.len() == 0
    }

    /// All but the count of initial adds, which is kept outside.
    pub(crate) fn stats(&self, now: Instant) -> HandlerStats {
        HandlerStats {
            depth: self.pending.len(),
            max_depth: self.max_depth,
            oldest_age: self.oldest_age(now),
            in_callback: self
                .in_flight
                .map(|began| now.saturating_duration_since(began)),
            delivered: self.delivered,
            panics: self.panics,
            coalesced: self.coalesced,
            initial_outstanding: 0,
        }
    }

    fn oldest_age(&self, now: Instant) -> Option<Duration> {
        self.pending
            .oldest()
            .map(|since| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests;
