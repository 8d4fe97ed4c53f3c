//! The WatchList half of the [`Machine`]: initial events, and the way back to LIST.

use informers_cache_core::ResourceVersion;
use tokio::time::Instant;

use super::{Action, EARLY_CLOSES, Machine, Phase, Source, Step, WatchEnd, asks_to_wait};
use crate::options::Initial;
use crate::watch_error::Operation;
use crate::{ContractError, Error, VersionMatch, WatchOptions};

impl Machine {
    /// The marker came: what was collected is the state at `version`.
    pub(crate) fn on_initial_events_end(&mut self, version: ResourceVersion) -> Step {
        debug_assert!(matches!(self.phase, Phase::InitialEvents(_)));
        self.early_closes = 0;
        self.replace(Some(version), Source::WatchList)
    }

    /// A watch for the present state and what follows; never from version 0, which
    /// lets the server begin anywhere.
    pub(super) fn begin_watch_list(&mut self) -> Action {
        let version = match &self.position {
            Some(position) if !self.is_position_refused => Some(position.clone()),
            _ => None,
        };
        self.phase = Phase::InitialEvents(version.clone());
        Action::WatchList(WatchOptions {
            resource_version: version,
            allow_bookmarks: true,
            timeout: self.watch_timeout(),
            send_initial_events: true,
            version_match: Some(VersionMatch::NotOlderThan),
        })
    }

    /// A WatchList ended before its marker.
    pub(super) fn on_initial_events_cut(&mut self, end: WatchEnd, now: Instant) -> Step {
        let error = match end {
            WatchEnd::Closed => return self.on_early_close(None, now),
            WatchEnd::Failed(error) if error.transport_kind().is_some() => {
                return self.on_early_close(Some(error), now);
            }
            WatchEnd::Silent | WatchEnd::Deadline => {
                self.remember_no_watch_list(now);
                return self.fall_back(ContractError::NoInitialEventsEnd.into());
            }
            WatchEnd::Refused(error) | WatchEnd::Event(error) | WatchEnd::Failed(error) => error,
        };
        let had_version = matches!(self.phase, Phase::InitialEvents(Some(_)));
        if had_version && (error.is_expired() || error.is_too_large_resource_version()) {
            self.consecutive_failures += 1;
            self.is_position_refused = true;
            return Step::at_once(self.begin_watch_list()).because(Operation::WatchList, error);
        }
        if asks_to_wait(&error) {
            return self.retry_watch_list(now, error);
        }
        if means_no_watch_list(&error) {
            self.remember_no_watch_list(now);
        }
        self.fall_back(error)
    }

    fn on_early_close(&mut self, error: Option<Error>, now: Instant) -> Step {
        self.early_closes += 1;
        if self.early_closes >= EARLY_CLOSES {
            self.remember_no_watch_list(now);
            let error = error.unwrap_or_else(|| ContractError::InitialEventsCutShort.into());
            return self.fall_back(error);
        }
        let error = error.unwrap_or_else(|| ContractError::InitialEventsCutShort.into());
        self.retry_watch_list(now, error).quietly()
    }

    fn retry_watch_list(&mut self, now: Instant, error: Error) -> Step {
        self.consecutive_failures += 1;
        let stated = error.retry_after();
        let delay = self.cycle_backoff.next_delay(now, stated, &mut self.rng);
        Step::after(delay, self.begin_watch_list()).because(Operation::WatchList, error)
    }

    /// LIST at once, in the same cycle; the next one may ask for a WatchList again.
    fn fall_back(&mut self, error: Error) -> Step {
        self.consecutive_failures += 1;
        self.early_closes = 0;
        Step::at_once(self.begin_list()).because(Operation::WatchList, error)
    }

    fn remember_no_watch_list(&mut self, now: Instant) {
        if self.settings.initial == Initial::Auto {
            self.no_watch_list_before = Some(now + self.settings.watch_list_memory);
        }
    }
}

/// Whether the server refuses the feature, rather than this one request.
fn means_no_watch_list(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| matches!(status.code, 400 | 405 | 406 | 415 | 422 | 501))
}
