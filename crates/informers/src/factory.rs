//! [`SharedInformerFactory`]: one informer for each type and scope, started and stopped
//! together.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informers_cache_core::Object;
use informers_objects::{ApiResource, Decode, DynamicDecoder, DynamicObject, FromWire, Resource};
use informers_reflector::ListerWatcher;
use informers_rest::{Client, ListWatch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::any_informer::AnyInformer;
use crate::informer::{Lifecycle, SharedIndexInformer};
use crate::options::InformerOptions;
use crate::scope::Scope;
use crate::sync_wait::{NotSynced, ShutdownTimedOut};

/// One informer for each type and scope of one cluster, so that all parts of a program
/// share one watch and one cache.
///
/// A handle: clones are the same factory. Dropping the last one stops what it started.
///
/// # Examples
/// ```no_run
/// use std::time::Duration;
/// use informers::prelude::*;
/// use k8s_openapi::api::core::v1::Pod;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Config::infer()?)?;
/// let factory = SharedInformerFactory::new(client);
/// let pods = factory.informer::<Pod>();
/// pods.add_event_handler(HandlerFuncs::new().on_add(|pod, _initial| {
///     println!("there is {}", ObjectName::of(&**pod));
/// }))?;
/// factory.start();
/// factory.wait_for_cache_sync(Duration::from_secs(30)).await?;
/// println!("{} pods", pods.store().len());
/// factory.shutdown(Duration::from_secs(10)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Shutdown
/// [`shutdown`](Self::shutdown) stops all informers at once and waits for every task.
///
/// # Upstream
/// `informers.SharedInformerFactory`.
#[derive(Clone)]
pub struct SharedInformerFactory {
    inner: Arc<Inner>,
}

/// What tells one informer of a factory from another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    object: TypeId,
    resource: ApiResource,
    scope: Scope,
}

type Defaults = HashMap<TypeId, Box<dyn Any + Send + Sync>>;
type MakeOptions<T> = Box<dyn Fn() -> InformerOptions<T> + Send + Sync>;

struct Inner {
    client: Client,
    scope: Scope,
    resync_period: Duration,
    defaults: Defaults,
    cancel: CancellationToken,
    tasks: TaskTracker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    informers: HashMap<Key, Arc<dyn AnyInformer>>,
    /// In the order in which they were asked for.
    order: Vec<Key>,
    started: HashSet<Key>,
    is_shut_down: bool,
}

/// Sets up a [`SharedInformerFactory`].
pub struct SharedInformerFactoryBuilder {
    client: Client,
    scope: Scope,
    resync_period: Duration,
    defaults: Defaults,
}

impl SharedInformerFactoryBuilder {
    /// The scope of informers that name none. Default: everything.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Restricts informers that name no scope to one namespace; cluster-scoped resources
    /// are not affected.
    #[doc(alias = "WithNamespace")]
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = self.scope.in_namespace(namespace);
        self
    }

    /// The resync period of informers whose options name none. Default: zero, never.
    #[must_use]
    pub fn with_resync_period(mut self, period: Duration) -> Self {
        self.resync_period = period;
        self
    }

    /// The options of informers of `T` that are asked for without options: a resync
    /// period, a transform, indices for one type.
    #[doc(alias = "WithCustomResyncConfig")]
    #[doc(alias = "WithTransform")]
    #[must_use]
    pub fn with_options_for<T: Object>(
        mut self,
        options: impl Fn() -> InformerOptions<T> + Send + Sync + 'static,
    ) -> Self {
        let options: MakeOptions<T> = Box::new(options);
        self.defaults.insert(TypeId::of::<T>(), Box::new(options));
        self
    }

    /// The factory.
    pub fn build(self) -> SharedInformerFactory {
        SharedInformerFactory {
            inner: Arc::new(Inner {
                client: self.client,
                scope: self.scope,
                resync_period: self.resync_period,
                defaults: self.defaults,
                cancel: CancellationToken::new(),
                tasks: TaskTracker::new(),
                state: Mutex::default(),
            }),
        }
    }
}

