//! [`HandlerRegistration`]: the handle of a handler that was added.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};

use informers_cache_core::Object;
use tokio::time::Instant;

use crate::processor_listener::ProcessorListener;
use crate::sync_tracker::SyncTracker;
use crate::{HandlerStats, SyncFlag, callback};

/// The handle of a handler that was added: tells how it does, and removes it.
///
/// Clones are the same handle. Dropping it changes nothing; the handler stays.
///
/// # Upstream
/// `cache.ResourceEventHandlerRegistration`.
#[doc(alias = "ResourceEventHandlerRegistration")]
#[derive(Clone)]
pub struct HandlerRegistration {
    listener: Arc<dyn Listener>,
    owner: Weak<dyn Owner>,
}

/// A [`ProcessorListener`] of whatever objects.
pub(crate) trait Listener: Send + Sync {
    fn id(&self) -> u64;
    fn name(&self) -> &Arc<str>;
    fn tracker(&self) -> &Arc<SyncTracker>;
    fn stopped(&self) -> &SyncFlag;
    fn finished(&self) -> &SyncFlag;
    fn stats(&self) -> HandlerStats;
    fn close(&self);
}

/// The processor that a handler was added to.
pub(crate) trait Owner: Send + Sync {
    /// Forgets the listener; whether it was known.
    fn forget(&self, id: u64) -> bool;
}

impl<T: Object> Listener for ProcessorListener<T> {
    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn tracker(&self) -> &Arc<SyncTracker> {
        &self.tracker
    }

    fn stopped(&self) -> &SyncFlag {
        &self.stopped
    }

    fn finished(&self) -> &SyncFlag {
        &self.finished
    }

    fn stats(&self) -> HandlerStats {
        self.mailbox.stats(Instant::now())
    }

    fn close(&self) {
        Self::close(self);
    }
}

impl HandlerRegistration {
    pub(crate) fn new(listener: Arc<dyn Listener>, owner: Weak<dyn Owner>) -> Self {
        Self { listener, owner }
    }

    /// A number of this handler's own within the process.
    pub fn id(&self) -> u64 {
        self.listener.id()
    }

    /// What logs and metrics call the handler.
    pub fn name(&self) -> &str {
        self.listener.name()
    }

    /// Whether the informer has synced *and* the handler has returned from its whole
    /// initial list. Never falls back to false. A callback that panicked counts as
    /// returned.
    ///
    /// # Upstream
    /// `ResourceEventHandlerRegistration.HasSynced`; there an initial add that panicked
    /// keeps it false for ever.
    pub fn has_synced(&self) -> bool {
        self.listener.tracker().has_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced). The future is `'static`.
    ///
    /// # Errors
    /// [`HandlerGone`] if the handler is removed, or its informer stopped, before.
    ///
    /// # Cancel safety
    /// Dropping it leaves nothing behind.
    pub fn wait_for_sync(&self) -> impl Future<Output = Result<(), HandlerGone>> + Send + use<> {
        let listener = Arc::clone(&self.listener);
        async move {
            tokio::select! {
                biased;
                () = listener.tracker().wait() => Ok(()),
                () = listener.stopped().wait() => Err(HandlerGone {
                    handler: Arc::clone(listener.name()),
                }),
            }
        }
    }

    /// How the handler is doing.
    pub fn stats(&self) -> HandlerStats {
        self.listener.stats()
    }

    /// Whether the handler was removed or its informer stopped: no callback starts any
    /// more.
    pub fn removed(&self) -> bool {
        self.listener.stopped().is_set()
    }

    /// Removes the handler: no callback starts after this returns; what waits for the
    /// handler is dropped. A callback in flight is not waited for. May be called from
    /// anywhere, the handler's own callback included, and any number of times.
    ///
    /// # Upstream
    /// `SharedInformer.RemoveEventHandler`.
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove(&self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.forget(self.listener.id());
        }
        self.listener.close();
    }

    /// Removes the handler and waits for its callback in flight: afterwards none runs and
    /// the handler is dropped. Removal happens at the call, waiting in the future, which
    /// is `'static`.
    ///
    /// # Errors
    /// [`CalledFromOwnHandler`] if called, or awaited, in a callback of this very
    /// handler, which would wait for itself. The handler is removed all the same. Not
    /// noticed if the callback waits for another task or thread that calls this.
    ///
    /// # Cancel safety
    /// The handler stays removed.
    ///
    /// # Upstream
    /// `cache.ShutDownEventHandler`, which deadlocks there.
    #[doc(alias = "ShutDownEventHandler")]
    pub fn remove_and_wait(
        &self,
    ) -> impl Future<Output = Result<(), CalledFromOwnHandler>> + Send + use<> {
        self.remove();
        let listener = Arc::clone(&self.listener);
        let called_from_own = callback::is_in_callback_of(listener.id());
        let mut finished = listener.finished().wait();
        std::future::poll_fn(move |cx| {
            if std::pin::Pin::new(&mut finished).poll(cx).is_ready() {
                return std::task::Poll::Ready(Ok(()));
            }
            if called_from_own || callback::is_in_callback_of(listener.id()) {
                return std::task::Poll::Ready(Err(CalledFromOwnHandler {
                    handler: Arc::clone(listener.name()),
                }));
            }
            std::task::Poll::Pending
        })
    }

    /// Whether the handler was added to the processor at `owner`.
    pub(crate) fn belongs_to(&self, owner: *const ()) -> bool {
        std::ptr::addr_eq(self.owner.as_ptr(), owner)
    }
}

impl fmt::Debug for HandlerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerRegistration")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("has_synced", &self.has_synced())
            .field("removed", &self.removed())
            .finish_non_exhaustive()
    }
}

/// The handler was removed, or its informer stopped, before it had synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerGone {
    handler: Arc<str>,
}

impl HandlerGone {
    /// The name of the handler.
    pub fn handler(&self) -> &str {
        &self.handler
    }
}

impl fmt::Display for HandlerGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "handler {} was removed, or its informer stopped, before it had synced",
            self.handler
        )
    }
}

impl Error for HandlerGone {}

/// A handler waited for the end of its own callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledFromOwnHandler {
    handler: Arc<str>,
}

impl fmt::Display for CalledFromOwnHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "handler {} is removed, but cannot wait for its own callback to end",
            self.handler
        )
    }
}

impl Error for CalledFromOwnHandler {}
