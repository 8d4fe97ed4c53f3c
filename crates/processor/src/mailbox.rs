//! [`Mailbox`]: the handover between those who notify and the one who delivers.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informers_cache_core::Object;
use tokio::time::Instant;

use crate::listener_core::{Ended, ListenerCore, SlowHandler};
use crate::sync::{Mutex, lock};
use crate::sync_tracker::SyncTracker;
use crate::{Buffer, HandlerStats, Notification};

/// The handover between those who notify a listener and the one who delivers.
///
/// # Invariants
/// - [`begin`](Self::begin) never answers a notification after [`close`](Self::close)
///   has returned: both decide under the lock.
/// - The consumer's waker is registered only while nothing waits, so a batch costs one
///   wake-up if the consumer is idle, and none if it is busy.
///
/// # Locks
/// One mutex, held for bookkeeping: no callback, no waker and no drop of an object runs
/// under it.
pub(crate) struct Mailbox<T> {
    state: Mutex<State<T>>,
    tracker: Arc<SyncTracker>,
}

struct State<T> {
    core: ListenerCore<T>,
    phase: Phase,
    consumer: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Takes and gives notifications.
    Open,
    /// Gives what waits, takes nothing more.
    Finishing,
    /// Neither takes nor gives.
    Closed,
}

/// What a consumer that asks for work is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Something waits.
    Waiting,
    /// Nothing will ever wait again.
    Over,
}

impl<T: Object> Mailbox<T> {
    pub(crate) fn new(buffer: Buffer, tracker: Arc<SyncTracker>) -> Self {
        Self {
            state: Mutex::new(State {
                core: ListenerCore::new(buffer),
                phase: Phase::Open,
                consumer: None,
            }),
            tracker,
        }
    }

    /// Queues a batch: one lock, at most one wake-up. Never waits for the consumer.
    pub(crate) fn add(&self, batch: impl Iterator<Item = Notification<T>>, now: Instant) {
        let consumer = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Open {
                return;
            }
            let mut initial = 0;
            for notification in batch {
                initial += usize::from(notification.is_in_initial_list());
                state.core.add(notification, now);
            }
            // Before the lock is released, and so before any of them can be handled.
            self.tracker.start(initial);
            if state.core.is_empty() {
                return;
            }
            state.consumer.take()
        };
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    /// Waits for something to do.
    pub(crate) fn poll_work(&self, cx: &Context<'_>) -> Poll<Work> {
        let mut state = lock(&self.state);
        if let Some(work) = state.work() {
            return Poll::Ready(work);
        }
        state.consumer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes the next notification: from here on its callback is in flight.
    pub(crate) fn begin(&self, now: Instant) -> Option<Notification<T>> {
        let mut state = lock(&self.state);
        match state.phase {
            Phase::Open | Phase::Finishing => state.core.begin(now),
            Phase::Closed => None,
        }
    }

    /// The callback in flight ended.
    pub(crate) fn end(
        &self,
        ended: Ended,
        is_in_initial_list: bool,
        now: Instant,
    ) -> Option<SlowHandler> {
        let slow = lock(&self.state).core.end(ended, now);
        if is_in_initial_list {
            self.tracker.finish();
        }
        slow
    }

    /// Nothing more is taken; what waits may still be delivered.
    pub(crate) fn finish(&self) {
        let consumer = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Open {
                return;
            }
            state.phase = Phase::Finishing;
            state.consumer.take()
        };
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    /// Nothing more is taken or delivered; what waits is dropped.
    pub(crate) fn close(&self) {
        let (dropped, consumer) = {
            let mut state = lock(&self.state);
            state.phase = Phase::Closed;
            (state.core.take_pending(), state.consumer.take())
        };
        drop(dropped);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    pub(crate) fn stats(&self, now: Instant) -> HandlerStats {
        HandlerStats {
            initial_outstanding: self.tracker.outstanding(),
            ..lock(&self.state).core.stats(now)
        }
    }
}

impl<T: Object> State<T> {
    fn work(&self) -> Option<Work> {
        match (self.phase, self.core.is_empty()) {
            (Phase::Open | Phase::Finishing, false) => Some(Work::Waiting),
            (Phase::Finishing, true) | (Phase::Closed, _) => Some(Work::Over),
            (Phase::Open, true) => None,
        }
    }
}