impl SharedInformerFactory {
    /// A factory with the defaults: all namespaces, no resync.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Sets up a factory.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    pub fn builder(client: Client) -> SharedInformerFactoryBuilder {
        SharedInformerFactoryBuilder {
            client,
            scope: Scope::default(),
            resync_period: Duration::ZERO,
            defaults: HashMap::new(),
        }
    }

    /// The client that the informers use.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The informer of `T` in the factory's scope. The first call makes it; it runs from
    /// the next [`start`](Self::start).
    #[doc(alias = "InformerFor")]
    pub fn informer<T: Resource + FromWire>(&self) -> SharedIndexInformer<T> {
        self.informer_in(self.inner.scope.clone())
    }

    /// The informer of `T` in a scope of its own. Equal scopes share an informer.
    pub fn informer_in<T: Resource + FromWire>(&self, scope: Scope) -> SharedIndexInformer<T> {
        let options = self.default_options::<T>();
        self.informer_with_options(scope, options)
    }

    /// The informer of `T` in a scope, with options. If the factory has it already, the
    /// options of the first call stay; one that was stopped is replaced by a new one.
    pub fn informer_with_options<T: Resource + FromWire>(
        &self,
        scope: Scope,
        options: InformerOptions<T>,
    ) -> SharedIndexInformer<T> {
        self.get_or_make(T::api_resource(), scope, &T::decoder(), options)
    }

    /// The informer of `T` in a scope, with options and a decoder of its own, for example
    /// a [`PackedDecoder`](informers_objects::PackedDecoder) with other options or
    /// [`StripManagedFields`](informers_objects::StripManagedFields). If the factory has
    /// the informer already, what the first call gave stays.
    pub fn informer_with_decoder<T: Resource + Object>(
        &self,
        scope: Scope,
        options: InformerOptions<T>,
        decoder: &Arc<dyn Decode<T>>,
    ) -> SharedIndexInformer<T> {
        self.informer_for(T::api_resource(), scope, options, decoder)
    }

    /// The informer of any resource, held as any type that its objects can be decoded to:
    /// `PartialObjectMetadata` or `Packed<DynamicObject>` of a resource known only at run
    /// time. If the factory has the informer already, what the first call gave stays.
    pub fn informer_for<T: Object>(
        &self,
        resource: ApiResource,
        scope: Scope,
        options: InformerOptions<T>,
        decoder: &Arc<dyn Decode<T>>,
    ) -> SharedIndexInformer<T> {
        self.get_or_make(resource, scope, decoder, options)
    }

    /// The informer of a resource known only at run time.
    ///
    /// # Upstream
    /// `dynamicinformer.DynamicSharedInformerFactory.ForResource`.
    #[doc(alias = "ForResource")]
    pub fn dynamic(&self, resource: ApiResource) -> SharedIndexInformer<DynamicObject> {
        let options = self.default_options::<DynamicObject>();
        self.dynamic_with_options(resource, self.inner.scope.clone(), options)
    }

    /// The informer of a resource known only at run time, in a scope, with options.
    pub fn dynamic_with_options(
        &self,
        resource: ApiResource,
        scope: Scope,
        options: InformerOptions<DynamicObject>,
    ) -> SharedIndexInformer<DynamicObject> {
        let decoder: Arc<dyn Decode<_>> = Arc::new(DynamicDecoder::new(resource.clone()));
        self.get_or_make(resource, scope, &decoder, options)
    }

    fn default_options<T: Object>(&self) -> InformerOptions<T> {
        let made = self.inner.defaults.get(&TypeId::of::<T>());
        let made = made.and_then(|make| make.downcast_ref::<MakeOptions<T>>());
        made.map_or_else(InformerOptions::new, |make| make())
    }

    fn get_or_make<T: Object>(
        &self,
        resource: ApiResource,
        scope: Scope,
        decoder: &Arc<dyn Decode<T>>,
        mut options: InformerOptions<T>,
    ) -> SharedIndexInformer<T> {
        let period = options.resync_period;
        options.resync_period = period.or(Some(self.inner.resync_period));
        // A namespace means nothing to a cluster-scoped resource.
        let scope = if resource.namespaced {
            scope
        } else {
            scope.without_namespaces()
        };
        let key = Key {
            object: TypeId::of::<T>(),
            resource,
            scope,
        };
        let mut state = self.inner.lock();
        if let Some(informer) = state.informers.get(&key)
            && informer.lifecycle() != Lifecycle::Stopped
        {
            let informer = informer.as_any().downcast_ref::<SharedIndexInformer<T>>();
            return informer.expect("the key holds the type").clone();
        }
        // One that was stopped never runs again; whoever asks for it gets a new one.
        if state.started.remove(&key) {
            state.order.retain(|other| *other != key);
        }
        let source = |namespace| list_watch(&self.inner.client, &key, namespace, decoder);
        let informer = match key.scope.namespaces() {
            [] => SharedIndexInformer::new(source(None), options),
            [namespace] => SharedIndexInformer::new(source(Some(namespace)), options),
            several => {
                let sources = several.iter().map(|it| (it.clone(), source(Some(it))));
                SharedIndexInformer::over_namespaces(sources, options)
            }
        };
        state
            .informers
            .insert(key.clone(), Arc::new(informer.clone()));
        state.order.push(key);
        informer
    }

    /// Starts the informers that were asked for and do not run yet, on the current tokio
    /// runtime. May be called again after more were asked for. Does nothing after a
    /// shutdown.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[doc(alias = "Start")]
    pub fn start(&self) {
        self.start_until(&CancellationToken::new());
    }

    /// As [`start`](Self::start); what this call starts stops when `cancel` is cancelled.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[doc(alias = "StartWithContext")]
    pub fn start_until(&self, cancel: &CancellationToken) {
        let mut state = self.inner.lock();
        let State {
            informers,
            order,
            started,
            is_shut_down,
        } = &mut *state;
        if *is_shut_down {
            tracing::warn!("a factory that was shut down starts nothing");
            return;
        }
        for key in order {
            if !started.insert(key.clone()) {
                continue;
            }
            let informer = &informers[key];
            let stop = self.inner.cancel.child_token();
            let running = informer.run_boxed(stop.clone());
            let cancel = cancel.clone();
            self.inner.tasks.spawn(async move {
                tokio::pin!(running);
                let ended = tokio::select! {
                    ended = &mut running => ended,
                    () = cancel.cancelled() => {
                        stop.cancel();
                        running.await
                    }
                };
                if let Err(error) = ended {
                    tracing::debug!(%error, "the program runs this informer itself");
                }
            });
        }
    }

    /// Waits until every informer that was started has synced, and every handler of it
    /// has returned from its whole initial list. Informers that were asked for and not
    /// started are not waited for.
    ///
    /// # Errors
    /// [`NotSynced`] names who is late, and each one's last error, after `timeout`.
    ///
    /// # Cancel safety
    /// It may be called again.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn wait_for_cache_sync(&self, timeout: Duration) -> Result<(), NotSynced> {
        let deadline = Instant::now() + timeout;
        let mut late = Vec::new();
        let started = self.inner.lock().started();
        for informer in started {
            if let Err(error) = informer.wait_for_sync_boxed(deadline).await {
                late.push(error);
            }
        }
        if late.is_empty() {
            return Ok(());
        }
        Err(NotSynced { timeout, late })
    }

    /// The informers there are, in the order in which they were first asked for.
    pub fn informers(&self) -> Vec<Arc<dyn AnyInformer>> {
        let state = self.inner.lock();
        let informers = state.order.iter().map(|key| &state.informers[key]);
        informers.map(Arc::clone).collect()
    }

    /// Stops all informers and waits until every task has ended: callbacks in flight
    /// finish, what waits for handlers is dropped. Nothing starts afterwards.
    ///
    /// # Errors
    /// [`ShutdownTimedOut`] names the handlers that were still at work after `timeout`.
    ///
    /// # Cancel safety
    /// The stop begins with the first poll. It may be called again, to wait on.
    #[doc(alias = "Shutdown")]
    pub async fn shutdown(&self, timeout: Duration) -> Result<(), ShutdownTimedOut> {
        self.end(timeout, |informer| informer.stop()).await
    }

    /// As [`shutdown`](Self::shutdown), but what waits for the handlers is delivered.
    ///
    /// # Errors
    /// [`ShutdownTimedOut`] names the handlers that were still at work after `timeout`.
    ///
    /// # Cancel safety
    /// The stop begins with the first poll. It may be called again, to wait on.
    pub async fn shutdown_with_drain(&self, timeout: Duration) -> Result<(), ShutdownTimedOut> {
        self.end(timeout, |informer| informer.stop_with_drain_any())
            .await
    }

    async fn end(
        &self,
        timeout: Duration,
        stop: impl Fn(&dyn AnyInformer),
    ) -> Result<(), ShutdownTimedOut> {
        let deadline = Instant::now() + timeout;
        let started = {
            let mut state = self.inner.lock();
            state.is_shut_down = true;
            state.started()
        };
        for informer in &started {
            stop(&**informer);
        }
        self.inner.tasks.close();
        let mut late = Vec::new();
        for informer in &started {
            match informer.wait_for_stop_boxed(deadline).await {
                Ok(()) => {}
                Err(handlers) if handlers.is_empty() => late.push(informer.name().to_owned()),
                Err(handlers) => {
                    let name = informer.name();
                    late.extend(handlers.iter().map(|handler| format!("{name}: {handler}")));
                }
            }
        }
        if late.is_empty() {
            // All informers have ended: what is left of their tasks is a return.
            self.inner.tasks.wait().await;
            return Ok(());
        }
        Err(ShutdownTimedOut { timeout, late })
    }
}

