//! [`Waiter`]: waits that end at a stop and let resyncs through.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::{ReflectorStore, StoreError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::options::ResyncHook;

/// What ends a wait early.
#[derive(Debug)]
pub(crate) enum Interrupt {
    /// The reflector is to stop.
    Stopped,
    /// The store refused a list, a batch or a resync.
    Store(StoreError),
}

/// Every wait of a reflector goes through here, so that each ends at once when the
/// reflector is to stop, and none holds up a resync.
pub(crate) struct Waiter<T> {
    cancel: CancellationToken,
    store: Arc<dyn ReflectorStore<T>>,
    resync: Option<Resync>,
}

struct Resync {
    timer: Interval,
    is_due: ResyncHook,
}

impl<T> Waiter<T> {
    pub(crate) fn new(
        cancel: CancellationToken,
        store: Arc<dyn ReflectorStore<T>>,
        resync_check: Option<(Duration, ResyncHook)>,
    ) -> Self {
        let resync =
            resync_check
                .filter(|(period, _)| !period.is_zero())
                .map(|(period, is_due)| {
                    let mut timer = interval_at(Instant::now() + period, period);
                    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
                    Resync { timer, is_due }
                });
        Self {
            cancel,
            store,
            resync,
        }
    }

    /// Waits for `future`.
    pub(crate) async fn until<F: Future>(&mut self, future: F) -> Result<F::Output, Interrupt> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Interrupt::Stopped),
                is_due = due(&mut self.resync) => if is_due {
                    self.store.resync().map_err(Interrupt::Store)?;
                },
                output = &mut future => return Ok(output),
            }
        }
    }

    /// Waits until the store takes more.
    pub(crate) async fn until_store_is_ready(&mut self) -> Result<(), Interrupt> {
        let store = Arc::clone(&self.store);
        self.until(poll_fn(|cx| store.poll_ready(cx))).await
    }
}

/// Waits for the time to ask, and asks. For ever if there is nobody to ask.
async fn due(resync: &mut Option<Resync>) -> bool {
    match resync {
        Some(resync) => {
            let now = resync.timer.tick().await;
            (resync.is_due)(now)
        }
        None => std::future::pending().await,
    }
}
