//! [`AsyncHandler`]: a handler whose callbacks are futures.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use crate::Notification;

/// A handler whose callback is a future, run to its end before the next one is made.
///
/// It runs on the runtime itself, so it must not block; all else is as for an
/// [`EventHandler`](crate::EventHandler). A closure that returns a future is one.
///
/// # Cancel safety
/// A future that is running is dropped if a shutdown's deadline passes, and only then.
///
/// # Examples
/// ```
/// use informers_processor::{AsyncHandler, Notification};
/// # struct Pod;
///
/// fn handler() -> impl AsyncHandler<Pod> {
///     |notification: Notification<Pod>| async move {
///         tokio::task::yield_now().await;
///         drop(notification);
///     }
/// }
/// ```
pub trait AsyncHandler<T>: Send + 'static {
    /// Handles one notification.
    fn handle(&mut self, notification: Notification<T>) -> impl Future<Output = ()> + Send;

    /// What logs and metrics call this handler, unless
    /// [`HandlerOptions::name`](crate::HandlerOptions::name) says otherwise.
    ///
    /// The default is the type's name.
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(std::any::type_name::<Self>())
    }
}

impl<T, F, R> AsyncHandler<T> for F
where
    F: FnMut(Notification<T>) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    fn handle(&mut self, notification: Notification<T>) -> impl Future<Output = ()> + Send {
        self(notification)
    }
}

/// The future of one callback.
pub(crate) type Callback<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// [`AsyncHandler`] without its type.
pub(crate) trait ErasedAsyncHandler<T>: Send {
    fn handle(&mut self, notification: Notification<T>) -> Callback<'_>;
}

impl<T: Send + Sync + 'static, H: AsyncHandler<T>> ErasedAsyncHandler<T> for H {
    fn handle(&mut self, notification: Notification<T>) -> Callback<'_> {
        Box::pin(AsyncHandler::handle(self, notification))
    }
}
