//! [`ControllerMetrics`]: what a controller tells about itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informers::ObjectName;
use informers::workqueue::QueueMetrics;

use super::Shared;

/// A controller's metrics at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ControllerMetrics {
    /// Reconciliations that returned an action.
    pub succeeded: u64,
    /// Reconciliations that returned an error.
    pub failed: u64,
    /// Reconciliations that panicked.
    pub panicked: u64,
    /// Keys that are being reconciled, and for how long; the longest first.
    pub running: Vec<(ObjectName, Duration)>,
    /// Those of the queue.
    pub queue: QueueMetrics,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    succeeded: AtomicU64,
    failed: AtomicU64,
    panicked: AtomicU64,
}

impl Counters {
    pub(super) fn succeeded(&self) {
        self.succeeded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn panicked(&self) {
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads the metrics of a [`Controller`](super::Controller), also while and after it runs.
#[derive(Clone)]
pub struct ControllerMonitor {
    shared: Arc<Shared>,
}

impl ControllerMonitor {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The metrics now.
    pub fn metrics(&self) -> ControllerMetrics {
        let counters = &self.shared.counters;
        let mut running: Vec<(ObjectName, Duration)> = self
            .shared
            .running()
            .iter()
            .map(|(key, since)| (key.clone(), since.elapsed()))
            .collect();
        running.sort_by(|(a, a_time), (b, b_time)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
        ControllerMetrics {
            succeeded: counters.succeeded.load(Ordering::Relaxed),
            failed: counters.failed.load(Ordering::Relaxed),
            panicked: counters.panicked.load(Ordering::Relaxed),
            running,
            queue: self.shared.queue.metrics(),
        }
    }
}

impl fmt::Debug for ControllerMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerMonitor")
            .field("metrics", &self.metrics())
            .finish()
    }
}
