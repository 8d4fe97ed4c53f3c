//! [`Reflector`]: drives the [`Machine`] over a client and a store.

mod watch;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use informers_cache_core::{
    Change, Object, ReflectorStore, Replacement, ResourceVersion, Undecodable,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::lister_watcher::{ListOptions, ListPart, ListerWatcher};
use crate::machine::{Action, Machine, Settings, Step};
use crate::options::ReflectorOptions;
use crate::reporter::{RepeatLog, Reporter};
use crate::state::{ReflectorHandle, ReflectorPhase};
use crate::waiter::{Interrupt, Waiter};
use crate::{ContractError, Error, TransportKind};
use watch::OpenWatch;

/// Lists a resource and watches it for ever, and keeps a store up to date with it.
///
/// # Contract
/// One at a time: [`run`](Self::run) consumes the reflector, and nothing but it writes
/// to the store. A list reaches the store whole or not at all; the events of a watch
/// in order, each exactly once as far as the server sends them so.
///
/// # Shutdown
/// Cancel the token: [`run`](Self::run) returns as soon as the task is polled,
/// whatever it waits for, and drops the request under way. It has no tasks of its own.
///
/// # Memory
/// A list is collected as the store's [`Replacement`]: no page is held beside it. One
/// batch of events is held while it is handed over.
///
/// # Upstream
/// `cache.Reflector`. The differences: short watches, and answers that promise
/// recovery, never cause a relist; every failure reaches the error handler; a
/// WatchList keeps the server's order, has deadlines and falls back with a memory.
pub struct Reflector<T> {
    lister_watcher: Arc<dyn ListerWatcher<T>>,
    store: Arc<dyn ReflectorStore<T>>,
    options: ReflectorOptions,
    handle: ReflectorHandle,
    rng: fastrand::Rng,
}

impl<T: Object> Reflector<T> {
    /// A reflector from `lister_watcher` to `store`. Nothing is asked before
    /// [`run`](Self::run).
    #[doc(alias = "NewReflectorWithOptions")]
    pub fn new(
        lister_watcher: Arc<dyn ListerWatcher<T>>,
        store: Arc<dyn ReflectorStore<T>>,
        options: ReflectorOptions,
    ) -> Self {
        Self {
            lister_watcher,
            store,
            options,
            handle: ReflectorHandle::new(),
            rng: fastrand::Rng::new(),
        }
    }

    /// Fixes the chance in delays and time limits.
    #[cfg(test)]
    pub(crate) fn with_seed(mut self, seed: u64) -> Self {
        self.rng = fastrand::Rng::with_seed(seed);
        self
    }

    /// Reads what the reflector is doing.
    pub fn handle(&self) -> ReflectorHandle {
        self.handle.clone()
    }

    /// Lists and watches until `cancel` is cancelled. Failures are retried for ever;
    /// the error handler and the state tell of them.
    ///
    /// # Cancel safety
    /// May be dropped at any point. The store then holds a state that was true.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    ///
    /// # Upstream
    /// `Reflector.RunWithContext`.
    #[doc(alias = "RunWithContext")]
    pub async fn run(self, cancel: CancellationToken) {
        let resource: Arc<str> = self.lister_watcher.description().into();
        let name = match self.options.name.as_str() {
            "" => Arc::clone(&resource),
            name => name.into(),
        };
        let settings = Settings::new(&self.options, self.lister_watcher.supports_watch_list());
        let mut driver = Driver {
            machine: Machine::new(settings, self.rng),
            waiter: Waiter::new(cancel, Arc::clone(&self.store), self.options.resync_check),
            reporter: Reporter {
                name,
                resource,
                handle: self.handle.clone(),
                handler: self.options.error_handler,
                log: RepeatLog::default(),
            },
            lister_watcher: self.lister_watcher,
            store: self.store,
            handle: self.handle,
            limits: Limits {
                request: self.options.request_timeout,
                margin: self.options.watch_margin,
                initial_events: self.options.initial_events_timeout,
            },
            list: None,
            open: None,
            changes: Vec::new(),
        };
        let Err(Stopped) = driver.run().await;
        driver.handle.enter(ReflectorPhase::Stopped, Instant::now());
    }
}

/// The reflector is to stop.
struct Stopped;

/// How long the driver waits for what.
struct Limits {
    request: Duration,
    margin: Duration,
    initial_events: Duration,
}

/// A running reflector.
struct Driver<T> {
    lister_watcher: Arc<dyn ListerWatcher<T>>,
    store: Arc<dyn ReflectorStore<T>>,
    machine: Machine,
    waiter: Waiter<T>,
    reporter: Reporter,
    handle: ReflectorHandle,
    limits: Limits,
    /// What a list, or the initial events of a watch, brought so far.
    list: Option<Replacement<T>>,
    /// The watch whose initial events are being replaced.
    open: Option<OpenWatch<T>>,
    /// Events on their way to the store: empty between batches, kept for its memory.
    changes: Vec<Change<T>>,
}

impl<T: Object> Driver<T> {
    async fn run(&mut self) -> Result<Infallible, Stopped> {
        let mut step = self.machine.start(Instant::now());
        loop {
            let span = tracing::debug_span!("list_and_watch", reflector = &*self.reporter.name);
            step = self.list_and_watch(step).instrument(span).await?;
        }
    }

