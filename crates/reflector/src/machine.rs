//! [`Machine`]: which request comes next, and after how long a wait.
//!
//! A plain value: it sends nothing, reads no clock and draws no chance of its own. The
//! driver ([`Reflector`](crate::Reflector)) does what a [`Step`] says and tells what
//! came of it. Everything that decides whether to list or to watch, from which version
//! and when, is here and in the two files below it.
//!
//! # Invariants
//! Each path to a request passes one of these, so that no answer of a server makes a
//! hot loop:
//! - a delay of the cycle's backoff (everything that lists anew),
//! - a delay of the watch's backoff,
//! - a watch that lived [`PROVEN_LIFE`], or that moved the version on; then at most one
//!   watch begins in each [`SHORTEST_ROUND`],
//! - a fallback that cannot repeat within its cycle: from a version to "unset", from
//!   pages to one full list, from a WatchList to a LIST, a first short watch.

mod initial;
mod watching;

use std::num::NonZeroU32;
use std::time::Duration;

use informers_cache_core::ResourceVersion;
use tokio::time::Instant;

use crate::backoff::{Backoff, BackoffOptions};
use crate::options::{Initial, ReflectorOptions};
use crate::paging::{AfterPage, DEFAULT_PAGE_SIZE, Paging};
use crate::retry_with_deadline::RetryWithDeadline;
use crate::state::RelistCause;
use crate::watch_error::Operation;
use crate::{ContractError, Error, ListMeta, ListOptions, StatusError, WatchOptions};

/// A watch that lived this long has shown that it works: proxies that cut idle
/// streams do so after 15 s and more, broken ones within a few.
pub(crate) const PROVEN_LIFE: Duration = Duration::from_secs(10);

/// Watches that end early, but each with news, begin no closer to each other.
///
/// # Upstream
/// The minimal restart delay of `RetryWatcher`.
pub(crate) const SHORTEST_ROUND: Duration = Duration::from_secs(1);

/// So many times in a row a watch that finds no connection is tried again from its
/// version before the cycle ends. (Connection refused has no such limit.)
pub(crate) const START_ATTEMPTS: u32 = 3;

/// So many watches with initial events in a row may be cut before their end; then LIST is used.
pub(crate) const EARLY_CLOSES: u32 = 3;

/// What the driver is to do, after `delay`.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) delay: Duration,
    pub(crate) action: Action,
    /// What went wrong, if this step follows from that.
    pub(crate) failure: Option<Failure>,
    /// Set where a cycle ended and everything is listed anew.
    pub(crate) relist: Option<RelistCause>,
}

/// A failure, and who is told.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) operation: Operation,
    pub(crate) error: Error,
    /// An end of a watch that is part of normal life: not for the error handler.
    pub(crate) is_quiet: bool,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// List from the first page; what was collected before is void.
    ListFirst(ListOptions),
    /// List a further page, to what was collected before.
    ListNext(ListOptions),
    /// Give what was collected to the store.
    Replace(Option<ResourceVersion>),
    /// Watch with initial events; what was collected before is void.
    WatchList(WatchOptions),
    /// Watch.
    Watch(WatchOptions),
    /// Go on with the stream whose initial events were just replaced.
    KeepWatching,
}

/// How a watch ended.
#[derive(Debug)]
pub(crate) enum WatchEnd {
    /// The request was not accepted.
    Refused(Error),
    /// The server closed it in good order.
    Closed,
    /// Our own deadline, behind the server's, came.
    Deadline,
    /// Nothing came for so long that the initial events are given up.
    Silent,
    /// An ERROR event.
    Event(Error),
    /// The stream broke, or cannot be read.
    Failed(Error),
}

/// What the machine reads of [`ReflectorOptions`].
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    initial: Initial,
    page_size: Option<u32>,
    watch_timeout: Duration,
    watch_list_memory: Duration,
    internal_error_retry: Duration,
    backoff: BackoffOptions,
}

#[derive(Debug)]
enum Phase {
    /// A cycle is about to begin.
    Between,
    /// A LIST is on its way.
    Listing(Paging),
    /// The initial events of a watch come in; it was asked with this version.
    InitialEvents(Option<ResourceVersion>),
    /// The store is taking a list of this version.
    Replacing {
        version: Option<ResourceVersion>,
        source: Source,
    },
    /// A watch from this version is on its way or open.
    Watching(ResourceVersion),
}

/// Where a list that is given to the store came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    List,
    WatchList,
}

