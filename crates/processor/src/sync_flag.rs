//! [`SyncFlag`]: a one-way flag that can be awaited.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::wakers::WakerSet;

/// A flag that is set once and stays set: "synced", "removed", "finished".
///
/// Clones are the same flag. What a thread did before [`set`](Self::set) is visible
/// to whoever sees the flag set.
///
/// # Locks
/// Checking takes none. One mutex guards the list of waiting tasks, held for
/// bookkeeping only; tasks are woken after it is released.
///
/// # Upstream
/// The channels behind `DoneChecker`, which are closed once.
#[doc(alias = "DoneChecker")]
#[derive(Clone)]
pub struct SyncFlag {
    shared: Arc<Shared>,
}

struct Shared {
    set: AtomicBool,
    waiting: Mutex<WakerSet>,
}

/// The wait for a [`SyncFlag`]: resolves once it is set, at once if it is already.
///
/// # Cancel safety
/// Dropping it leaves nothing behind.
#[must_use = "futures do nothing unless awaited"]
pub struct SyncFlagWait {
    flag: SyncFlag,
    ticket: Option<u64>,
}

impl SyncFlag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                set: AtomicBool::new(false),
                waiting: Mutex::new(WakerSet::default()),
            }),
        }
    }

    /// Sets the flag and wakes those who wait. Setting it again changes nothing.
    pub fn set(&self) {
        if self.shared.set.swap(true, Ordering::AcqRel) {
            return;
        }
        // Stored before the lock is taken: a waiter that held it earlier is in the
        // set, one that takes it later sees the flag.
        let waiting = lock(&self.shared.waiting).take();
        waiting.for_each(std::task::Waker::wake);
    }

    /// Whether the flag is set.
    pub fn is_set(&self) -> bool {
        self.shared.set.load(Ordering::Acquire)
    }

    /// Waits until the flag is set. The future is `'static`.
    pub fn wait(&self) -> SyncFlagWait {
        SyncFlagWait {
            flag: self.clone(),
            ticket: None,
        }
    }
}

impl Default for SyncFlag {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SyncFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SyncFlag").field(&self.is_set()).finish()
    }
}

impl Future for SyncFlagWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { flag, ticket } = &mut *self;
        if flag.is_set() {
            return Poll::Ready(());
        }
        let mut waiting = lock(&flag.shared.waiting);
        if flag.is_set() {
            return Poll::Ready(());
        }
        waiting.register(ticket, cx.waker());
        Poll::Pending
    }
}

impl Drop for SyncFlagWait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            lock(&self.flag.shared.waiting).remove(ticket);
        }
    }
}

#[cfg(test)]
mod tests;
