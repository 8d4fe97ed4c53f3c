//! [`Subscription`]: notifications as a stream.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use informers_cache_core::Object;
use tokio::time::Instant;

use crate::listener_core::Ended;
use crate::mailbox::Work;
use crate::processor_listener::ProcessorListener;
use crate::{HandlerRegistration, Notification};

/// Notifications as a stream, with the guarantees of an
/// [`EventHandler`](crate::EventHandler): the initial list first, then every change in
/// order.
///
/// A notification counts as delivered once it is taken from the stream. The stream ends
/// once it is removed or its informer stopped; what waits is then dropped, unless the
/// shutdown drains. Dropping the subscription removes it.
///
/// # Memory
/// What is not taken waits, without bound unless
/// [`Buffer::Coalescing`](crate::Buffer::Coalescing) is asked for: see
/// [`HandlerStats`](crate::HandlerStats).
pub struct Subscription<T: Object> {
    listener: Arc<ProcessorListener<T>>,
    registration: HandlerRegistration,
}

impl<T: Object> Subscription<T> {
    pub(crate) fn new(
        listener: Arc<ProcessorListener<T>>,
        registration: HandlerRegistration,
    ) -> Self {
        Self {
            listener,
            registration,
        }
    }

    /// The handle of this subscription: name, sync state, statistics.
    pub fn registration(&self) -> &HandlerRegistration {
        &self.registration
    }
}

impl<T: Object> Stream for Subscription<T> {
    type Item = Notification<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mailbox = &self.listener.mailbox;
        loop {
            match mailbox.poll_work(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Work::Over) => {
                    self.listener.close();
                    return Poll::Ready(None);
                }
                Poll::Ready(Work::Waiting) => {
                    let now = Instant::now();
                    // `None` if it was removed since: the next turn says so.
                    if let Some(notification) = mailbox.begin(now) {
                        mailbox.end(Ended::Returned, notification.is_in_initial_list(), now);
                        return Poll::Ready(Some(notification));
                    }
                }
            }
        }
    }
}

impl<T: Object> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.registration.remove();
    }
}

impl<T: Object> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("registration", &self.registration)
            .finish_non_exhaustive()
    }
}