/// The list-and-watch decisions of one reflector.
///
/// # Upstream
/// `Reflector.ListAndWatchWithContext` and the fields it works on.
#[derive(Debug)]
pub(crate) struct Machine {
    settings: Settings,
    phase: Phase,
    /// The newest version that reached the store.
    position: Option<ResourceVersion>,
    /// The position is of no use to the server (expired, or from its future): lists ask
    /// for the newest state until one succeeds.
    is_position_refused: bool,
    /// The version that a watch was refused as expired; a list that answers with it
    /// leads nowhere.
    expired: Option<ResourceVersion>,
    /// The server answers version 0 in pages: it has no watch cache.
    has_no_watch_cache: bool,
    cycle_backoff: Backoff,
    watch_backoff: Backoff,
    internal_errors: RetryWithDeadline,
    /// Watches in a row that ended early and brought nothing.
    short_watches: u32,
    /// Watches in a row that found no connection.
    start_failures: u32,
    /// Watches in a row that ended before the marker of their initial events.
    early_closes: u32,
    /// WatchList is not asked for before this time.
    no_watch_list_before: Option<Instant>,
    consecutive_failures: u32,
    rng: fastrand::Rng,
}

impl Settings {
    pub(crate) fn new(options: &ReflectorOptions, supports_watch_list: bool) -> Self {
        let initial = if supports_watch_list {
            options.initial
        } else {
            Initial::List
        };
        Self {
            initial,
            page_size: options.page_size.map(NonZeroU32::get),
            watch_timeout: options.watch_timeout,
            watch_list_memory: options.watch_list_memory,
            internal_error_retry: options.internal_error_retry,
            backoff: options.backoff.clone(),
        }
    }
}

impl Step {
    fn at_once(action: Action) -> Self {
        Self::after(Duration::ZERO, action)
    }

    fn after(delay: Duration, action: Action) -> Self {
        Self {
            delay,
            action,
            failure: None,
            relist: None,
        }
    }

    fn because(mut self, operation: Operation, error: impl Into<Error>) -> Self {
        self.failure = Some(Failure {
            operation,
            error: error.into(),
            is_quiet: false,
        });
        self
    }

    fn quietly(mut self) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.is_quiet = true;
        }
        self
    }
}

impl Machine {
    pub(crate) fn new(settings: Settings, rng: fastrand::Rng) -> Self {
        Self {
            phase: Phase::Between,
            position: None,
            is_position_refused: false,
            expired: None,
            has_no_watch_cache: false,
            cycle_backoff: Backoff::new(settings.backoff.clone()),
            watch_backoff: Backoff::new(settings.backoff.clone()),
            internal_errors: RetryWithDeadline::new(settings.internal_error_retry),
            short_watches: 0,
            start_failures: 0,
            early_closes: 0,
            no_watch_list_before: None,
            consecutive_failures: 0,
            settings,
            rng,
        }
    }

    /// Failures since the last watch that proved itself.
    pub(crate) fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// The first request.
    pub(crate) fn start(&mut self, now: Instant) -> Step {
        let action = self.begin_cycle(now);
        Step::at_once(action)
    }

    /// A page of a LIST arrived whole.
    pub(crate) fn on_page(&mut self, meta: ListMeta, now: Instant) -> Step {
        let Phase::Listing(paging) = &mut self.phase else {
            unreachable!("a page came while no list was asked for");
        };
        let is_a_dead_end = paging.is_first_page()
            && paging.first().resource_version.is_some()
            && meta.resource_version.is_some()
            && meta.resource_version == self.expired;
        if is_a_dead_end {
            self.is_position_refused = true;
            return Step::at_once(self.begin_list());
        }
        let is_from_zero = paging
            .first()
            .resource_version
            .as_ref()
            .is_some_and(ResourceVersion::is_zero);
        match paging.on_page(meta) {
            AfterPage::Next(options) => Step::at_once(Action::ListNext(options)),
            AfterPage::Done {
                resource_version,
                in_pages,
            } => {
                self.has_no_watch_cache |= is_from_zero && in_pages;
                self.replace(resource_version, Source::List)
            }
            AfterPage::Broken(error) => {
                self.relist(RelistCause::ListFailed, Operation::List, error.into(), now)
            }
        }
    }

