//! [`SharedProcessor`]: the fan-out to all handlers of an informer.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use informers_cache_core::Object;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::processor_listener::{AnyHandler, ProcessorListener};
use crate::registration::{Listener, Owner};
use crate::{
    AsyncHandler, BlockingExecutor, EventHandler, HandlerExecutor, HandlerOptions,
    HandlerRegistration, HandlerStats, Notification, ResyncGrant, ResyncSchedule, Subscription,
    SyncFlag,
};

mod shutdown;

pub use shutdown::ShutdownMode;

/// Handlers are numbered through the whole process, so that one processor's never passes
/// for another's.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The fan-out to all handlers of an informer. Clones are the same fan-out.
///
/// Handlers may be added before and after [`start`](Self::start); until then their
/// notifications wait.
///
/// # Contract
/// Each handler is told in the order of the calls of [`distribute`](Self::distribute),
/// and its initial list before any of them that comes after it was added. The caller
/// keeps its store still between taking the snapshot and adding the handler.
///
/// # Locks
/// One mutex over the list of handlers and the resync schedule, and under it each
/// listener's own. They are held for bookkeeping: no callback, and no drop of a handler
/// or of an object, runs under any, so that a handler may call whatever is here.
///
/// # Shutdown
/// [`shutdown`](Self::shutdown) waits for every task. If the last clone is dropped without
/// it, all handlers are removed, and their tasks end by themselves.
///
/// # Upstream
/// `sharedProcessor`.
#[doc(alias = "sharedProcessor")]
pub struct SharedProcessor<T: Object> {
    inner: Arc<Inner<T>>,
}

struct Inner<T: Object> {
    state: Mutex<State<T>>,
    executor: Arc<dyn HandlerExecutor>,
    tasks: TaskTracker,
}

struct State<T> {
    phase: Phase,
    /// Those that are told. Copied when it changes, so that telling holds no lock.
    listeners: Arc<Vec<Arc<ProcessorListener<T>>>>,
    /// Those that were removed, or told to stop, and may still run.
    leaving: Vec<Arc<ProcessorListener<T>>>,
    schedule: ResyncSchedule,
}

enum Phase {
    /// Handlers may be added; none runs.
    Waiting,
    /// Handlers run here.
    Running(Handle),
    /// No handler can be added any more.
    Stopped,
}

/// How a [`SharedProcessor`] is made.
#[derive(Clone)]
pub struct ProcessorOptions {
    /// The informer's resync period: the default of its handlers, and how often it checks
    /// which are due. Default: zero, never.
    pub resync_period: Duration,
    /// Where callbacks run. Default: [`BlockingExecutor`].
    pub executor: Arc<dyn HandlerExecutor>,
}

impl Default for ProcessorOptions {
    fn default() -> Self {
        Self {
            resync_period: Duration::ZERO,
            executor: Arc::new(BlockingExecutor),
        }
    }
}

impl fmt::Debug for ProcessorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessorOptions")
            .field("resync_period", &self.resync_period)
            .finish_non_exhaustive()
    }
}

