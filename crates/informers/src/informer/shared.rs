//! What the handles of one informer share: its store, its handlers, and where it is in
//! its life.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informers_cache_core::{
    DeltaFifo, InOrderFifo, KnownObjects, Object, Popped, ReflectorStore, SharedQueue, Transform,
};
use informers_indexer::ThreadSafeStore;
use informers_processor::{SharedProcessor, ShutdownMode, SyncFlag};
use informers_reflector::{
    ListerWatcher, Reflector, ReflectorHandle, ReflectorOptions, ReflectorState, ResyncHook,
    WatchErrorHandler,
};
use tokio_util::sync::CancellationToken;

use super::AlreadyStarted;
use crate::controller::{Controller, QueueEntry, Source};
use crate::handle_deltas::handle_deltas;
use crate::mutation_detector::{CHECK_PERIOD, MutationDetector};
use crate::observed::Observed;
use crate::options::QueueKind;

/// What is listed and watched, each for a namespace or one for all.
pub(super) type Sources<T> = Vec<(Option<Arc<str>>, Arc<dyn ListerWatcher<T>>)>;

pub(super) struct Shared<T: Object> {
    pub(super) name: String,
    /// What is listed and watched: one for each namespace, or one in all.
    pub(super) sources: Sources<T>,
    pub(super) store: Arc<ThreadSafeStore<T>>,
    pub(super) processor: SharedProcessor<T>,
    pub(super) synced: SyncFlag,
    pub(super) finished: SyncFlag,
    pub(super) observed: Observed,
    pub(super) stop: CancellationToken,
    pub(super) mutation_detector: Option<MutationDetector<T>>,
    /// "blockDeltas": see Locks.
    pub(super) deltas: Mutex<()>,
    pub(super) life: Mutex<Life<T>>,
}

/// Where an informer is in its life, which has one direction.
pub(super) enum Life<T: Object> {
    NotStarted(Box<Settings<T>>),
    Running {
        /// In the order of the sources.
        reflectors: Vec<ReflectorHandle>,
        mode: ShutdownMode,
    },
    Stopped(Vec<ReflectorState>),
}

/// What may be set until the start.
pub(super) struct Settings<T> {
    pub(super) queue: QueueKind,
    pub(super) transform: Option<Transform<T>>,
    pub(super) reflector: ReflectorOptions,
    pub(super) error_handler: Option<WatchErrorHandler>,
    pub(super) mode: ShutdownMode,
}

impl<T: Object> Shared<T> {
    pub(super) fn life(&self) -> MutexGuard<'_, Life<T>> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each reflector is doing; empty before the start.
    pub(super) fn reflector_states(&self) -> Vec<ReflectorState> {
        match &*self.life() {
            Life::NotStarted(_) => Vec::new(),
            Life::Running { reflectors, .. } => states(reflectors),
            Life::Stopped(last) => last.clone(),
        }
    }

    pub(super) fn block_deltas(&self) -> MutexGuard<'_, ()> {
        self.deltas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds queue and reflector, and starts the handlers.
    pub(super) fn start(self: &Arc<Self>) -> Result<Controller<T>, AlreadyStarted> {
        let mut life = self.life();
        let Life::NotStarted(settings) = &mut *life else {
            return Err(AlreadyStarted {
                informer: self.name.clone(),
            });
        };
        let known = Arc::clone(&self.store) as Arc<dyn KnownObjects<T>>;
        let namespaces = self
            .sources
            .iter()
            .filter_map(|(namespace, _)| namespace.clone());
        let transform = settings.transform.take();
        let queue = Arc::new(match settings.queue {
            QueueKind::DeltaFifo => {
                let queue = DeltaFifo::new(Some(Arc::clone(&known)));
                let queue = queue.awaiting_namespaces(namespaces);
                SharedQueue::new(queue, Some(known), transform)
            }
            QueueKind::InOrder => {
                let queue = InOrderFifo::new().awaiting_namespaces(namespaces);
                SharedQueue::new(queue, Some(known), transform)
            }
        });
        let mut options = std::mem::take(&mut settings.reflector);
        if let Some(handler) = settings.error_handler.take() {
            options.error_handler = Some(handler);
        }
        let mode = settings.mode;
        self.processor.start();
        // One of them asks for all: a resync repeats the whole store.
        let mut resync_check = self.resync_check();
        let mut sources = Vec::with_capacity(self.sources.len());
        for n in 0..self.sources.len() {
            options.resync_check = resync_check.take();
            sources.push(self.source(n, &queue, options.clone()));
        }
        let reflectors = sources.iter().map(|source| source.reflector.handle());
        *life = Life::Running {
            reflectors: reflectors.collect(),
            mode,
        };
        Ok(Controller {
            sources,
            queue,
            synced: self.synced.clone(),
        })
    }

