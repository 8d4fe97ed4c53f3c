//! The end of a [`SharedProcessor`].

use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::Object;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Phase, SharedProcessor};
use crate::callback;
use crate::processor_listener::ProcessorListener;

/// How long an aborted task may take to notice. It takes longer only if it blocks its
/// runtime's thread, which an [`AsyncHandler`](crate::AsyncHandler) must not do.
const ABORT_GRACE: Duration = Duration::from_millis(100);

/// What becomes of the notifications that wait when a processor is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// They are dropped; callbacks in flight finish.
    Drop,
    /// They are delivered.
    Drain,
}

impl<T: Object> SharedProcessor<T> {
    /// Stops for good, and waits until no callback runs, every handler is dropped and
    /// every task has ended; until `deadline` at most, if there is one. Answers the names
    /// of the handlers that were late; their callbacks in flight are their last.
    ///
    /// 1. From the call on, nothing is distributed and no handler can be added.
    /// 2. Each listener is told to end by `mode`. What waits for a handler that never
    ///    started is dropped in either mode.
    /// 3. All are waited for, removed ones with a callback in flight too.
    /// 4. The tasks of late ones are aborted: an async callback is dropped, a blocking one
    ///    keeps its thread until it returns.
    ///
    /// It may be called again, also while another call waits, to shorten it or to go on
    /// with it. A handler whose own callback waits for this is late: it would wait for
    /// itself.
    ///
    /// # Cancel safety
    /// Steps 1 and 2 are done at the first poll. Call it again to wait.
    ///
    /// # Upstream
    /// The end of `sharedProcessor.run`, which always drops and has no deadline.
    pub async fn shutdown(&self, mode: ShutdownMode, deadline: Option<Instant>) -> Vec<Arc<str>> {
        let leaving = self.stop();
        for listener in &leaving {
            match mode {
                ShutdownMode::Drop => listener.close(),
                ShutdownMode::Drain => listener.finish(),
            }
        }
        let mut late = Vec::new();
        let mut is_own = false;
        for listener in &leaving {
            if callback::is_in_callback_of(listener.id) {
                is_own = true;
                listener.close();
                late.push(Arc::clone(&listener.name));
            } else if !has_finished(listener, deadline).await {
                listener.close();
                listener.abort();
                late.push(Arc::clone(&listener.name));
            }
        }
        self.inner.tasks.close();
        if late.is_empty() {
            self.inner.tasks.wait().await;
        } else if !is_own && timeout(ABORT_GRACE, self.inner.tasks.wait()).await.is_err() {
            tracing::error!(handlers = ?late, "event handlers block the runtime");
        }
        self.inner.lock().prune();
        late
    }

    /// Stops for good, without waiting: as [`shutdown`](Self::shutdown) by
    /// [`ShutdownMode::Drop`], up to step 2. For owners that are dropped.
    pub fn close(&self) {
        for listener in self.stop() {
            listener.close();
        }
    }

    /// Takes no more handlers and notifications; answers those that have to end.
    fn stop(&self) -> Vec<Arc<ProcessorListener<T>>> {
        let mut state = self.inner.lock();
        state.phase = Phase::Stopped;
        let listeners = std::mem::take(&mut state.listeners);
        for listener in &*listeners {
            state.schedule.remove(listener.id);
        }
        state.leaving.extend(listeners.iter().map(Arc::clone));
        state.prune();
        state.leaving.clone()
    }
}

async fn has_finished<T: Object>(
    listener: &ProcessorListener<T>,
    deadline: Option<Instant>,
) -> bool {
    let finished = listener.finished.wait();
    match deadline {
        None => {
            finished.await;
            true
        }
        Some(deadline) => timeout_at(deadline, finished).await.is_ok(),
    }
}