fn list_watch<T: Object>(
    client: &Client,
    key: &Key,
    namespace: Option<&String>,
    decoder: &Arc<dyn Decode<T>>,
) -> Arc<dyn ListerWatcher<T>> {
    let decoder = Arc::clone(decoder);
    let mut list_watch = ListWatch::new(client.clone(), key.resource.clone(), decoder);
    if let Some(namespace) = namespace {
        list_watch = list_watch.in_namespace(namespace);
    }
    if let Some(selector) = key.scope.label_selector() {
        list_watch = list_watch.with_label_selector(selector);
    }
    if let Some(selector) = key.scope.field_selector() {
        list_watch = list_watch.with_field_selector(selector);
    }
    Arc::new(list_watch)
}

impl State {
    /// Those that were started, in the order in which they were asked for.
    fn started(&self) -> Vec<Arc<dyn AnyInformer>> {
        let started = self.order.iter().filter(|key| self.started.contains(key));
        started
            .map(|key| Arc::clone(&self.informers[key]))
            .collect()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .informers()
            .iter()
            .map(|it| it.name().to_owned())
            .collect();
        f.debug_struct("SharedInformerFactory")
            .field("informers", &names)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SharedInformerFactoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactoryBuilder")
            .field("scope", &self.scope)
            .field("resync_period", &self.resync_period)
            .finish_non_exhaustive()
    }
}
