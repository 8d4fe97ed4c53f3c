//! [`SharedQueue`]: a delta queue between two tasks.

use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::replacement::enter;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::{
    Change, KnownObjects, Object, Popped, Queue, ReflectorStore, Replacement, ResourceVersion,
    StoreError, Transform, Undecodable,
};

struct State<T> {
    queue: Box<dyn Queue<T>>,
    closed: bool,
    consumers: Vec<Waker>,
    producer: Option<Waker>,
}

/// A delta queue between the task of a reflector and the task that pops.
///
/// The transform runs here, at entry and before the lock is taken.
///
/// # Locks
/// One mutex, held for the bookkeeping of a call and never while an item is
/// processed, nor while a transform runs. Under it the store is read
/// ([`KnownObjects`]).
pub struct SharedQueue<T> {
    state: Mutex<State<T>>,
    transform: Option<Transform<T>>,
    known: Option<Arc<dyn KnownObjects<T>>>,
}

impl<T: Object> SharedQueue<T> {
    /// Shares `queue`. `known` is the store behind it, if there is one.
    pub fn new(
        queue: impl Queue<T> + 'static,
        known: Option<Arc<dyn KnownObjects<T>>>,
        transform: Option<Transform<T>>,
    ) -> Self {
        Self {
            state: Mutex::new(State {
                queue: Box::new(queue),
                closed: false,
                consumers: Vec::new(),
                producer: None,
            }),
            transform,
            known,
        }
    }

    /// Waits for work of up to `max` keys and hands it to `process`; then the work
    /// counts as done, even if `process` panics. One piece of work is processed at a
    /// time, however many callers there are.
    ///
    /// # Errors
    /// [`QueueClosed`] once the queue is closed; what still waits is dropped.
    ///
    /// # Cancel safety
    /// Nothing is taken out until `process` is called, which then runs to its end.
    ///
    /// # Upstream
    /// `Queue.Pop`; there a closed queue is drained first.
    pub async fn pop<R>(
        &self,
        max: NonZeroUsize,
        process: impl FnOnce(Popped<T>) -> R,
    ) -> Result<R, QueueClosed> {
        let popped = poll_fn(|cx| {
            let mut state = self.lock();
            if state.closed {
                return Poll::Ready(Err(QueueClosed));
            }
            let Some(popped) = state.queue.pop(max) else {
                register(&mut state.consumers, cx);
                return Poll::Pending;
            };
            Poll::Ready(Ok(popped))
        })
        .await?;
        // No await from here on: what was taken out is processed in the same poll.
        let _done = Done(self);
        Ok(process(popped))
    }

    /// Ends every [`pop`](Self::pop), now and later. Changes that arrive afterwards
    /// are dropped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.wake_all();
    }

    /// Whether the initial population has been processed.
    pub fn has_synced(&self) -> bool {
        self.lock().queue.has_synced()
    }

    /// Keys (or entries) that wait, without those being processed.
    pub fn len(&self) -> usize {
        self.lock().queue.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }

    /// Runs `change` on the open queue, then wakes the consumer.
    fn change(&self, change: impl FnOnce(&mut dyn Queue<T>)) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::new(QueueClosed));
        }
        change(&mut *state.queue);
        if !state.queue.is_empty() {
            let consumers = std::mem::take(&mut state.consumers);
            drop(state);
            consumers.into_iter().for_each(Waker::wake);
        }
        Ok(())
    }
}

fn register(wakers: &mut Vec<Waker>, cx: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
        wakers.push(cx.waker().clone());
    }
}

impl<T> State<T> {
    fn wake_all(&mut self) {
        self.consumers.drain(..).for_each(Waker::wake);
        self.producer.take().into_iter().for_each(Waker::wake);
    }
}

/// Marks the work in flight as done, also when its processing panicked.
struct Done<'a, T: Object>(&'a SharedQueue<T>);

impl<T: Object> Drop for Done<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.queue.done();
        // Another caller of `pop` may go on, and the producer, if it waits for room.
        if state.queue.is_full() {
            state.consumers.drain(..).for_each(Waker::wake);
        } else {
            state.wake_all();
        }
    }
}

/// What a change is once its transform has run.
enum Entered<T> {
    Added(Arc<T>),
    Updated(Arc<T>),
    Deleted(crate::ObjectName, Option<Arc<T>>, Option<ResourceVersion>),
    Undecodable(Arc<Undecodable>),
    Bookmark(ResourceVersion),
}

impl<T: Object> SharedQueue<T> {
    fn enter(&self, change: Change<T>, refused: &mut Vec<Arc<Undecodable>>) -> Entered<T> {
        let transform = self.transform.as_ref();
        let entered = match change {
            Change::Added(obj) => enter(obj, transform).map(Entered::Added),
            Change::Updated(obj) => enter(obj, transform).map(Entered::Updated),
            Change::Deleted {
                name,
                object,
                resource_version,
            } => {
                // A delete counts, whatever the transform says of the final state.
                let object = object.and_then(|obj| match enter(obj, transform) {
                    Ok(obj) => Some(obj),
                    Err(undecodable) => {
                        refused.push(Arc::new(undecodable));
                        None
                    }
                });
                Ok(Entered::Deleted(name, object, resource_version))
            }
            Change::Undecodable(undecodable) => Ok(Entered::Undecodable(Arc::from(undecodable))),
            Change::Bookmark(rv) => Ok(Entered::Bookmark(rv)),
        };
        entered.unwrap_or_else(|undecodable| {
            let undecodable = Arc::new(undecodable);
            refused.push(Arc::clone(&undecodable));
            Entered::Undecodable(undecodable)
        })
    }
}

impl<T: Object> ReflectorStore<T> for SharedQueue<T> {
    fn begin_replace(&self) -> Replacement<T> {
        Replacement::new(self.transform.clone(), self.known.clone())
    }

    fn replace(
        &self,
        list: Replacement<T>,
        resource_version: Option<&ResourceVersion>,
    ) -> Result<(), StoreError> {
        self.change(|queue| queue.replace(list, resource_version))
    }

    fn apply(
        &self,
        changes: &mut Vec<Change<T>>,
        refused: &mut Vec<Arc<Undecodable>>,
    ) -> Result<(), StoreError> {
        let entered: Vec<_> = changes
            .drain(..)
            .map(|change| self.enter(change, refused))
            .collect();
        self.change(|queue| {
            for change in entered {
                match change {
                    Entered::Added(obj) => queue.add(obj),
                    Entered::Updated(obj) => queue.update(obj),
                    Entered::Deleted(name, object, rv) => queue.delete(name, object, rv.as_ref()),
                    Entered::Undecodable(undecodable) => queue.undecodable(undecodable),
                    Entered::Bookmark(rv) => queue.bookmark(&rv),
                }
            }
        })
    }

    fn resync(&self) -> Result<(), StoreError> {
        self.change(|queue| queue.resync())
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.closed || !state.queue.is_full() {
            return Poll::Ready(());
        }
        state.producer = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The queue was closed: its informer stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueClosed;

impl std::fmt::Display for QueueClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the queue is closed")
    }
}

impl std::error::Error for QueueClosed {}

#[cfg(all(test, informers_loom))]
mod loom_tests;
#[cfg(all(test, not(informers_loom)))]
mod tests;
