//! [`Controller`]: changed objects become keys in a queue, workers bring them in line.

mod builder;
mod metrics;
mod owner;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use informers::workqueue::WorkQueue;
use informers::{HandlerRegistration, NotSynced, ObjectName};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use self::builder::ControllerBuilder;
use self::metrics::Counters;
pub use self::metrics::{ControllerMetrics, ControllerMonitor};
pub(crate) use self::owner::controller_of;

/// Whatever made a reconciliation fail.
pub type BoxError = Box<dyn StdError + Send + Sync>;

type Reconcile =
    Arc<dyn Fn(ObjectName) -> BoxFuture<'static, Result<Action, BoxError>> + Send + Sync>;

/// What follows a reconciliation that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing until something changes.
    Done,
    /// Once more after this time, or earlier if something changes.
    RequeueAfter(Duration),
}

/// Changed objects become keys in a queue, and workers bring them in line.
///
/// # Contract
/// - Workers start when the store of every informer it reads holds the initial list and
///   all of that is in the queue.
/// - A key is never with two workers at the same time; changes that arrive while one has
///   it make it run once more.
/// - An error, and a panic, puts the key back with a delay that grows with each (the
///   queue's limiter: by default 5 ms doubling up to 1,000 s). Success resets it.
/// - Nothing else is decided here: the reconciler is given a key, and reads what it needs
///   from listers.
///
/// # Shutdown
/// 1. The token is cancelled: handlers are removed, the queue takes no more, workers take
///    no more; what is in line is dropped, the next start lists it anew.
/// 2. Reconciliations under way finish, within the grace period.
/// 3. Those that do not are aborted where they wait next, and named in the error.
///
/// # Memory
/// A key in the queue for each object that changed and was not worked on yet: at most one
/// for each object.
///
/// # Panics
/// A reconciler's panic counts as an error of that key. In programs built with
/// `panic = "abort"` it ends the process.
///
/// # Examples
/// ```no_run
/// # use informers::prelude::*;
/// # use informers_controller::{Action, Controller};
/// # use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
/// # use tokio_util::sync::CancellationToken;
/// # async fn example(factory: SharedInformerFactory) -> Result<(), Box<dyn std::error::Error>> {
/// let deployments = factory.informer::<Deployment>();
/// let sets = factory.informer::<ReplicaSet>();
/// let store = deployments.store();
/// let controller = Controller::builder("deployments", &deployments)
///     .owns(&sets)
///     .workers(4)
///     .build(move |key: ObjectName| {
///         let deployment = store.get(&key);
///         async move {
///             match deployment {
///                 Some(_) => { /* make the world so */ }
///                 None => { /* it is gone */ }
///             }
///             Ok::<_, std::io::Error>(Action::Done)
///         }
///     })?;
/// factory.start();
/// controller.run(CancellationToken::new()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Upstream
/// The loop of `sample-controller`, and controller-runtime's `Controller`, reduced to it.
pub struct Controller {
    shared: Arc<Shared>,
    inputs: Vec<Input>,
    workers: usize,
    sync_timeout: Duration,
    grace_period: Duration,
}

/// What the workers share.
struct Shared {
    queue: WorkQueue<ObjectName>,
    reconcile: Reconcile,
    counters: Counters,
    running: Mutex<HashMap<ObjectName, Instant>>,
}

type WaitForSync = Box<dyn Fn(Duration) -> BoxFuture<'static, Result<(), NotSynced>> + Send + Sync>;

/// A handler that fills the queue, for as long as this lives.
struct Input {
    registration: HandlerRegistration,
    wait_for_sync: WaitForSync,
}

impl Controller {
    /// The controller's queue: for keys that come from elsewhere than its informers.
    pub fn queue(&self) -> &WorkQueue<ObjectName> {
        &self.shared.queue
    }

    /// Reads the metrics while it runs.
    pub fn monitor(&self) -> ControllerMonitor {
        ControllerMonitor::new(Arc::clone(&self.shared))
    }

