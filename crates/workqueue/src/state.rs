//! The whole queue as a plain value: line, delays and metrics, and whom to wake.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::deadlines::Deadlines;
use crate::metrics::{QueueMetrics, Recorder};
use crate::queue_core::{Added, Taken, WorkQueueCore};

/// The longest delay that is told apart from a longer one, 30 years: an `Instant` cannot
/// be moved further on every platform.
const LONGEST_DELAY: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// What the lock of [`WorkQueue`](crate::WorkQueue) guards. Time is an argument, and
/// wake-ups are handed back to be sent once the lock is released.
///
/// Each method first moves the items whose delay has passed into the line, at the time
/// of their deadline. So what a caller sees does not depend on when a timer fired, and
/// the order of delayed and plain adds is that of their times.
pub(crate) struct QueueState<T> {
    core: WorkQueueCore<T>,
    deadlines: Deadlines<T>,
    recorder: Recorder,
    draining: bool,
    /// Whether one of the waiting workers watches the earliest deadline.
    timer_led: bool,
}

/// Wake-ups that a change of the state calls for.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct Wakes {
    /// How many waiting workers have something to look at.
    pub(crate) workers: usize,
    /// The earliest deadline moved: the worker that watches it must look again.
    pub(crate) timer: bool,
    /// Everybody must look again: shutdown began, or a drain was aborted.
    pub(crate) everyone: bool,
    /// Nothing is left: drains may end.
    pub(crate) idle: bool,
}

/// What a worker that asked for an item is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// Work on this.
    Item(Taken<T>),
    /// Leave: the queue is shutting down and nothing is in line.
    ShutDown,
    /// Wait for a wake-up.
    Wait,
    /// Wait for a wake-up, a moved timer or the deadline, on behalf of all workers.
    Lead(Option<Instant>),
}

/// Whether shutting down also means to wait for the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drain {
    /// Do not wait, and end the waits that are under way.
    No,
    /// Wait until nothing is left.
    Yes,
}

impl<T: Clone + Eq + Hash> QueueState<T> {
    pub(crate) fn new(core: WorkQueueCore<T>, recorder: Recorder) -> Self {
        Self {
            core,
            deadlines: Deadlines::new(),
            recorder,
            draining: false,
            timer_led: false,
        }
    }

    pub(crate) fn add(&mut self, item: T, priority: i32, now: Instant) -> Wakes {
        let mut wakes = self.promote_due(now);
        self.add_at(item, priority, now, &mut wakes);
        wakes
    }

    pub(crate) fn add_after(
        &mut self,
        item: T,
        priority: i32,
        delay: Duration,
        now: Instant,
    ) -> Wakes {
        let mut wakes = self.promote_due(now);
        if self.core.is_shutting_down() {
            return wakes;
        }
        self.recorder.retry();
        if delay.is_zero() {
            self.add_at(item, priority, now, &mut wakes);
            return wakes;
        }
        let deadline = now + delay.min(LONGEST_DELAY);
        if self.deadlines.insert(item, priority, deadline) {
            if self.timer_led {
                wakes.timer = true;
            } else {
                // A worker that waits without a deadline has to take the lead.
                wakes.workers += 1;
            }
        }
        wakes
    }

    /// Takes the next item out for a worker.
    pub(crate) fn try_get(&mut self, now: Instant) -> (Option<Taken<T>>, Wakes) {
        let mut wakes = self.promote_due(now);
        let taken = self.core.get(now);
        if let Some(taken) = &taken {
            self.recorder.get(taken.waited, self.core.depth());
            // One of the items that have just become due needs no wake-up any more.
            wakes.workers = wakes.workers.saturating_sub(1);
        }
        (taken, wakes)
    }

    /// Tells a worker what to do next; `leads` if it has been told [`Step::Lead`] before.
    pub(crate) fn next_step(&mut self, leads: bool, now: Instant) -> (Step<T>, Wakes) {
        let (taken, wakes) = self.try_get(now);
        let step = if let Some(taken) = taken {
            Step::Item(taken)
        } else if self.core.is_shutting_down() {
            Step::ShutDown
        } else if leads || (!self.timer_led && !self.deadlines.is_empty()) {
            self.timer_led = true;
            Step::Lead(self.deadlines.next())
        } else {
            Step::Wait
        };
        (step, wakes)
    }

    /// The worker that watched the earliest deadline stops doing so.
    pub(crate) fn stop_leading(&mut self) -> Wakes {
        self.timer_led = false;
        Wakes {
            workers: usize::from(!self.deadlines.is_empty()),
            ..Wakes::default()
        }
    }

    pub(crate) fn done(&mut self, item: &T, ticket: Option<u64>, now: Instant) -> Wakes {
        let mut wakes = self.promote_due(now);
        if let Some(done) = self.core.done(item, ticket, now) {
            self.recorder.done(done.worked);
            wakes.workers += usize::from(done.requeued);
            wakes.idle = self.core.is_idle();
        }
        wakes
    }

    /// Stops accepting items. Those whose delay has not passed are lost; returns how many.
    pub(crate) fn shut_down(&mut self, drain: Drain, now: Instant) -> (usize, Wakes) {
        let mut wakes = self.promote_due(now);
        let lost = self.deadlines.len();
        self.deadlines.clear();
        self.core.shut_down();
        self.draining = drain == Drain::Yes;
        wakes.everyone = true;
        (lost, wakes)
    }

    /// Whether a drain has nothing to wait for (any more).
    pub(crate) fn is_drained(&self) -> bool {
        !self.draining || self.core.is_idle()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.core.is_shutting_down()
    }

    pub(crate) fn len(&mut self, now: Instant) -> (usize, Wakes) {
        let wakes = self.promote_due(now);
        (self.core.len(), wakes)
    }

    pub(crate) fn metrics(&mut self, name: &Arc<str>, now: Instant) -> (QueueMetrics, Wakes) {
        let wakes = self.promote_due(now);
        let unfinished = self.core.unfinished(now);
        let metrics = QueueMetrics {
            name: Arc::clone(name),
            depth: self.core.depth(),
            adds: self.recorder.adds,
            retries: self.recorder.retries,
            in_flight: self.core.in_flight(),
            delayed: self.deadlines.len(),
            queue_latency: self.recorder.queue_latency.clone(),
            work_duration: self.recorder.work_duration.clone(),
            unfinished_work: unfinished.total,
            longest_running_processor: unfinished.longest,
        };
        (metrics, wakes)
    }

    fn promote_due(&mut self, now: Instant) -> Wakes {
        let mut wakes = Wakes::default();
        while let Some(due) = self.deadlines.pop_due(now) {
            self.add_at(due.item, due.priority, due.deadline, &mut wakes);
        }
        wakes
    }

    fn add_at(&mut self, item: T, priority: i32, at: Instant, wakes: &mut Wakes) {
        match self.core.add(item, priority, at) {
            Added::Queued => {
                self.recorder.add(self.core.depth());
                wakes.workers += 1;
            }
            Added::Deferred => self.recorder.add(self.core.depth()),
            Added::Refused | Added::Deduplicated => {}
        }
    }
}

#[cfg(test)]
mod tests;
