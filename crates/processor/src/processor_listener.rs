//! [`ProcessorListener`]: one handler's place in the fan-out.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_cache_core::Object;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::async_handler::ErasedAsyncHandler;
use crate::callback::{self, Panicked};
use crate::listener_core::{Ended, SlowHandler};
use crate::mailbox::{Mailbox, Work};
use crate::sync_tracker::SyncTracker;
use crate::{Buffer, EventHandler, HandlerExecutor, Notification, SyncFlag};

/// After a callback has panicked, the next one is made no sooner than this.
///
/// Source: the sleep of client-go's processor listener.
pub(crate) const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(1);
/// The most callbacks that one job makes. A job costs about 10 µs.
const BURST_LEN: usize = 1024;
/// A job makes no further callback after this time.
const BURST_TIME: Duration = Duration::from_millis(100);

/// One handler's place in the fan-out.
///
/// [`add`](Self::add) queues and never waits; a task ([`run`]) waits for something to
/// [`pop`](Self::pop) and hands the handler to one job per burst. An idle handler is a
/// task that waits, and holds no thread.
///
/// # Locks
/// Its mailbox's mutex, its slot's mutex; never one within the other, and no user code
/// under either.
///
/// # Shutdown
/// [`close`](Self::close) or [`finish`](Self::finish), then wait for `finished`, which is
/// set once the handler has been dropped.
///
/// # Upstream
/// `processorListener`; `add`, `pop` and `run` are its three stages.
#[doc(alias = "processorListener")]
pub(crate) struct ProcessorListener<T> {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) mailbox: Mailbox<T>,
    pub(crate) tracker: Arc<SyncTracker>,
    /// Whether sync notifications are for this handler (rule S4).
    pub(crate) is_syncing: AtomicBool,
    /// No callback starts any more.
    pub(crate) stopped: SyncFlag,
    /// No callback runs any more, and the handler is dropped.
    pub(crate) finished: SyncFlag,
    slot: Mutex<Slot<T>>,
}

/// Where the handler is.
enum Slot<T> {
    /// Here, until the processor starts.
    Waiting(AnyHandler<T>),
    /// With a task, or on the way to it: then there is no handle yet.
    Running(Option<AbortHandle>),
    /// Elsewhere: the listener is a stream's.
    Stream,
    /// It was dropped without ever running.
    Gone,
}

/// A handler of either kind.
pub(crate) enum AnyHandler<T> {
    /// Its callbacks block.
    Blocking(Box<dyn EventHandler<T>>),
    /// Its callbacks are futures.
    Async(Box<dyn ErasedAsyncHandler<T>>),
}

impl<T: Object> ProcessorListener<T> {
    /// A listener for `handler`; for a stream if there is none.
    pub(crate) fn new(
        id: u64,
        name: Arc<str>,
        buffer: Buffer,
        informer_synced: SyncFlag,
        handler: Option<AnyHandler<T>>,
    ) -> Self {
        let tracker = Arc::new(SyncTracker::new(informer_synced));
        Self {
            id,
            name,
            mailbox: Mailbox::new(buffer, Arc::clone(&tracker)),
            tracker,
            is_syncing: AtomicBool::new(false),
            stopped: SyncFlag::new(),
            finished: SyncFlag::new(),
            slot: Mutex::new(handler.map_or(Slot::Stream, Slot::Waiting)),
        }
    }

    /// Queues what is for this handler of a batch of `(notification, is_sync)`: one lock,
    /// at most one wake-up.
    pub(crate) fn add(&self, batch: &[(Notification<T>, bool)], now: Instant) {
        let is_syncing = self.is_syncing.load(Ordering::Acquire);
        let batch = batch
            .iter()
            .filter(|(_, is_sync)| is_syncing || !is_sync)
            .map(|(notification, _)| notification.clone());
        self.mailbox.add(batch, now);
    }

    /// Waits until there is something to deliver.
    pub(crate) async fn pop(&self) -> Work {
        poll_fn(|cx| self.mailbox.poll_work(cx)).await
    }

    /// Gives the handler to a task of its own. Does nothing if it has one, or never will.
    /// To be called under no lock.
    pub(crate) fn start(
        self: &Arc<Self>,
        runtime: &Handle,
        tasks: &TaskTracker,
        executor: &Arc<dyn HandlerExecutor>,
    ) {
        let handler = {
            let mut slot = self.slot();
            match std::mem::replace(&mut *slot, Slot::Running(None)) {
                Slot::Waiting(handler) => handler,
                other => {
                    *slot = other;
                    return;
                }
            }
        };
        // Under no lock: a runtime that is going away drops the handler right here.
        let finish = Finish(Arc::clone(self));
        let task = match handler {
            AnyHandler::Blocking(handler) => {
                let runner = Runner { handler, finish };
                tasks.spawn_on(run(runner, Arc::clone(executor)), runtime)
            }
            AnyHandler::Async(handler) => {
                tasks.spawn_on(run_async(Runner { handler, finish }), runtime)
            }
        };
        *self.slot() = Slot::Running(Some(task.abort_handle()));
    }

