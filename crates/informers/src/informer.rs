//! [`SharedIndexInformer`]: one watch, one indexed store, any number of handlers.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_cache_core::{Object, ResourceVersion, Transform};
use informers_indexer::{DuplicateIndexer, Indexers, Lister, Store, ThreadSafeStore};
use informers_processor::{
    AsyncHandler, EventHandler, HandlerOptions, HandlerRegistration, ProcessorOptions,
    ProcessorStopped, SharedProcessor, ShutdownMode, Subscription, SyncFlag,
};
use informers_reflector::{ListerWatcher, ReflectorPhase, ReflectorState, WatchErrorHandler};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::observed::{NotObserved, Observed};
use crate::options::InformerOptions;
use crate::sync_wait::{LateInformer, NotSynced};
use crate::words::{chain, doing};

mod shared;

use shared::{Life, Settings, Shared, Sources, StopOnDrop};

/// One list-and-watch of one resource, an indexed store of its objects, and any number
/// of handlers that are told of every change.
///
/// A handle: clones are the same informer. It does nothing until it is
/// [`run`](Self::run), usually by
/// [`SharedInformerFactory::start`](crate::SharedInformerFactory::start).
///
/// # Contract
/// - A handler is told in order; each key's history is add, updates, delete, with the
///   `old` of each update being the `new` of what was told before.
/// - The store and its indices are changed before handlers are told.
/// - A handler added while the informer runs is told of all that is stored, as adds, and
///   then of everything after it; nothing is missed and nothing doubled.
///
/// # Locks
/// `deltas` is held while one batch goes from the queue to the store and the handlers'
/// buffers, and while a handler is added. No user callback but index functions runs
/// under it.
///
/// # Shutdown
/// 1. The token of [`run`](Self::run) is cancelled, or [`stop`](Self::stop) called.
/// 2. The reflector ends and the queue is closed.
/// 3. Handlers finish their callback in flight; what waits for them is dropped, or
///    delivered after [`stop_with_drain`](Self::stop_with_drain).
/// 4. `run` returns.
///
/// # Upstream
/// `cache.SharedIndexInformer`.
pub struct SharedIndexInformer<T: Object> {
    shared: Arc<Shared<T>>,
}

/// Where an informer is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// It was not run yet; nothing is listed.
    NotStarted,
    /// It runs.
    Running,
    /// It has stopped, for good.
    Stopped,
}

impl<T: Object> SharedIndexInformer<T> {
    /// An informer over any source of lists and watches.
    pub fn new(lister_watcher: Arc<dyn ListerWatcher<T>>, options: InformerOptions<T>) -> Self {
        let name = lister_watcher.description();
        Self::of(name, vec![(None, lister_watcher)], options)
    }

    /// One informer over several namespaces: a list and a watch for each, one queue, one
    /// store. It has synced once all of them have. A relist of one namespace touches that
    /// one alone.
    ///
    /// For clients that may not list a resource in all namespaces. One watch over all of
    /// them is cheaper where it is allowed.
    pub fn over_namespaces(
        sources: impl IntoIterator<Item = (String, Arc<dyn ListerWatcher<T>>)>,
        options: InformerOptions<T>,
    ) -> Self {
        let sources: Vec<_> = sources
            .into_iter()
            .map(|(namespace, source)| (Some(Arc::from(namespace)), source))
            .collect();
        let names: Vec<_> = sources.iter().map(|(_, it)| it.description()).collect();
        Self::of(names.join(", "), sources, options)
    }

    fn of(name: String, sources: Sources<T>, options: InformerOptions<T>) -> Self {
        let store = Arc::new(ThreadSafeStore::new(options.indexers));
        let processor = SharedProcessor::new(ProcessorOptions {
            resync_period: options.resync_period.unwrap_or_default(),
            executor: options.executor,
        });
        let settings = Settings {
            queue: options.queue,
            transform: options.transform,
            reflector: options.reflector,
            error_handler: None,
            mode: ShutdownMode::Drop,
        };
        Self {
            shared: Arc::new(Shared {
                name,
                sources,
                store,
                processor,
                synced: SyncFlag::new(),
                finished: SyncFlag::new(),
                observed: Observed::new(),
                stop: CancellationToken::new(),
                mutation_detector: options.mutation_detector,
                deltas: Mutex::new(()),
                life: Mutex::new(Life::NotStarted(Box::new(settings))),
            }),
        }
    }