impl<T: Object> SharedProcessor<T> {
    /// A fan-out without handlers.
    pub fn new(options: ProcessorOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State {
                    phase: Phase::Waiting,
                    listeners: Arc::new(Vec::new()),
                    leaving: Vec::new(),
                    schedule: ResyncSchedule::new(options.resync_period),
                }),
                executor: options.executor,
                tasks: TaskTracker::new(),
            }),
        }
    }

    /// Starts a task for each handler on the current tokio runtime, and for each that is
    /// added later. The resync check period is fixed from now on. Does nothing the second
    /// time, or after a shutdown.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// # Upstream
    /// The beginning of `sharedProcessor.run`.
    #[doc(alias = "run")]
    pub fn start(&self) {
        let runtime = Handle::current();
        let listeners = {
            let mut state = self.inner.lock();
            match state.phase {
                Phase::Waiting => {}
                Phase::Running(_) | Phase::Stopped => return,
            }
            state.schedule.start();
            state.phase = Phase::Running(runtime.clone());
            Arc::clone(&state.listeners)
        };
        for listener in &*listeners {
            listener.start(&runtime, &self.inner.tasks, &self.inner.executor);
        }
    }

    /// Adds a handler. It is told of `initial` first, as adds of the initial list, then
    /// of all that is distributed afterwards. It has synced once `informer_synced` is set
    /// and it has returned from all adds of the initial list.
    ///
    /// # Errors
    /// [`ProcessorStopped`] after a shutdown; the handler is dropped.
    ///
    /// # Upstream
    /// `AddEventHandlerWithOptions`, `sharedProcessor.addListener`.
    #[doc(alias = "AddEventHandlerWithOptions")]
    pub fn add_listener<H: EventHandler<T>>(
        &self,
        handler: H,
        options: HandlerOptions,
        initial: Vec<Arc<T>>,
        informer_synced: SyncFlag,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        let name = handler.name();
        let handler = AnyHandler::Blocking(Box::new(handler));
        let listener = self.add(Some(handler), &name, options, initial, informer_synced)?;
        Ok(self.registration(listener))
    }

    /// Adds an async handler; all else is as for [`add_listener`](Self::add_listener).
    ///
    /// # Errors
    /// [`ProcessorStopped`] after a shutdown; the handler is dropped.
    pub fn add_async_listener<H: AsyncHandler<T>>(
        &self,
        handler: H,
        options: HandlerOptions,
        initial: Vec<Arc<T>>,
        informer_synced: SyncFlag,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        let name = handler.name();
        let handler = AnyHandler::Async(Box::new(handler));
        let listener = self.add(Some(handler), &name, options, initial, informer_synced)?;
        Ok(self.registration(listener))
    }

    /// Adds a stream; all else is as for [`add_listener`](Self::add_listener).
    ///
    /// # Errors
    /// [`ProcessorStopped`] after a shutdown.
    pub fn subscribe(
        &self,
        options: HandlerOptions,
        initial: Vec<Arc<T>>,
        informer_synced: SyncFlag,
    ) -> Result<Subscription<T>, ProcessorStopped> {
        let listener = self.add(None, "subscription", options, initial, informer_synced)?;
        let registration = self.registration(Arc::clone(&listener));
        Ok(Subscription::new(listener, registration))
    }

    fn add(
        &self,
        handler: Option<AnyHandler<T>>,
        default_name: &str,
        options: HandlerOptions,
        initial: Vec<Arc<T>>,
        informer_synced: SyncFlag,
    ) -> Result<Arc<ProcessorListener<T>>, ProcessorStopped> {
        let name: Arc<str> = match options.name {
            Some(name) => name.into(),
            None => default_name.into(),
        };
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(ProcessorListener::new(
            id,
            Arc::clone(&name),
            options.buffer,
            informer_synced,
            handler,
        ));
        let now = Instant::now();
        let initial = initial.into_iter().map(|obj| Notification::Add {
            obj,
            is_in_initial_list: true,
        });
        listener.mailbox.add(initial, now);

        let (runtime, grant, check_period) = {
            let mut state = self.inner.lock();
            let runtime = match &state.phase {
                Phase::Stopped => return Err(ProcessorStopped { handler: name }),
                Phase::Waiting => None,
                Phase::Running(runtime) => Some(runtime.clone()),
            };
            let grant = state.schedule.add(id, options.resync_period, now);
            let is_syncing = state.schedule.is_syncing(id);
            listener.is_syncing.store(is_syncing, Ordering::Release);
            Arc::make_mut(&mut state.listeners).push(Arc::clone(&listener));
            state.prune();
            (runtime, grant, state.schedule.check_period())
        };
        if let Some(runtime) = runtime {
            listener.start(&runtime, &self.inner.tasks, &self.inner.executor);
        }
        report(grant, &name, options.resync_period, check_period);
        Ok(listener)
    }

    /// Removes a handler, as [`HandlerRegistration::remove`] does; answers whether it was
    /// there. A handle of another processor, or of a handler removed before, is left
    /// alone.
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove_listener(&self, registration: &HandlerRegistration) -> bool {
        if !registration.belongs_to(Arc::as_ptr(&self.inner).cast()) {
            return false;
        }
        let known = self.inner.forget(registration.id());
        registration.remove();
        known
    }

    /// Tells all handlers of `notification`. A sync notification (a resync, or an
    /// unchanged object found by a relist) goes only to those who are to be synced.
    pub fn distribute(&self, notification: Notification<T>, is_sync: bool) {
        self.distribute_all(&[(notification, is_sync)]);
    }

    /// Tells all handlers of a batch of `(notification, is_sync)`: for each handler one
    /// lock, and at most one wake-up.
    pub fn distribute_all(&self, batch: &[(Notification<T>, bool)]) {
        if batch.is_empty() {
            return;
        }
        let listeners = Arc::clone(&self.inner.lock().listeners);
        let now = Instant::now();
        for listener in &*listeners {
            listener.add(batch, now);
        }
    }

    /// Whether any handler is due for a resync at `now`; until the next call, sync
    /// notifications go to those and to no others.
    #[doc(alias = "shouldResync")]
    pub fn should_resync(&self, now: Instant) -> bool {
        let mut state = self.inner.lock();
        let any = state.schedule.should_resync(now);
        for listener in &*state.listeners {
            let is_syncing = state.schedule.is_syncing(listener.id);
            listener.is_syncing.store(is_syncing, Ordering::Release);
        }
        any
    }

    /// How often [`should_resync`](Self::should_resync) is to be asked; zero: never.
    pub fn resync_check_period(&self) -> Duration {
        self.inner.lock().schedule.check_period()
    }

    /// The resync period that a handler has; zero: never. `None` if it was removed or is
    /// another processor's.
    pub fn resync_period(&self, registration: &HandlerRegistration) -> Option<Duration> {
        self.inner.lock().schedule.period(registration.id())
    }

    /// The handlers, in the order in which they were added.
    pub fn registrations(&self) -> Vec<HandlerRegistration> {
        let listeners = Arc::clone(&self.inner.lock().listeners);
        listeners
            .iter()
            .map(|listener| self.registration(Arc::clone(listener)))
            .collect()
    }

    /// How each handler is doing, by name, in the order in which they were added; those
    /// that were removed, or told to end, come last, until they have ended.
    pub fn stats(&self) -> Vec<(Arc<str>, HandlerStats)> {
        let (listeners, leaving) = {
            let mut state = self.inner.lock();
            state.prune();
            (Arc::clone(&state.listeners), state.leaving.clone())
        };
        listeners
            .iter()
            .chain(&leaving)
            .map(|listener| (Arc::clone(&listener.name), Listener::stats(&**listener)))
            .collect()
    }

    /// Whether a shutdown has begun.
    pub fn is_stopped(&self) -> bool {
        matches!(self.inner.lock().phase, Phase::Stopped)
    }

    fn registration(&self, listener: Arc<ProcessorListener<T>>) -> HandlerRegistration {
        let owner: Weak<Inner<T>> = Arc::downgrade(&self.inner);
        HandlerRegistration::new(listener, owner)
    }
}