    /// A page of a LIST failed.
    pub(crate) fn on_list_error(&mut self, error: Error, now: Instant) -> Step {
        let Phase::Listing(paging) = &mut self.phase else {
            unreachable!("a list failed while none was asked for");
        };
        if let Some(full) = paging.on_error(&error) {
            self.consecutive_failures += 1;
            return Step::at_once(Action::ListFirst(full)).because(Operation::List, error);
        }
        let had_version = paging.first().resource_version.is_some();
        if had_version && (error.is_expired() || error.is_too_large_resource_version()) {
            self.consecutive_failures += 1;
            self.is_position_refused = true;
            return Step::at_once(self.begin_list()).because(Operation::List, error);
        }
        self.relist(RelistCause::ListFailed, Operation::List, error, now)
    }

    /// The store took the list.
    pub(crate) fn on_replaced(&mut self, now: Instant) -> Step {
        let Phase::Replacing { version, source } =
            std::mem::replace(&mut self.phase, Phase::Between)
        else {
            unreachable!("a list was replaced that was not to be");
        };
        self.is_position_refused = false;
        self.position.clone_from(&version);
        let Some(version) = version else {
            let error = ContractError::ListWithoutResourceVersion.into();
            let cause = RelistCause::NoResourceVersion;
            return self.relist(cause, Operation::List, error, now);
        };
        match source {
            Source::List => {
                self.cycle_backoff.on_success(now);
                Step::at_once(self.begin_watch(version))
            }
            Source::WatchList => {
                self.phase = Phase::Watching(version);
                Step::at_once(Action::KeepWatching)
            }
        }
    }

    /// The store refused a list, a batch or a resync: what it holds is unknown.
    pub(crate) fn on_store_error(&mut self, error: Error, now: Instant) -> Step {
        self.relist(RelistCause::Store, Operation::Store, error, now)
    }

    /// Everything is to be listed anew, after a delay.
    fn relist(
        &mut self,
        cause: RelistCause,
        operation: Operation,
        error: Error,
        now: Instant,
    ) -> Step {
        self.consecutive_failures += 1;
        self.watch_backoff.on_other_failure();
        // Beside an answer that will not change, the time it states means nothing.
        let stated = error.retry_after().filter(|_| asks_to_wait(&error));
        let delay = self.cycle_backoff.next_delay(now, stated, &mut self.rng);
        let action = self.begin_cycle(now + delay);
        Step {
            relist: Some(cause),
            ..Step::after(delay, action).because(operation, error)
        }
    }

    /// By WatchList or by LIST, as settings and memory say.
    fn begin_cycle(&mut self, at: Instant) -> Action {
        self.early_closes = 0;
        self.start_failures = 0;
        let use_watch_list = match self.settings.initial {
            Initial::List => false,
            Initial::WatchList => true,
            Initial::Auto => self.no_watch_list_before.is_none_or(|before| at >= before),
        };
        if use_watch_list {
            self.begin_watch_list()
        } else {
            self.begin_list()
        }
    }

    /// A LIST from its first page.
    fn begin_list(&mut self) -> Action {
        let first = self.first_page();
        self.phase = Phase::Listing(Paging::new(first.clone()));
        Action::ListFirst(first)
    }

    fn first_page(&self) -> ListOptions {
        let in_pages = |resource_version| ListOptions {
            resource_version,
            limit: Some(self.settings.page_size.unwrap_or(DEFAULT_PAGE_SIZE)),
            ..ListOptions::default()
        };
        match &self.position {
            _ if self.is_position_refused => in_pages(None),
            None => in_pages(ResourceVersion::new("0")),
            // A limit beside a version asks for exactly that version: a list that leads
            // nowhere new. So the newest state in pages, or all at once.
            Some(_) if self.has_no_watch_cache || self.settings.page_size.is_some() => {
                in_pages(None)
            }
            Some(position) => ListOptions {
                resource_version: Some(position.clone()),
                ..ListOptions::default()
            },
        }
    }

    fn replace(&mut self, version: Option<ResourceVersion>, source: Source) -> Step {
        self.phase = Phase::Replacing {
            version: version.clone(),
            source,
        };
        Step::at_once(Action::Replace(version))
    }

    /// `timeoutSeconds`: between once and twice the configured time.
    fn watch_timeout(&mut self) -> Duration {
        let timeout = self.settings.watch_timeout.mul_f64(1.0 + self.rng.f64());
        Duration::from_secs(timeout.as_secs().max(1))
    }
}

/// Whether asking the same again later is the right answer: the server is down or
/// overloaded, and says so.
fn asks_to_wait(error: &Error) -> bool {
    error.is_connection_refused()
        || error.is_too_many_requests()
        || (error.retry_after().is_some()
            && error.status().is_some_and(StatusError::is_server_trouble))
}

#[cfg(test)]
mod tests;
