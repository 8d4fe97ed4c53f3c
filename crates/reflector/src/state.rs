//! [`ReflectorHandle`]: what a reflector is doing, readable at any time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informers_cache_core::ResourceVersion;
use tokio::time::Instant;

use crate::machine::PROVEN_LIFE;
use crate::watch_error::WatchError;

/// What a reflector is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ReflectorPhase {
    /// It has not been started.
    #[default]
    Idle,
    /// A LIST is under way.
    Listing,
    /// The initial events of a WatchList come in.
    InitialEvents,
    /// A watch is being opened.
    Connecting,
    /// A watch is open.
    Watching,
    /// It waits before the next attempt.
    Waiting,
    /// It has ended.
    Stopped,
}

/// Why everything was listed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelistCause {
    /// The version to watch from is too old: 410.
    Expired,
    /// The version to watch from lies in the server's future.
    TooLarge,
    /// A watch failed in another way that an answer told.
    WatchFailed,
    /// An event could not be read.
    Unreadable,
    /// The store refused a change.
    Store,
    /// The list before failed.
    ListFailed,
    /// The list before had no version to watch from.
    NoResourceVersion,
}

/// What a reflector counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorCounters {
    /// LIST requests, each page counted.
    pub list_requests: u64,
    /// WATCH requests with initial events.
    pub watch_list_requests: u64,
    /// Other WATCH requests.
    pub watch_requests: u64,
    /// Lists that the store took, by LIST or WatchList.
    pub replaces: u64,
    /// Events other than bookmarks that the store took.
    pub events: u64,
    /// Bookmarks.
    pub bookmarks: u64,
    /// Objects that did not decode, once for each time they came.
    pub undecodable: u64,
    /// Failures of any kind.
    pub failures: u64,
    /// Relists, by [`RelistCause::Expired`].
    pub relists_expired: u64,
    /// By [`RelistCause::TooLarge`].
    pub relists_too_large: u64,
    /// By [`RelistCause::WatchFailed`].
    pub relists_watch_failed: u64,
    /// By [`RelistCause::Unreadable`].
    pub relists_unreadable: u64,
    /// By [`RelistCause::Store`].
    pub relists_store: u64,
    /// By [`RelistCause::ListFailed`].
    pub relists_list_failed: u64,
    /// By [`RelistCause::NoResourceVersion`].
    pub relists_no_resource_version: u64,
}

/// A snapshot of what a reflector is doing.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReflectorState {
    /// What it is doing.
    pub phase: ReflectorPhase,
    /// Since when it does that; `None` before its start.
    pub since: Option<Instant>,
    /// When the last event came, bookmarks included.
    pub last_event: Option<Instant>,
    /// The last failure, quiet ends of watches included, and when it happened. Stays
    /// after recovery.
    pub last_error: Option<(Instant, WatchError)>,
    /// Failures since a watch last lived 10 s or brought an event.
    pub consecutive_failures: u32,
    /// When the next request goes out, while [`ReflectorPhase::Waiting`].
    pub next_attempt: Option<Instant>,
    /// The newest version that reached the store.
    pub last_sync_resource_version: Option<ResourceVersion>,
    /// What was counted.
    pub counters: ReflectorCounters,
}

/// Reads what a [`Reflector`](crate::Reflector) is doing; a clone is a reference
/// count. Stays readable after its end.
///
/// # Locks
/// One mutex, held for a copy.
#[derive(Clone)]
pub struct ReflectorHandle(Arc<Mutex<ReflectorState>>);

impl ReflectorHandle {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(ReflectorState::default())))
    }

    /// What the reflector is doing now.
    pub fn state(&self) -> ReflectorState {
        let mut state = self.lock().clone();
        let is_proven = state.phase == ReflectorPhase::Watching
            && state
                .since
                .is_some_and(|since| since.elapsed() >= PROVEN_LIFE);
        if is_proven {
            state.consecutive_failures = 0;
        }
        state
    }

    /// The newest version that reached the store; `None` before the first list.
    ///
    /// # Upstream
    /// `Reflector.LastSyncResourceVersion`.
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.lock().last_sync_resource_version.clone()
    }

    pub(crate) fn update(&self, update: impl FnOnce(&mut ReflectorState)) {
        update(&mut self.lock());
    }

    pub(crate) fn enter(&self, phase: ReflectorPhase, now: Instant) {
        self.update(|state| {
            state.phase = phase;
            state.since = Some(now);
            state.next_attempt = None;
        });
    }

    pub(crate) fn wait(&self, delay: Duration, now: Instant) {
        self.update(|state| {
            state.phase = ReflectorPhase::Waiting;
            state.since = Some(now);
            state.next_attempt = Some(now + delay);
        });
    }

    // No code of users runs under the lock: a poisoned one holds whole values.
    fn lock(&self) -> MutexGuard<'_, ReflectorState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReflectorCounters {
    pub(crate) fn count_relist(&mut self, cause: RelistCause) {
        *match cause {
            RelistCause::Expired => &mut self.relists_expired,
            RelistCause::TooLarge => &mut self.relists_too_large,
            RelistCause::WatchFailed => &mut self.relists_watch_failed,
            RelistCause::Unreadable => &mut self.relists_unreadable,
            RelistCause::Store => &mut self.relists_store,
            RelistCause::ListFailed => &mut self.relists_list_failed,
            RelistCause::NoResourceVersion => &mut self.relists_no_resource_version,
        } += 1;
    }

    /// Relists of every cause.
    pub fn relists(&self) -> u64 {
        self.relists_expired
            + self.relists_too_large
            + self.relists_watch_failed
            + self.relists_unreadable
            + self.relists_store
            + self.relists_list_failed
            + self.relists_no_resource_version
    }
}

impl fmt::Debug for ReflectorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReflectorHandle")
            .field(&self.state())
            .finish()
    }
}