/// Says what became of a resync period that could not be had.
fn report(grant: ResyncGrant, handler: &str, requested: Option<Duration>, check_period: Duration) {
    let reason = match grant {
        ResyncGrant::Granted => return,
        ResyncGrant::RaisedToMinimum => "it is raised to the minimum of one second",
        ResyncGrant::RaisedToCheckPeriod => {
            "it is raised to the check period of the informer, which has started"
        }
        ResyncGrant::InformerHasNoResync => "the informer has no resync, so there will be none",
    };
    tracing::warn!(
        handler,
        requested = ?requested,
        check_period = ?check_period,
        "resync period not as asked: {reason}"
    );
}

impl<T: Object> Inner<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<T: Object> State<T> {
    /// Lets go of those that have finished.
    fn prune(&mut self) {
        self.leaving.retain(|listener| !listener.finished.is_set());
    }
}

impl<T: Object> Owner for Inner<T> {
    fn forget(&self, id: u64) -> bool {
        let mut state = self.lock();
        let Some(at) = state.listeners.iter().position(|known| known.id == id) else {
            return false;
        };
        let listener = Arc::make_mut(&mut state.listeners).remove(at);
        state.schedule.remove(id);
        state.prune();
        // Still ours to wait for, if the processor is shut down before it has ended.
        state.leaving.push(listener);
        true
    }
}

impl<T: Object> Drop for Inner<T> {
    fn drop(&mut self) {
        let listeners = Arc::clone(&self.lock().listeners);
        for listener in &*listeners {
            listener.close();
        }
    }
}

impl<T: Object> Clone for SharedProcessor<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T: Object> fmt::Debug for SharedProcessor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedProcessor")
            .field("handlers", &self.registrations())
            .finish_non_exhaustive()
    }
}

/// The informer of a handler has stopped, and cannot start again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorStopped {
    handler: Arc<str>,
}

impl fmt::Display for ProcessorStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "handler {} was not added to the shared informer because it has stopped already",
            self.handler
        )
    }
}

impl Error for ProcessorStopped {}

#[cfg(test)]
mod tests;
