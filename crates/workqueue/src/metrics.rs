//! What a queue tells about itself: client-go's metric set, as a snapshot and as events.

use std::sync::Arc;
use std::time::Duration;

/// A queue's metrics at one moment, taken by [`WorkQueue::metrics`](crate::WorkQueue::metrics).
///
/// # Upstream
///
/// The seven metrics of `workqueue.MetricsProvider`. Upstream refreshes unfinished work
/// and longest running processor every half second from a goroutine; here they are
/// computed when the snapshot is taken, so that they are exact and cost nothing between
/// scrapes. `in_flight` and `delayed` are additions.
#[doc(alias = "MetricsProvider")]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueueMetrics {
    /// The queue's name.
    pub name: Arc<str>,
    /// Items that need work: those in line, and those added again while a worker holds
    /// them (`workqueue_depth`).
    pub depth: usize,
    /// Adds that made an item need work; duplicates and refused ones do not count
    /// (`workqueue_adds_total`).
    pub adds: u64,
    /// Calls of `add_after` and `add_rate_limited` (`workqueue_retries_total`).
    pub retries: u64,
    /// Items that workers hold.
    pub in_flight: usize,
    /// Items that wait for their delay to pass.
    pub delayed: usize,
    /// From an item's add to its hand-out (`workqueue_queue_duration_seconds`). A delay
    /// does not count: the clock starts when it has passed.
    pub queue_latency: DurationHistogram,
    /// From an item's hand-out to its `done` (`workqueue_work_duration_seconds`).
    pub work_duration: DurationHistogram,
    /// Summed age of the hand-outs that are not done
    /// (`workqueue_unfinished_work_seconds`); growing without end, it tells of stuck
    /// workers, and its rate of growth tells how many.
    pub unfinished_work: Duration,
    /// Age of the oldest hand-out that is not done
    /// (`workqueue_longest_running_processor_seconds`).
    pub longest_running_processor: Duration,
}

/// Durations counted into powers of ten, from 10 ns to 1,000 s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurationHistogram {
    /// How many durations were observed.
    pub count: u64,
    /// Their sum.
    pub sum: Duration,
    /// The longest of them.
    pub max: Duration,
    /// How many fell at or below [`BOUNDS`](Self::BOUNDS)`[i]` and above the bound
    /// before it; the last one counts those above every bound. Not cumulative.
    pub buckets: [u64; 13],
}

impl DurationHistogram {
    /// Upper bounds of the buckets, inclusive.
    ///
    /// Those of component-base's workqueue metrics: `ExponentialBuckets(10e-9, 10, 12)`.
    pub const BOUNDS: [Duration; 12] = [
        Duration::from_nanos(10),
        Duration::from_nanos(100),
        Duration::from_micros(1),
        Duration::from_micros(10),
        Duration::from_micros(100),
        Duration::from_millis(1),
        Duration::from_millis(10),
        Duration::from_millis(100),
        Duration::from_secs(1),
        Duration::from_secs(10),
        Duration::from_secs(100),
        Duration::from_secs(1_000),
    ];

    pub(crate) fn observe(&mut self, duration: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        self.max = self.max.max(duration);
        let bucket = Self::BOUNDS.partition_point(|bound| *bound < duration);
        self.buckets[bucket] += 1;
    }
}

/// Receives each of a queue's measurements as it happens, to feed a metrics library.
///
/// Optional: [`WorkQueue::metrics`](crate::WorkQueue::metrics) tells the same at any
/// time, and it alone tells the two that age by themselves (unfinished work, longest
/// running processor).
///
/// # Contract
///
/// Called under the queue's lock, in the order in which things happen: be quick, and do
/// not call the queue. A queue without waiting workers notices that a delay has passed at
/// its next call, so `depth` may be told late; the latency is right all the same.
///
/// # Upstream
///
/// `workqueue.MetricsProvider`, one sink in place of a factory for seven metrics, and per
/// queue in place of global.
#[doc(alias = "MetricsProvider")]
#[doc(alias = "SetProvider")]
pub trait MetricsSink: Send + Sync {
    /// An item came to need work.
    fn add(&self) {}

    /// How many items need work now.
    fn depth(&self, items: usize) {
        let _ = items;
    }

    /// An item was handed out after this long in the queue.
    fn queue_latency(&self, latency: Duration) {
        let _ = latency;
    }

    /// An item was done after this long with its worker.
    fn work_duration(&self, duration: Duration) {
        let _ = duration;
    }

    /// An item was added with a delay or through the rate limiter.
    fn retry(&self) {}
}

/// The counters of one queue, and the sink that hears of them.
pub(crate) struct Recorder {
    sink: Option<Arc<dyn MetricsSink>>,
    pub(crate) adds: u64,
    pub(crate) retries: u64,
    pub(crate) queue_latency: DurationHistogram,
    pub(crate) work_duration: DurationHistogram,
}

impl Recorder {
    pub(crate) fn new(sink: Option<Arc<dyn MetricsSink>>) -> Self {
        Self {
            sink,
            adds: 0,
            retries: 0,
            queue_latency: DurationHistogram::default(),
            work_duration: DurationHistogram::default(),
        }
    }

    pub(crate) fn add(&mut self, depth: usize) {
        self.adds += 1;
        if let Some(sink) = &self.sink {
            sink.add();
            sink.depth(depth);
        }
    }

    pub(crate) fn get(&mut self, waited: Duration, depth: usize) {
        self.queue_latency.observe(waited);
        if let Some(sink) = &self.sink {
            sink.depth(depth);
            sink.queue_latency(waited);
        }
    }

    pub(crate) fn done(&mut self, worked: Duration) {
        self.work_duration.observe(worked);
        if let Some(sink) = &self.sink {
            sink.work_duration(worked);
        }
    }

    pub(crate) fn retry(&mut self) {
        self.retries += 1;
        if let Some(sink) = &self.sink {
            sink.retry();
        }
    }
}

#[cfg(test)]
mod tests;