    /// What the informer is about, for logs: `v1/pods in namespace x`.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds a handler, before or after the start.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn add_event_handler(
        &self,
        handler: impl EventHandler<T>,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        self.add_event_handler_with_options(handler, HandlerOptions::new())
    }

    /// Adds a handler with a resync period of its own; zero: never.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    #[doc(alias = "AddEventHandlerWithResyncPeriod")]
    pub fn add_event_handler_with_resync_period(
        &self,
        handler: impl EventHandler<T>,
        resync_period: Duration,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        let options = HandlerOptions::new().with_resync_period(resync_period);
        self.add_event_handler_with_options(handler, options)
    }

    /// Adds a handler with options.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    #[doc(alias = "AddEventHandlerWithOptions")]
    pub fn add_event_handler_with_options(
        &self,
        handler: impl EventHandler<T>,
        options: HandlerOptions,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        let shared = &self.shared;
        let _deltas = shared.block_deltas();
        let synced = shared.synced.clone();
        shared
            .processor
            .add_listener(handler, options, shared.store.list(), synced)
    }

    /// Adds a handler whose callbacks are futures; they run one after another.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    pub fn add_async_event_handler(
        &self,
        handler: impl AsyncHandler<T>,
        options: HandlerOptions,
    ) -> Result<HandlerRegistration, ProcessorStopped> {
        let shared = &self.shared;
        let _deltas = shared.block_deltas();
        let synced = shared.synced.clone();
        shared
            .processor
            .add_async_listener(handler, options, shared.store.list(), synced)
    }

    /// The changes as a stream, with the guarantees of a handler. Dropping the stream
    /// removes it.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    pub fn subscribe(&self) -> Result<Subscription<T>, ProcessorStopped> {
        self.subscribe_with_options(HandlerOptions::new())
    }

    /// The changes as a stream, with options.
    ///
    /// # Errors
    /// [`ProcessorStopped`] once the informer has stopped.
    pub fn subscribe_with_options(
        &self,
        options: HandlerOptions,
    ) -> Result<Subscription<T>, ProcessorStopped> {
        let shared = &self.shared;
        let _deltas = shared.block_deltas();
        let synced = shared.synced.clone();
        shared
            .processor
            .subscribe(options, shared.store.list(), synced)
    }

    /// Removes a handler; answers whether it was there. No callback of it starts after
    /// this returns; one may still be running. See
    /// [`HandlerRegistration::remove_and_wait`].
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove_event_handler(&self, registration: &HandlerRegistration) -> bool {
        self.shared.processor.remove_listener(registration)
    }

    /// The handlers there are.
    pub fn handlers(&self) -> Vec<HandlerRegistration> {
        self.shared.processor.registrations()
    }

    /// The store, to be read.
    #[doc(alias = "GetStore")]
    #[doc(alias = "GetIndexer")]
    pub fn store(&self) -> Store<T> {
        Store::new(&self.shared.store)
    }

    /// The store by namespace and label selector.
    pub fn lister(&self) -> Lister<T> {
        self.store().lister()
    }

    /// Adds indices, before or after the start; what is stored already is indexed.
    ///
    /// # Errors
    /// If an index of one of the names is there already; then none is added.
    #[doc(alias = "AddIndexers")]
    pub fn add_indexers(&self, indexers: Indexers<T>) -> Result<(), DuplicateIndexer> {
        self.shared.store.add_indexers(indexers)
    }

    /// Sets the transform; the last one set before the start wins.
    ///
    /// # Errors
    /// [`AlreadyStarted`] after the start.
    #[doc(alias = "SetTransform")]
    pub fn set_transform(&self, transform: Transform<T>) -> Result<(), AlreadyStarted> {
        self.set(|settings| settings.transform = Some(transform))
    }

    /// Sets what is told of every failed request and every ERROR event, 410 included; the
    /// last one set before the start wins. Default: logged, repetitions compactly.
    ///
    /// # Errors
    /// [`AlreadyStarted`] after the start.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn set_watch_error_handler(
        &self,
        handler: WatchErrorHandler,
    ) -> Result<(), AlreadyStarted> {
        self.set(|settings| settings.error_handler = Some(handler))
    }

    fn set(&self, set: impl FnOnce(&mut Settings<T>)) -> Result<(), AlreadyStarted> {
        match &mut *self.shared.life() {
            Life::NotStarted(settings) => {
                set(settings);
                Ok(())
            }
            Life::Running { .. } | Life::Stopped(_) => Err(self.already_started()),
        }
    }

    fn already_started(&self) -> AlreadyStarted {
        AlreadyStarted {
            informer: self.shared.name.clone(),
        }
    }

    /// Lists and watches until `cancel`, or [`stop`](Self::stop); then every task of the
    /// informer has ended. The future may be dropped, which stops the informer without
    /// waiting.
    ///
    /// # Errors
    /// [`AlreadyStarted`] if it runs or has run: an informer never starts twice.
    ///
    /// # Cancel safety
    /// Dropping the future stops the informer for good; callbacks in flight may outlive it.
    #[doc(alias = "RunWithContext")]
    pub fn run(
        &self,
        cancel: CancellationToken,
    ) -> impl Future<Output = Result<(), AlreadyStarted>> + Send + use<T> {
        let shared = Arc::clone(&self.shared);
        async move {
            let controller = shared.start()?;
            let stopping = StopOnDrop(Arc::clone(&shared));
            let stop = shared.stop.clone();
            let linked = cancel.child_token();
            let process = {
                let shared = Arc::clone(&shared);
                move |popped| shared.process(popped)
            };
            let running = controller.run(linked.clone(), process);
            tokio::pin!(running);
            tokio::select! {
                () = &mut running => {}
                () = shared.detect_mutations() => {}
                () = stop.cancelled() => {
                    linked.cancel();
                    running.await;
                }
            }
            let mode = shared.end();
            shared.processor.shutdown(mode, None).await;
            drop(stopping);
            Ok(())
        }
    }

    /// Makes [`run`](Self::run) end: callbacks in flight finish, waiting ones are dropped.
    pub fn stop(&self) {
        self.stop_with(ShutdownMode::Drop);
    }

    /// Makes [`run`](Self::run) end after what waits for the handlers was delivered.
    pub fn stop_with_drain(&self) {
        self.stop_with(ShutdownMode::Drain);
    }

    fn stop_with(&self, wanted: ShutdownMode) {
        match &mut *self.shared.life() {
            Life::NotStarted(settings) => settings.mode = wanted,
            Life::Running { mode, .. } => *mode = wanted,
            Life::Stopped(_) => {}
        }
        self.shared.stop.cancel();
    }

    /// Waits until [`run`](Self::run) has ended, or until `deadline`; answers the names of
    /// the handlers that are late.
    ///
    /// # Cancel safety
    /// It may be called again.
    pub async fn wait_for_stop(&self, deadline: Instant) -> Result<(), Vec<String>> {
        if timeout_at(deadline, self.shared.finished.wait())
            .await
            .is_ok()
        {
            return Ok(());
        }
        let busy = self.shared.processor.stats().into_iter();
        let busy = busy.filter(|(_, stats)| stats.in_callback.is_some());
        Err(busy.map(|(name, _)| name.to_string()).collect())
    }

    /// Where the informer is in its life.
    pub fn lifecycle(&self) -> Lifecycle {
        match &*self.shared.life() {
            Life::NotStarted(_) => Lifecycle::NotStarted,
            Life::Running { .. } => Lifecycle::Running,
            Life::Stopped(_) => Lifecycle::Stopped,
        }
    }

    /// Whether the initial list is in the store. Never false again once it was true.
    /// Handlers may still be at it: see [`HandlerRegistration::has_synced`].
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.shared.synced.is_set()
    }

    /// Whether the initial list is in the store and every handler has returned from it.
    pub fn has_synced_with_handlers(&self) -> bool {
        self.has_synced() && self.handlers().iter().all(HandlerRegistration::has_synced)
    }

    /// Waits until the initial list is in the store, and every handler that is there now
    /// has returned from all of it.
    ///
    /// # Errors
    /// [`NotSynced`] names who is late and the last error, after `timeout`.
    ///
    /// # Cancel safety
    /// It may be called again.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn wait_for_cache_sync(&self, timeout: Duration) -> Result<(), NotSynced> {
        let deadline = Instant::now() + timeout;
        match self.wait_for_sync_until(deadline).await {
            Ok(()) => Ok(()),
            Err(late) => Err(NotSynced {
                timeout,
                late: vec![late],
            }),
        }
    }

    pub(crate) async fn wait_for_sync_until(&self, deadline: Instant) -> Result<(), LateInformer> {
        let waited = timeout_at(deadline, async {
            self.shared.synced.wait().await;
            for handler in self.handlers() {
                // One that was removed meanwhile is nobody to wait for.
                if handler.wait_for_sync().await.is_err() {
                    tracing::debug!(handler = handler.name(), "removed before it had synced");
                }
            }
        });
        // A stopped informer will never sync: no need to wait for the end.
        tokio::select! {
            biased;
            waited = waited => if waited.is_ok() { return Ok(()) },
            () = self.shared.finished.wait() => {}
        }
        Err(self.lateness())
    }

    fn lateness(&self) -> LateInformer {
        let handlers = self.handlers().into_iter();
        let handlers = handlers.filter(|handler| !handler.has_synced());
        let state = self.reflector_state();
        LateInformer {
            informer: self.shared.name.clone(),
            informer_has_synced: self.has_synced(),
            handlers: handlers.map(|handler| handler.name().to_owned()).collect(),
            state: match (&state, self.lifecycle()) {
                (_, Lifecycle::NotStarted) => "not started".to_owned(),
                (_, Lifecycle::Stopped) => "stopped".to_owned(),
                (Some(state), Lifecycle::Running) => doing(state),
                (None, Lifecycle::Running) => "starting".to_owned(),
            },
            last_error: state
                .and_then(|state| state.last_error)
                .map(|(_, error)| chain(&error)),
        }
    }

    /// What the list-and-watch is doing, since when, and its last error; `None` before the
    /// start. Of several namespaces, the one that is not watching, if there is one.
    pub fn reflector_state(&self) -> Option<ReflectorState> {
        let states = self.shared.reflector_states();
        let ailing = states
            .iter()
            .find(|it| it.phase != ReflectorPhase::Watching);
        ailing.or(states.first()).cloned()
    }

    /// As [`reflector_state`](Self::reflector_state), for each namespace of an informer
    /// [over several](Self::over_namespaces).
    pub fn reflector_states(&self) -> Vec<(Option<Arc<str>>, ReflectorState)> {
        let namespaces = self
            .shared
            .sources
            .iter()
            .map(|(namespace, _)| namespace.clone());
        namespaces.zip(self.shared.reflector_states()).collect()
    }

    /// The version of the newest change that was received. The store may be behind: see
    /// [`Store::last_store_sync_resource_version`].
    #[doc(alias = "LastSyncResourceVersion")]
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.reflector_state()?.last_sync_resource_version
    }

    /// Waits until the store holds everything up to `resource_version`, for example that
    /// of a write of one's own.
    ///
    /// # Errors
    /// [`NotObserved`] after `timeout`, with the version the store has come to.
    ///
    /// # Cancel safety
    /// It may be called again.
    pub async fn wait_until_observed(
        &self,
        resource_version: &ResourceVersion,
        timeout: Duration,
    ) -> Result<(), NotObserved> {
        self.shared
            .observed
            .wait_for(resource_version, timeout)
            .await
    }
}

impl<T: Object> Clone for SharedIndexInformer<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Object> fmt::Debug for SharedIndexInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedIndexInformer")
            .field("name", &self.shared.name)
            .field("lifecycle", &self.lifecycle())
            .field("has_synced", &self.has_synced())
            .finish_non_exhaustive()
    }
}

/// The informer has started already: it can be neither started again nor set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlreadyStarted {
    informer: String,
}

impl fmt::Display for AlreadyStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the informer of {} has already started", self.informer)
    }
}

impl std::error::Error for AlreadyStarted {}

#[cfg(test)]
mod tests;
