//! [`InformerOptions`]: what one informer does differently from the defaults.

use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::{Object, Transform};
use informers_indexer::Indexers;
use informers_processor::{BlockingExecutor, HandlerExecutor};
use informers_reflector::ReflectorOptions;

use crate::mutation_detector::MutationDetector;

/// Which delta queue stands between the watch and the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum QueueKind {
    /// [`DeltaFifo`](informers_cache_core::DeltaFifo): changes accumulate per key, and a
    /// key that changes often while handlers are busy is handed out once.
    #[default]
    DeltaFifo,
    /// [`InOrderFifo`](informers_cache_core::InOrderFifo): the watch's own order across
    /// keys, and a relist as one atomic change.
    InOrder,
}

/// The options of one informer.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use informers::InformerOptions;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let options = InformerOptions::<Pod>::new()
///     .with_resync_period(Duration::from_secs(600))
///     .with_transform(informers::Transform::in_place(|pod: &mut Pod| {
///         pod.metadata.managed_fields = None;
///     }));
/// ```
///
/// # Upstream
/// `cache.SharedIndexInformerOptions`, `SetTransform`.
pub struct InformerOptions<T> {
    /// `None`: the factory's, or never.
    pub(crate) resync_period: Option<Duration>,
    pub(crate) queue: QueueKind,
    pub(crate) indexers: Indexers<T>,
    pub(crate) transform: Option<Transform<T>>,
    pub(crate) reflector: ReflectorOptions,
    pub(crate) executor: Arc<dyn HandlerExecutor>,
    pub(crate) mutation_detector: Option<MutationDetector<T>>,
}

impl<T: Object> InformerOptions<T> {
    /// The defaults: no resync, [`QueueKind::DeltaFifo`], the namespace index, no
    /// transform, and the reflector's own defaults.
    pub fn new() -> Self {
        Self {
            resync_period: None,
            queue: QueueKind::default(),
            indexers: Indexers::new(),
            transform: None,
            reflector: ReflectorOptions::default(),
            executor: Arc::new(BlockingExecutor),
            mutation_detector: None,
        }
    }

    /// How often every object is repeated as an update to handlers that name no period
    /// of their own, and how often the informer checks whose turn it is. Zero: never,
    /// whatever the factory says. Default: the factory's period, and never without one. A
    /// resync never contacts the server.
    #[must_use]
    pub fn with_resync_period(mut self, period: Duration) -> Self {
        self.resync_period = Some(period);
        self
    }

    /// Which queue stands before the store.
    #[must_use]
    pub fn with_queue(mut self, queue: QueueKind) -> Self {
        self.queue = queue;
        self
    }

    /// Indices beside the built-in one by namespace.
    #[must_use]
    pub fn with_indexers(mut self, indexers: Indexers<T>) -> Self {
        self.indexers = indexers;
        self
    }

    /// A function applied to each object before anybody sees it.
    #[must_use]
    pub fn with_transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some(transform);
        self
    }

    /// How the reflector lists and watches: backoff, timeouts, the first list. Its name,
    /// resync hook and error handler are the informer's own.
    #[must_use]
    pub fn with_reflector(mut self, reflector: ReflectorOptions) -> Self {
        self.reflector = reflector;
        self
    }

    /// Finds objects that are changed in place. Default: none; it costs time.
    #[must_use]
    pub fn with_mutation_detector(mut self, detector: MutationDetector<T>) -> Self {
        self.mutation_detector = Some(detector);
        self
    }

    /// Where callbacks run. Default: tokio's blocking pool. Tests with a paused clock
    /// take [`InlineExecutor`](informers_processor::InlineExecutor).
    #[must_use]
    pub fn with_executor(mut self, executor: Arc<dyn HandlerExecutor>) -> Self {
        self.executor = executor;
        self
    }
}

impl<T: Object> Default for InformerOptions<T> {
    fn default() -> Self {
        Self::new()
    }
}

// By hand: what is in it may close over anything.
impl<T> std::fmt::Debug for InformerOptions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InformerOptions")
            .field("resync_period", &self.resync_period)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
