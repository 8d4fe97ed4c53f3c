//! The work queue that workers await: a lock and wake-ups around [`QueueState`].

use std::fmt;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::add_options::{AddOptions, Delay};
use crate::builder::WorkQueueBuilder;
use crate::item_guard::ItemGuard;
use crate::metrics::{QueueMetrics, Recorder};
use crate::queue_core::WorkQueueCore;
use crate::rate_limiter::RateLimiter;
use crate::state::{Drain, QueueState, Step, Wakes};

/// A queue of things to do, each at most once in line and never with two workers.
///
/// Producers [`add`](Self::add) items, at once, [after a delay](Self::add_after) or
/// [as the rate limiter says](Self::add_rate_limited); workers [`get`](Self::get) them.
/// Clones are handles to the same queue.
///
/// # Contract
///
/// 1. Adding an item that waits already changes nothing, save that its priority may rise.
/// 2. Adding an item that a worker holds makes it wait until that worker is done; then it
///    enters the line at the tail. However often it is added meanwhile, that is one run.
/// 3. No two workers hold equal items at the same time.
/// 4. Once [shut down](Self::shut_down), the queue refuses additions, hands out what is
///    in line (items that come back by rule 2 too), and then tells its workers to leave.
///    Items whose delay has not passed are lost.
///
/// # Memory
///
/// Unbounded, but each distinct item counts once however often it is added, and once
/// more in the delays. [`metrics`](Self::metrics) tells the numbers. Memory that a burst
/// took is given back as the queue empties.
///
/// # Locks
///
/// One lock over line, delays and metrics, one over the rate limiter; never both at
/// once, and never across an `.await`. `Eq`, `Hash`, `Clone` and `Drop` of the item, the
/// order's methods and the metrics sink run under the first, the limiter's methods under
/// the second: none of them may call the queue.
///
/// # Shutdown
///
/// The queue has no task and no thread: delays are watched by one of the workers that
/// wait in `get`, and are caught up with at every call. So there is nothing to stop, and
/// a queue may be made outside of a runtime. Waiting in `get` needs tokio's time driver
/// once a delay is in use; timers have its resolution of one millisecond, rounded up.
///
/// # Upstream
///
/// `workqueue.TypedInterface`, `TypedDelayingInterface` and `TypedRateLimitingInterface`
/// in one: a queue that nobody adds to with a delay has none of their cost.
#[doc(alias = "TypedInterface")]
#[doc(alias = "TypedDelayingInterface")]
#[doc(alias = "TypedRateLimitingInterface")]
#[doc(alias = "DelayingQueue")]
#[doc(alias = "RateLimitingQueue")]
pub struct WorkQueue<T: Clone + Eq + Hash + Send + 'static> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    name: Arc<str>,
    state: Mutex<QueueState<T>>,
    limiter: Mutex<Box<dyn RateLimiter<T>>>,
    /// Wakes workers, one for each item, one to take the lead.
    workers: Notify,
    /// Wakes the worker that watches the earliest deadline.
    timer: Notify,
    /// Wakes drains.
    idle: Notify,
}

/// Held by the worker that watches the earliest deadline; hands the watch on when
/// dropped, so that a cancelled `get` leaves no deadline unwatched.
struct TimerLead<'a, T: Clone + Eq + Hash>(&'a Inner<T>);