    /// Waits for its informers, then works until `cancel`. Somebody else runs the informers.
    ///
    /// # Errors
    /// [`ControllerError::NotSynced`] if an informer is late, before anything was worked
    /// on; [`ControllerError::LateReconciles`] names what did not finish in the grace period.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the reconciliations where they wait.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<(), ControllerError> {
        let synced = {
            let waits = self
                .inputs
                .iter()
                .map(|input| (input.wait_for_sync)(self.sync_timeout));
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                synced = join_all(waits) => Some(synced),
            }
        };
        let queue = self.shared.queue.clone();
        let Some(synced) = synced else {
            queue.shut_down();
            return Ok(());
        };
        let late: Vec<NotSynced> = synced.into_iter().filter_map(Result::err).collect();
        if !late.is_empty() {
            queue.shut_down();
            return Err(ControllerError::NotSynced(late));
        }
        tracing::info!(controller = queue.name(), workers = self.workers, "starts");
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            workers.spawn(work(Arc::clone(&self.shared), cancel.clone()));
        }
        // The workers leave by themselves if somebody shuts the queue down.
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = join(&mut workers) => {}
        }
        self.inputs.clear();
        queue.shut_down();
        if timeout(self.grace_period, join(&mut workers))
            .await
            .is_err()
        {
            let mut late: Vec<ObjectName> = self.shared.running().keys().cloned().collect();
            late.sort();
            workers.abort_all();
            return Err(ControllerError::LateReconciles {
                grace_period: self.grace_period,
                late,
            });
        }
        tracing::info!(controller = queue.name(), "stopped");
        Ok(())
    }
}

async fn join(workers: &mut JoinSet<()>) {
    while let Some(worker) = workers.join_next().await {
        if let Err(error) = worker {
            // A reconciler's panic is caught before.
            tracing::error!(error = &error as &dyn StdError, "a worker failed");
        }
    }
}

async fn work(shared: Arc<Shared>, cancel: CancellationToken) {
    loop {
        let item = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            item = shared.queue.get() => item,
        };
        let Some(item) = item else { return };
        // Dropping the guard at the end gives the key free.
        shared.reconcile_one(item.item()).await;
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, HashMap<ObjectName, Instant>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reconcile_one(&self, key: &ObjectName) {
        self.running().insert(key.clone(), Instant::now());
        let running = Running { shared: self, key };
        let reconciling = async { (self.reconcile)(key.clone()).await };
        let outcome = AssertUnwindSafe(reconciling).catch_unwind().await;
        drop(running);
        let controller = self.queue.name();
        match outcome {
            Ok(Ok(action)) => {
                self.counters.succeeded();
                self.queue.forget(key);
                match action {
                    Action::Done => {}
                    Action::RequeueAfter(delay) => self.queue.add_after(key.clone(), delay),
                }
            }
            Ok(Err(error)) => {
                self.counters.failed();
                let error: &(dyn StdError + 'static) = &*error;
                tracing::warn!(controller, %key, error, "reconciling failed, will be tried again");
                self.queue.add_rate_limited(key.clone());
            }
            Err(panic) => {
                self.counters.panicked();
                let panic = text_of(&*panic);
                tracing::error!(controller, %key, panic, "the reconciler panicked, will be tried again");
                self.queue.add_rate_limited(key.clone());
            }
        }
    }
}

/// A key in the list of those under way, even if the reconciliation is aborted.
struct Running<'a> {
    shared: &'a Shared,
    key: &'a ObjectName,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.shared.running().remove(self.key);
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

impl Drop for Input {
    fn drop(&mut self) {
        self.registration.remove();
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.shared.queue.name())
            .field("workers", &self.workers)
            .field("sync_timeout", &self.sync_timeout)
            .field("grace_period", &self.grace_period)
            .finish_non_exhaustive()
    }
}

/// How a controller failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControllerError {
    /// These informers did not sync in time; was one started at all?
    NotSynced(Vec<NotSynced>),
    /// These reconciliations did not finish in the grace period, and were aborted.
    LateReconciles {
        /// The time they had.
        grace_period: Duration,
        /// Their keys.
        late: Vec<ObjectName>,
    },
}

impl fmt::Display for ControllerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSynced(late) => {
                for (i, late) in late.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    write!(f, "{separator}{late}")?;
                }
                Ok(())
            }
            Self::LateReconciles { grace_period, late } => {
                write!(f, "not finished within {grace_period:?}:")?;
                late.iter().try_for_each(|key| write!(f, " {key}"))
            }
        }
    }
}

impl StdError for ControllerError {}

#[cfg(test)]
mod tests;