    /// One cycle: from a list through watches to what makes another list necessary.
    async fn list_and_watch(&mut self, first: Step) -> Result<Step, Stopped> {
        let mut step = first;
        loop {
            step = match self.take(step).await {
                Ok(next) => next,
                Err(Interrupt::Stopped) => return Err(Stopped),
                Err(Interrupt::Store(error)) => self
                    .machine
                    .on_store_error(Error::store(error), Instant::now()),
            };
            let now = Instant::now();
            if let Some(failure) = step.failure.take() {
                self.reporter.failure(failure, step.delay, now);
            }
            let failures = self.machine.consecutive_failures();
            self.handle.update(|state| {
                state.consecutive_failures = failures;
                if let Some(cause) = step.relist {
                    state.counters.count_relist(cause);
                }
            });
            if step.relist.is_some() {
                // Nothing of the cycle is held through the wait.
                self.list = None;
                self.open = None;
                return Ok(step);
            }
        }
    }

    async fn take(&mut self, step: Step) -> Result<Step, Interrupt> {
        if !step.delay.is_zero() {
            self.handle.wait(step.delay, Instant::now());
            self.waiter.until(sleep(step.delay)).await?;
        }
        match step.action {
            Action::ListFirst(options) => {
                self.open = None;
                self.list = Some(self.store.begin_replace());
                self.list_page(options).await
            }
            Action::ListNext(options) => self.list_page(options).await,
            Action::Replace(version) => self.replace(version).await,
            Action::WatchList(options) => {
                self.open = None;
                self.list = Some(self.store.begin_replace());
                self.watch_list(options).await
            }
            Action::Watch(options) => self.watch(options).await,
            Action::KeepWatching => self.keep_watching().await,
        }
    }

    /// One page.
    async fn list_page(&mut self, options: ListOptions) -> Result<Step, Interrupt> {
        tracing::debug!(?options, "lists");
        self.handle.enter(ReflectorPhase::Listing, Instant::now());
        self.handle
            .update(|state| state.counters.list_requests += 1);
        let mut parts = self.lister_watcher.list(options);
        let error = loop {
            let part = timeout(self.limits.request, parts.next());
            match self.waiter.until(part).await? {
                Ok(Some(Ok(ListPart::Items(items)))) => {
                    let list = self.list.get_or_insert_with(|| self.store.begin_replace());
                    let refused: Vec<Arc<Undecodable>> = items
                        .into_iter()
                        .filter_map(|item| list.push(item).err())
                        .collect();
                    self.reporter.undecodable(refused, Instant::now());
                }
                Ok(Some(Ok(ListPart::End(meta)))) => {
                    return Ok(self.machine.on_page(meta, Instant::now()));
                }
                Ok(Some(Err(error))) => break error,
                Ok(None) => break ContractError::TruncatedList.into(),
                Err(elapsed) => break Error::transport(TransportKind::Timeout, elapsed),
            }
        };
        self.list = None;
        Ok(self.machine.on_list_error(error, Instant::now()))
    }

    /// Gives what was collected to the store.
    async fn replace(&mut self, version: Option<ResourceVersion>) -> Result<Step, Interrupt> {
        self.waiter.until_store_is_ready().await?;
        let list = self.list.take();
        let list = list.unwrap_or_else(|| self.store.begin_replace());
        let count = list.len();
        self.store
            .replace(list, version.as_ref())
            .map_err(Interrupt::Store)?;
        tracing::debug!(count, ?version, "replaced");
        self.handle.update(|state| {
            state.counters.replaces += 1;
            state.last_sync_resource_version = version;
        });
        Ok(self.machine.on_replaced(Instant::now()))
    }
}

impl<T> fmt::Debug for Reflector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
