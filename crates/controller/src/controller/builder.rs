//! [`ControllerBuilder`]: which objects a controller looks at, and how it works.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use informers::workqueue::{RateLimiter, WorkQueue, WorkQueueBuilder};
use informers::{
    HandlerFuncs, HandlerOptions, Object, ObjectName, ProcessorStopped, Resource,
    SharedIndexInformer,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Action, BoxError, Controller, Counters, Input, Shared, controller_of};

type AddInput = Box<dyn FnOnce(&WorkQueue<ObjectName>) -> Result<Input, ProcessorStopped>>;

/// Which objects a [`Controller`] looks at, and how it works.
#[must_use = "nothing happens before `build`"]
pub struct ControllerBuilder<K> {
    name: String,
    queue: WorkQueueBuilder<ObjectName>,
    inputs: Vec<AddInput>,
    workers: usize,
    sync_timeout: Duration,
    grace_period: Duration,
    primary: PhantomData<fn() -> K>,
}

impl Controller {
    /// A controller for the objects of `primary`: each change of one queues its key.
    ///
    /// `name` names its queue, its handlers and its lines in logs.
    pub fn builder<K: Object>(
        name: impl Into<String>,
        primary: &SharedIndexInformer<K>,
    ) -> ControllerBuilder<K> {
        ControllerBuilder::new(name.into()).input(primary, |obj: &K| [ObjectName::of(obj)], true)
    }
}

impl<K> ControllerBuilder<K> {
    pub(super) fn new(name: String) -> Self {
        Self {
            queue: WorkQueue::builder(name.as_str()),
            name,
            inputs: Vec::new(),
            workers: 1,
            sync_timeout: Duration::from_secs(60),
            grace_period: Duration::from_secs(30),
            primary: PhantomData,
        }
    }

    /// A change of an object of `informer` queues the primary object that controls it.
    #[doc(alias = "EnqueueRequestForOwner")]
    pub fn owns<T>(self, informer: &SharedIndexInformer<T>) -> Self
    where
        K: Resource,
        T: Object + k8s_openapi::Metadata<Ty = ObjectMeta>,
    {
        self.owns_by(informer, |obj: &T| {
            obj.metadata()
                .owner_references
                .as_deref()
                .unwrap_or_default()
        })
    }

    /// As [`owns`](Self::owns), for types that are not of `k8s-openapi`: `references` reads
    /// the owner references.
    pub fn owns_by<T: Object>(
        self,
        informer: &SharedIndexInformer<T>,
        references: impl Fn(&T) -> &[OwnerReference] + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource,
    {
        let resource = K::api_resource();
        self.watches(informer, move |obj: &T| {
            controller_of(references(obj), obj.namespace(), &resource)
        })
    }

    /// A change of an object of `informer` queues the keys that `keys` makes of it: of an
    /// update those of the old and of the new state.
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn watches<T: Object, I: IntoIterator<Item = ObjectName>>(
        self,
        informer: &SharedIndexInformer<T>,
        keys: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Self {
        self.input(informer, keys, false)
    }

    fn input<T: Object, I: IntoIterator<Item = ObjectName>>(
        mut self,
        informer: &SharedIndexInformer<T>,
        keys: impl Fn(&T) -> I + Send + Sync + 'static,
        is_primary: bool,
    ) -> Self {
        let (informer, name) = (informer.clone(), self.name.clone());
        self.inputs.push(Box::new(move |queue| {
            let options = HandlerOptions::new().with_name(name);
            let handler = enqueue(queue, keys, is_primary);
            let registration = informer.add_event_handler_with_options(handler, options)?;
            let wait_for_sync = Box::new(move |timeout| {
                let informer = informer.clone();
                async move { informer.wait_for_cache_sync(timeout).await }.boxed()
            });
            Ok(Input {
                registration,
                wait_for_sync,
            })
        }));
        self
    }

    /// How many keys are worked on at once. Default: 1.
    ///
    /// # Panics
    /// If `workers` is 0.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZeroUsize::new(workers)
            .expect("a controller has a worker at least")
            .get();
        self
    }

    /// Who says how long a failed key waits. Default: 5 ms doubling up to 1,000 s, and 10 a
    /// second after a burst of 100 over all keys.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<ObjectName> + 'static) -> Self {
        self.queue = self.queue.rate_limiter(limiter);
        self
    }

    /// How long the informers may take to sync. Default: 60 s.
    #[doc(alias = "CacheSyncTimeout")]
    pub fn sync_timeout(mut self, timeout: Duration) -> Self {
        self.sync_timeout = timeout;
        self
    }

    /// How long reconciliations under way may take after the cancellation. Default: 30 s.
    #[doc(alias = "GracefulShutdownTimeout")]
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.grace_period = period;
        self
    }

    /// Adds the handlers to the informers. `reconcile` is called with a key, whatever
    /// happened to its object: also when that is gone.
    ///
    /// # Errors
    /// [`ProcessorStopped`] if an informer has ended.
    pub fn build<R, F, E>(self, reconcile: R) -> Result<Controller, ProcessorStopped>
    where
        R: Fn(ObjectName) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let queue = self.queue.build();
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for add in self.inputs {
            inputs.push(add(&queue)?);
        }
        let reconcile = Arc::new(move |key| {
            let reconciling = reconcile(key);
            async move { reconciling.await.map_err(Into::into) }.boxed()
        });
        Ok(Controller {
            shared: Arc::new(Shared {
                queue,
                reconcile,
                counters: Counters::default(),
                running: Mutex::new(HashMap::new()),
            }),
            inputs,
            workers: self.workers,
            sync_timeout: self.sync_timeout,
            grace_period: self.grace_period,
        })
    }
}

/// A handler that queues the keys of what it is told of.
fn enqueue<T: Object, I: IntoIterator<Item = ObjectName>>(
    queue: &WorkQueue<ObjectName>,
    keys: impl Fn(&T) -> I + Send + Sync + 'static,
    is_primary: bool,
) -> HandlerFuncs<T> {
    let add = {
        let (queue, keys) = (queue.clone(), Arc::new(keys));
        move |obj: &T| keys(obj).into_iter().for_each(|key| queue.add(key))
    };
    let (update, delete, queue) = (add.clone(), add.clone(), queue.clone());
    HandlerFuncs::new()
        .on_add(move |obj: &Arc<T>, _| add(obj))
        .on_update(move |old: &Arc<T>, new: &Arc<T>| {
            update(old);
            update(new);
        })
        .on_delete(move |deleted| {
            if is_primary {
                // Its name is enough, whatever is known of it.
                queue.add(deleted.name.clone());
            } else if let Some(last) = &deleted.last_known {
                delete(last);
            }
        })
}

impl<K> fmt::Debug for ControllerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerBuilder")
            .field("name", &self.name)
            .field("inputs", &self.inputs.len())
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
