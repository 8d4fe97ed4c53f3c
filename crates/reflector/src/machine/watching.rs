//! The WATCH half of the [`Machine`]: where to go on when a watch ends.

use std::time::Duration;

use informers_cache_core::ResourceVersion;
use tokio::time::Instant;

use super::{
    Action, Machine, PROVEN_LIFE, Phase, SHORTEST_ROUND, START_ATTEMPTS, Step, WatchEnd,
    asks_to_wait,
};
use crate::state::RelistCause;
use crate::watch_error::Operation;
use crate::{Error, TransportKind, WatchOptions};

impl Machine {
    /// The server accepted the watch.
    pub(crate) fn on_watch_open(&mut self, now: Instant) {
        self.start_failures = 0;
        self.cycle_backoff.on_success(now);
    }

    /// A batch reached the store; `version` is that of its last event.
    pub(crate) fn on_applied(&mut self, version: ResourceVersion) {
        self.position = Some(version);
        if self.has_moved() {
            self.on_proof();
        }
    }

    /// A watch ended, `lived` after it was accepted (or after its initial events).
    pub(crate) fn on_watch_end(&mut self, end: WatchEnd, lived: Duration, now: Instant) -> Step {
        if matches!(self.phase, Phase::InitialEvents(_)) {
            return self.on_initial_events_cut(end, now);
        }
        if lived >= PROVEN_LIFE {
            self.on_proof();
        }
        match end {
            WatchEnd::Deadline | WatchEnd::Silent => Step::at_once(self.watch_again()),
            WatchEnd::Closed => {
                let delay = self.after_close(lived, now);
                Step::after(delay, self.watch_again())
            }
            WatchEnd::Failed(error) if error.transport_kind().is_some() => {
                let delay = self.after_close(lived, now);
                let step = Step::after(delay, self.watch_again());
                step.because(Operation::Watch, error).quietly()
            }
            WatchEnd::Refused(error) => {
                if is_no_connection(&error) && self.start_failures < START_ATTEMPTS {
                    self.start_failures += 1;
                    return self.watch_later(error, now);
                }
                self.on_watch_error(error, now)
            }
            WatchEnd::Event(error) if error.is_internal() && self.internal_errors.allows(now) => {
                self.watch_later(error, now)
            }
            WatchEnd::Event(error) | WatchEnd::Failed(error) => self.on_watch_error(error, now),
        }
    }

    /// A watch from `version`.
    pub(super) fn begin_watch(&mut self, version: ResourceVersion) -> Action {
        self.phase = Phase::Watching(version.clone());
        Action::Watch(WatchOptions {
            resource_version: Some(version),
            allow_bookmarks: true,
            timeout: self.watch_timeout(),
            send_initial_events: false,
            version_match: None,
        })
    }

    fn on_watch_error(&mut self, error: Error, now: Instant) -> Step {
        let cause = if error.is_expired() {
            self.expired.clone_from(&self.position);
            RelistCause::Expired
        } else if error.is_too_large_resource_version() {
            self.is_position_refused = true;
            RelistCause::TooLarge
        } else if asks_to_wait(&error) {
            return self.watch_later(error, now);
        } else if error.is_decode() {
            // The store lacks what that event said. A list at the position could lack
            // it too.
            self.is_position_refused = true;
            RelistCause::Unreadable
        } else {
            RelistCause::WatchFailed
        };
        self.relist(cause, Operation::Watch, error, now)
    }

    /// From the same version, after a delay: the server's state is not in doubt.
    fn watch_later(&mut self, error: Error, now: Instant) -> Step {
        self.consecutive_failures += 1;
        self.cycle_backoff.on_other_failure();
        let stated = error.retry_after();
        let delay = self.watch_backoff.next_delay(now, stated, &mut self.rng);
        Step::after(delay, self.watch_again()).because(Operation::Watch, error)
    }

    fn watch_again(&mut self) -> Action {
        let version = self.position.clone();
        let version = version.expect("a watch begins at a list's version");
        self.begin_watch(version)
    }

    /// How long to wait after a watch that ended without a word against its version.
    fn after_close(&mut self, lived: Duration, now: Instant) -> Duration {
        if lived >= PROVEN_LIFE {
            return Duration::ZERO;
        }
        if self.has_moved() {
            return SHORTEST_ROUND.saturating_sub(lived);
        }
        self.short_watches += 1;
        if self.short_watches == 1 && lived >= SHORTEST_ROUND {
            return Duration::ZERO;
        }
        self.cycle_backoff.on_other_failure();
        self.watch_backoff.next_delay(now, None, &mut self.rng)
    }

    /// Whether the watch brought anything. A server that repeats the same events to
    /// each watch does not move the version on.
    fn has_moved(&self) -> bool {
        matches!(&self.phase, Phase::Watching(from) if self.position.as_ref() != Some(from))
    }

    fn on_proof(&mut self) {
        self.watch_backoff.reset();
        self.short_watches = 0;
        self.start_failures = 0;
        self.consecutive_failures = 0;
    }
}

/// Whether no answer came at all, for a reason that may pass.
fn is_no_connection(error: &Error) -> bool {
    matches!(
        error.transport_kind(),
        Some(
            TransportKind::Connect
                | TransportKind::Reset
                | TransportKind::Timeout
                | TransportKind::Eof
        )
    )
}
