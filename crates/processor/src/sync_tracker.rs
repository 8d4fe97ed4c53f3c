//! [`SyncTracker`]: whether one handler has seen its whole initial list.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::SyncFlag;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::sync_flag::SyncFlagWait;
use crate::wakers::WakerSet;

/// Counts the initial adds that a handler has not returned from. The handler has
/// synced once its informer has *and* none is outstanding.
///
/// # Invariants
/// Initial adds are counted before the informer's flag is set, so the answer never
/// falls back from true to false.
///
/// # Upstream
/// `synctrack.SingleFileTracker`.
pub(crate) struct SyncTracker {
    informer_synced: SyncFlag,
    outstanding: AtomicUsize,
    waiting: Mutex<WakerSet>,
}

/// The wait for a [`SyncTracker`].
pub(crate) struct SyncTrackerWait {
    tracker: Arc<SyncTracker>,
    informer: SyncFlagWait,
    ticket: Option<u64>,
}

impl SyncTracker {
    pub(crate) fn new(informer_synced: SyncFlag) -> Self {
        Self {
            informer_synced,
            outstanding: AtomicUsize::new(0),
            waiting: Mutex::new(WakerSet::default()),
        }
    }

    /// Counts `n` initial adds that are about to be queued.
    pub(crate) fn start(&self, n: usize) {
        if n > 0 {
            self.outstanding.fetch_add(n, Ordering::AcqRel);
        }
    }

    /// Counts one initial add as returned from.
    pub(crate) fn finish(&self) {
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waiting = lock(&self.waiting).take();
            waiting.for_each(std::task::Waker::wake);
        }
    }

    pub(crate) fn has_synced(&self) -> bool {
        // In this order: the flag makes the count of all initial adds visible.
        self.informer_synced.is_set() && self.outstanding() == 0
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.load(Ordering::Acquire)
    }

    pub(crate) fn wait(self: &Arc<Self>) -> SyncTrackerWait {
        SyncTrackerWait {
            informer: self.informer_synced.wait(),
            tracker: Arc::clone(self),
            ticket: None,
        }
    }
}

impl Future for SyncTrackerWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self {
            tracker,
            informer,
            ticket,
        } = &mut *self;
        ready!(Pin::new(informer).poll(cx));
        if tracker.outstanding() == 0 {
            return Poll::Ready(());
        }
        let mut waiting = lock(&tracker.waiting);
        if tracker.outstanding() == 0 {
            return Poll::Ready(());
        }
        waiting.register(ticket, cx.waker());
        Poll::Pending
    }
}

impl Drop for SyncTrackerWait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            lock(&self.tracker.waiting).remove(ticket);
        }
    }
}
