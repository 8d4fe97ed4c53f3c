//! One call into user code: panics are caught, and the thread knows whose callback it runs.

use std::any::Any;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use crate::async_handler::Callback;
use crate::{EventHandler, Notification};

thread_local! {
    /// The handlers whose callbacks this thread is in, outermost first.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Marks the thread as being in a callback of one handler, until dropped.
struct Marker;

impl Marker {
    fn new(id: u64) -> Self {
        CURRENT.with_borrow_mut(|current| current.push(id));
        Self
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(Vec::pop);
    }
}

/// Whether this thread is in a callback of the handler `id`.
pub(crate) fn is_in_callback_of(id: u64) -> bool {
    CURRENT.with_borrow(|current| current.contains(&id))
}

/// A panic's message.
pub(crate) struct Panicked(pub(crate) String);

// The handler is user code: what its panic leaves behind is its own, and nothing of ours
// is borrowed by the call.
fn catch<R>(id: u64, f: impl FnOnce() -> R) -> Result<R, Panicked> {
    let _marker = Marker::new(id);
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| Panicked(message(payload)))
}

/// Tells `handler` of `notification`.
pub(crate) fn call<T: 'static>(
    id: u64,
    handler: &mut dyn EventHandler<T>,
    notification: &Notification<T>,
) -> Result<(), Panicked> {
    catch(id, || match notification {
        Notification::Add {
            obj,
            is_in_initial_list,
        } => handler.on_add(obj, *is_in_initial_list),
        Notification::Update { old, new } => handler.on_update(old, new),
        Notification::Delete(deleted) => handler.on_delete(deleted),
    })
}

/// Runs an async callback, which `start` makes, to its end.
pub(crate) async fn call_async<'a>(
    id: u64,
    start: impl FnOnce() -> Callback<'a>,
) -> Result<(), Panicked> {
    let mut callback: Pin<Box<dyn Future<Output = ()> + Send + 'a>> = catch(id, start)?;
    let ended = poll_fn(|cx| match catch(id, || callback.as_mut().poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await;
    catch(id, || drop(callback)).and(ended)
}

fn message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<&'static str>() {
        Ok(text) => return (*text).to_owned(),
        Err(payload) => payload,
    };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => "not a text".to_owned(),
    }
}