    /// The reflector of source `n`, and what makes the next one.
    fn source(
        self: &Arc<Self>,
        n: usize,
        queue: &Arc<SharedQueue<T>>,
        options: ReflectorOptions,
    ) -> Source<T> {
        let (namespace, lister_watcher) = &self.sources[n];
        let lister_watcher = Arc::clone(lister_watcher);
        let entry: Arc<dyn ReflectorStore<T>> = Arc::new(QueueEntry {
            queue: Arc::clone(queue),
            namespace: namespace.clone(),
            synced: self.synced.clone(),
        });
        let make = move || {
            let (lister_watcher, entry) = (Arc::clone(&lister_watcher), Arc::clone(&entry));
            Reflector::new(lister_watcher, entry, options.clone())
        };
        let reflector = make();
        let shared = Arc::downgrade(self);
        let remake = move || {
            let reflector = make();
            if let Some(shared) = shared.upgrade()
                && let Life::Running { reflectors, .. } = &mut *shared.life()
            {
                reflectors[n] = reflector.handle();
            }
            reflector
        };
        Source {
            reflector,
            remake: Box::new(remake),
        }
    }

    pub(super) fn resync_check(self: &Arc<Self>) -> Option<(Duration, ResyncHook)> {
        let period = self.processor.resync_check_period();
        if period.is_zero() {
            return None;
        }
        let shared = Arc::downgrade(self);
        let hook: ResyncHook = Arc::new(move |now| {
            shared
                .upgrade()
                .is_some_and(|shared| shared.processor.should_resync(now))
        });
        Some((period, hook))
    }

    /// One piece of work: the store first, then the handlers.
    pub(super) fn process(&self, popped: Popped<T>) {
        let checkpoint = popped.checkpoint.clone();
        let _deltas = self.block_deltas();
        let told = handle_deltas(&self.store, popped);
        if let Some(detector) = &self.mutation_detector {
            detector.follow(&told);
        }
        if !told.is_empty() {
            self.processor.distribute_all(&told);
        }
        if let Some(checkpoint) = checkpoint {
            self.observed.advance(checkpoint);
        }
    }

    /// Looks for objects that were changed in place, once a second, if that was asked for.
    pub(super) async fn detect_mutations(&self) {
        let Some(detector) = &self.mutation_detector else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(CHECK_PERIOD).await;
            detector.check();
        }
    }

    /// Marks the informer as stopped; answers how its handlers are to end.
    pub(super) fn end(&self) -> ShutdownMode {
        let mut life = self.life();
        let (mode, last) = match &*life {
            Life::NotStarted(settings) => (settings.mode, Vec::new()),
            Life::Running { reflectors, mode } => (*mode, states(reflectors)),
            Life::Stopped(_) => return ShutdownMode::Drop,
        };
        *life = Life::Stopped(last);
        mode
    }
}

fn states(reflectors: &[ReflectorHandle]) -> Vec<ReflectorState> {
    reflectors.iter().map(ReflectorHandle::state).collect()
}

/// Marks the informer as stopped whichever way `run` ends.
pub(super) struct StopOnDrop<T: Object>(pub(super) Arc<Shared<T>>);

impl<T: Object> Drop for StopOnDrop<T> {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.end();
        self.0.processor.close();
        self.0.finished.set();
    }
}