impl<T: Clone + Eq + Hash + Send + 'static> WorkQueue<T> {
    /// A queue in order of arrival, with the
    /// [default controller rate limiter](crate::default_controller_rate_limiter).
    ///
    /// The name stands in metrics and logs.
    #[doc(alias = "NewTypedRateLimitingQueue")]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self::builder(name).build()
    }

    /// A queue with an order, a rate limiter or a metrics sink of one's own.
    #[doc(alias = "NewTypedRateLimitingQueueWithConfig")]
    #[doc(alias = "TypedQueueConfig")]
    pub fn builder(name: impl Into<Arc<str>>) -> WorkQueueBuilder<T> {
        WorkQueueBuilder::new(name.into())
    }

    pub(crate) fn from_parts(
        name: Arc<str>,
        core: WorkQueueCore<T>,
        recorder: Recorder,
        limiter: Box<dyn RateLimiter<T>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                name,
                state: Mutex::new(QueueState::new(core, recorder)),
                limiter: Mutex::new(limiter),
                workers: Notify::new(),
                timer: Notify::new(),
                idle: Notify::new(),
            }),
        }
    }

    /// The name the queue was made with.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Marks an item as needing work. Ignored while shutting down.
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) {
        self.inner
            .change(|state, now| ((), state.add(item, 0, now)));
    }

    /// Adds an item once `delay` has passed; zero is at once. Ignored while shutting down.
    ///
    /// An item that waits for a delay already keeps the earlier of the two moments. A
    /// delay and a plain [`add`](Self::add) do not know of each other: an item that was
    /// worked on meanwhile is added again when its delay has passed. Delays beyond 30
    /// years count as 30 years.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) {
        self.inner
            .change(|state, now| ((), state.add_after(item, 0, delay, now)));
    }

    /// Adds an item when the rate limiter says that it may run again: the call that
    /// follows a failure. Ignored while shutting down.
    ///
    /// The limiter counts this as one more failure of the item until
    /// [`forget`](Self::forget) is called.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) {
        self.add_with(item, AddOptions::new().rate_limited());
    }

    /// Adds an item with a priority, a delay, or both. Ignored while shutting down.
    #[doc(alias = "AddWithOpts")]
    pub fn add_with(&self, item: T, options: AddOptions) {
        let priority = options.priority;
        let delay = match options.delay {
            Delay::None => {
                self.inner
                    .change(|state, now| ((), state.add(item, priority, now)));
                return;
            }
            Delay::After(delay) => delay,
            Delay::RateLimited => {
                // The limiter must not remember items that are never handed out.
                if self.is_shutting_down() {
                    return;
                }
                self.inner.limiter().when(&item, Instant::now())
            }
        };
        self.inner
            .change(|state, now| ((), state.add_after(item, priority, delay, now)));
    }

    /// Tells the rate limiter that an item needs no more retries, for better or worse.
    ///
    /// It does not mark the item done; the limiter remembers an item until this is called.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.inner.limiter().forget(item);
    }

    /// How many times the rate limiter has held this item back since it was forgotten.
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.inner.limiter().num_requeues(item)
    }

    /// Waits for the next item and hands it out; `None` tells the worker to leave,
    /// because the queue is shutting down and nothing is in line.
    ///
    /// A worker that always finds an item gives way to other tasks from time to time.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: an item is either in the returned guard or in line. So `get` may
    /// stand in `select!` beside a cancellation token.
    ///
    /// # Panics
    ///
    /// If delays are in use and the runtime has no time driver.
    #[doc(alias = "Get")]
    pub async fn get(&self) -> Option<ItemGuard<T>> {
        tokio::task::coop::consume_budget().await;
        if let Some(item) = self.try_get() {
            return Some(item);
        }
        let inner = &*self.inner;
        let mut lead = None;
        loop {
            // Enlist before looking, so that no wake-up falls in between. A wake-up that
            // comes to a worker that leaves is passed on by `Notify`.
            let mut wake_up = pin!(inner.workers.notified());
            wake_up.as_mut().enable();
            let leads = lead.is_some();
            match inner.change(|state, now| state.next_step(leads, now)) {
                Step::Item(taken) => {
                    return Some(ItemGuard::new(
                        self.clone(),
                        taken.item,
                        taken.ticket,
                        taken.priority,
                    ));
                }
                Step::ShutDown => return None,
                Step::Wait => wake_up.await,
                Step::Lead(deadline) => {
                    lead.get_or_insert_with(|| TimerLead(inner));
                    tokio::select! {
                        biased;
                        () = wake_up => {}
                        () = inner.timer.notified() => {}
                        () = wait_until(deadline) => {}
                    }
                }
            }
        }
    }

    /// Hands out the next item if one is in line; does not wait, and does not tell an
    /// empty queue from one that is shutting down.
    pub fn try_get(&self) -> Option<ItemGuard<T>> {
        let taken = self.inner.change(QueueState::try_get)?;
        Some(ItemGuard::new(
            self.clone(),
            taken.item,
            taken.ticket,
            taken.priority,
        ))
    }

    /// Marks an item done that was [detached](ItemGuard::detach) from its guard.
    ///
    /// Ignored for an item that no worker holds, so a second call does no harm.
    ///
    /// # Upstream
    ///
    /// `Done`; upstream a call too many lets a second worker have the item. Guards need no
    /// such call, and one that is dropped after it does not end a later hand-out.
    #[doc(alias = "Done")]
    pub fn done(&self, item: &T) {
        self.finish(item, None);
    }

    /// How many items are in line; those that workers hold do not count, even if they
    /// have been added again.
    ///
    /// For information: it may be outdated when the caller looks at it.
    #[doc(alias = "Len")]
    pub fn len(&self) -> usize {
        self.inner.change(QueueState::len)
    }

    /// Whether no item is in line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The queue's metrics at this moment. Costs a walk over the items that workers hold.
    pub fn metrics(&self) -> QueueMetrics {
        self.inner
            .change(|state, now| state.metrics(&self.inner.name, now))
    }

    /// Refuses additions from now on and lets the workers leave once nothing is in line.
    ///
    /// Does not wait; ends the wait of every [`shut_down_with_drain`](Self::shut_down_with_drain).
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&self) {
        self.begin_shut_down(Drain::No);
    }

    /// Shuts down and waits until every item has been handed out and done.
    ///
    /// Ends early if [`shut_down`](Self::shut_down) is called: a second signal can so put
    /// an end to a drain.
    ///
    /// The queue must be served: with items in line and no worker that gets them, or with
    /// a worker that never lets go of its item, this waits until `shut_down`. Put
    /// `tokio::time::timeout` around it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait; the queue has been shutting down since the
    /// first poll and stays so.
    ///
    /// # Upstream
    ///
    /// `ShutDownWithDrain`, which returns as soon as no item is in flight: with items in
    /// line, a worker between two of them is enough for it to return early. Here the
    /// items in line are waited for too, as its documentation says.
    #[doc(alias = "ShutDownWithDrain")]
    pub async fn shut_down_with_drain(&self) {
        self.begin_shut_down(Drain::Yes);
        loop {
            let mut idle = pin!(self.inner.idle.notified());
            idle.as_mut().enable();
            if self.inner.lock().is_drained() {
                return;
            }
            idle.await;
        }
    }

    /// Whether shutdown has begun; workers may still be busy.
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.inner.lock().is_shutting_down()
    }

    pub(crate) fn finish(&self, item: &T, ticket: Option<u64>) {
        self.inner
            .change(|state, now| ((), state.done(item, ticket, now)));
    }

    fn begin_shut_down(&self, drain: Drain) {
        let lost = self.inner.change(|state, now| state.shut_down(drain, now));
        tracing::debug!(
            queue = self.name(),
            ?drain,
            lost_delayed_items = lost,
            "work queue is shutting down"
        );
    }
}

impl<T: Clone + Eq + Hash> Inner<T> {
    /// Changes the state under the lock and sends the wake-ups that follow from it.
    fn change<R>(&self, change: impl FnOnce(&mut QueueState<T>, Instant) -> (R, Wakes)) -> R {
        let (result, wakes) = change(&mut self.lock(), Instant::now());
        self.wake(&wakes);
        result
    }

    fn wake(&self, wakes: &Wakes) {
        if wakes.everyone {
            self.workers.notify_waiters();
            self.idle.notify_waiters();
            return;
        }
        for _ in 0..wakes.workers {
            self.workers.notify_one();
        }
        if wakes.timer {
            self.timer.notify_one();
        }
        if wakes.idle {
            self.idle.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        // A panic under the lock can only come from the user's `Eq`, `Hash`, `Clone`,
        // order or sink; the panic is told where it happened, the queue stays usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Inner<T> {
    fn limiter(&self) -> MutexGuard<'_, Box<dyn RateLimiter<T>>> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Eq + Hash> Drop for TimerLead<'_, T> {
    fn drop(&mut self) {
        let wakes = self.0.lock().stop_leading();
        self.0.wake(&wakes);
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