    /// No callback starts after this returns; what waits is dropped.
    pub(crate) fn close(&self) {
        self.mailbox.close();
        self.stopped.set();
        let slot = {
            let mut slot = self.slot();
            match &*slot {
                Slot::Running(_) => return,
                Slot::Waiting(_) | Slot::Stream | Slot::Gone => {}
            }
            std::mem::replace(&mut *slot, Slot::Gone)
        };
        drop(slot);
        self.finished.set();
    }

    /// Nothing new is queued; what waits is delivered, unless nobody is there to do it.
    pub(crate) fn finish(&self) {
        let will_run = match &*self.slot() {
            Slot::Running(_) | Slot::Stream => true,
            Slot::Waiting(_) | Slot::Gone => false,
        };
        if will_run {
            self.mailbox.finish();
        } else {
            self.close();
        }
    }

    /// Ends the task at its next await. A callback that blocks is not interrupted; it is
    /// the last, and `finished` is set after it.
    pub(crate) fn abort(&self) {
        match &*self.slot() {
            Slot::Running(Some(task)) => task.abort(),
            Slot::Running(None) | Slot::Waiting(_) | Slot::Stream | Slot::Gone => {}
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Slot<T>> {
        self.slot
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The bookkeeping after a callback.
    fn end(
        &self,
        notification: &Notification<T>,
        result: Result<(), Panicked>,
        now: Instant,
    ) -> Ended {
        let ended = match result {
            Ok(()) => Ended::Returned,
            Err(Panicked(message)) => {
                tracing::error!(
                    handler = %self.name,
                    object = %notification.name(),
                    panic = message,
                    "event handler panicked; the notification counts as delivered"
                );
                Ended::Panicked
            }
        };
        let slow = self
            .mailbox
            .end(ended, notification.is_in_initial_list(), now);
        if let Some(SlowHandler {
            depth,
            oldest_age,
            took,
        }) = slow
        {
            tracing::warn!(
                handler = %self.name,
                depth,
                oldest_age = ?oldest_age,
                took = ?took,
                "event handler is slow: notifications pile up"
            );
        }
        ended
    }

    /// Waits after a panic, unless the handler is removed meanwhile.
    async fn pause(&self) {
        tokio::select! {
            () = tokio::time::sleep(PAUSE_AFTER_PANIC) => {}
            () = self.stopped.wait() => {}
        }
    }
}

/// Says that the listener has finished, however its task or job ends.
struct Finish<T: Object>(Arc<ProcessorListener<T>>);

impl<T: Object> Drop for Finish<T> {
    fn drop(&mut self) {
        // Also when the runtime went away under the listener: nobody would deliver.
        self.0.mailbox.close();
        self.0.stopped.set();
        self.0.finished.set();
    }
}

/// A handler on its way between its task and the job of a burst.
///
/// The order of the fields matters: the handler is dropped before that is announced.
struct Runner<T: Object, H> {
    handler: H,
    finish: Finish<T>,
}

impl<T: Object> Runner<T, Box<dyn EventHandler<T>>> {
    /// Delivers until nothing waits, a callback panics, or the burst is long enough.
    fn deliver_burst(&mut self) -> Ended {
        let listener = &*self.finish.0;
        let began = Instant::now();
        let mut now = began;
        for _ in 0..BURST_LEN {
            let Some(notification) = listener.mailbox.begin(now) else {
                break;
            };
            let result = callback::call(listener.id, &mut *self.handler, &notification);
            now = Instant::now();
            match listener.end(&notification, result, now) {
                Ended::Returned => {}
                Ended::Panicked => return Ended::Panicked,
            }
            if now.saturating_duration_since(began) >= BURST_TIME {
                break;
            }
        }
        Ended::Returned
    }
}

/// The task of a listener whose handler blocks.
async fn run<T: Object>(
    mut runner: Runner<T, Box<dyn EventHandler<T>>>,
    executor: Arc<dyn HandlerExecutor>,
) {
    let listener = Arc::clone(&runner.finish.0);
    while listener.pop().await == Work::Waiting {
        let (tx, rx) = oneshot::channel();
        executor.execute(Box::new(move || {
            let ended = runner.deliver_burst();
            // Refused if the task was aborted: then the handler is dropped here.
            drop(tx.send((runner, ended)));
        }));
        let Ok((back, ended)) = rx.await else {
            // The executor dropped the job: the runtime is going away.
            return;
        };
        runner = back;
        match ended {
            Ended::Returned => tokio::task::yield_now().await,
            Ended::Panicked => listener.pause().await,
        }
    }
}

/// The task of a listener whose handler is async.
async fn run_async<T: Object>(mut runner: Runner<T, Box<dyn ErasedAsyncHandler<T>>>) {
    let listener = Arc::clone(&runner.finish.0);
    while listener.pop().await == Work::Waiting {
        // `None` if it was removed since: the next turn says so.
        let Some(notification) = listener.mailbox.begin(Instant::now()) else {
            continue;
        };
        let given = notification.clone();
        let result = callback::call_async(listener.id, || runner.handler.handle(given)).await;
        match listener.end(&notification, result, Instant::now()) {
            // A callback that is never pending must not hog the runtime.
            Ended::Returned => tokio::task::consume_budget().await,
            Ended::Panicked => listener.pause().await,
        }
    }
}
