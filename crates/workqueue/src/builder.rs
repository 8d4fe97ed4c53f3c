//! Choosing a queue's order, rate limiter and metrics sink.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use crate::metrics::{MetricsSink, Recorder};
use crate::order::{FifoQueue, Queue};
use crate::queue_core::WorkQueueCore;
use crate::rate_limiter::{RateLimiter, default_controller_rate_limiter};
use crate::work_queue::WorkQueue;

/// Makes a [`WorkQueue`]; started by [`WorkQueue::builder`].
///
/// # Upstream
///
/// `workqueue.TypedQueueConfig`, `TypedDelayingQueueConfig` and
/// `TypedRateLimitingQueueConfig`.
#[must_use]
pub struct WorkQueueBuilder<T> {
    name: Arc<str>,
    queue: Box<dyn Queue<T>>,
    limiter: Option<Box<dyn RateLimiter<T>>>,
    sink: Option<Arc<dyn MetricsSink>>,
}

impl<T: Clone + Eq + Hash + Send + 'static> WorkQueueBuilder<T> {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            queue: Box::new(FifoQueue::new()),
            limiter: None,
            sink: None,
        }
    }

    /// The order in which items are handed out. Default: [`FifoQueue`].
    pub fn queue(mut self, queue: impl Queue<T> + 'static) -> Self {
        self.queue = Box::new(queue);
        self
    }

    /// Who says how long a failed item waits. Default:
    /// [`default_controller_rate_limiter`].
    ///
    /// The queue owns its limiter, so two queues cannot count each other's failures.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Who hears of each measurement. Default: nobody; [`WorkQueue::metrics`] works
    /// either way.
    pub fn metrics_sink(mut self, sink: Arc<dyn MetricsSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Makes the queue. Needs no runtime.
    pub fn build(self) -> WorkQueue<T> {
        WorkQueue::from_parts(
            self.name,
            WorkQueueCore::new(self.queue),
            Recorder::new(self.sink),
            self.limiter
                .unwrap_or_else(|| Box::new(default_controller_rate_limiter())),
        )
    }
}

impl<T> fmt::Debug for WorkQueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueueBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
