//! Tests of the queue as workers see it: upstream's scenarios under the paused clock,
//! cancellation, and the metrics.

use std::collections::HashSet;
use std::task::{Context, Poll, Waker};

use tokio::task::{JoinSet, yield_now};
use tokio::time::{advance, sleep, timeout};

use super::*;

mod basic;
mod cancel;
mod delaying;
mod metrics;
mod shutdown;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Polls once, as a runtime would, without being woken again.
fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Hands out the next item and marks it done.
fn take<T: Clone + Eq + Hash + Send + 'static>(queue: &WorkQueue<T>) -> Option<T> {
    queue.try_get().map(|item| item.item().clone())
}
