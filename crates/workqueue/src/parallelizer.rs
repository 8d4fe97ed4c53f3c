//! A known number of independent pieces of work, done by a few workers at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

/// Runs `work(piece)` for every piece in `0..pieces`, at most `workers` at once.
///
/// Pieces are started in order. Returns when all are done; to stop early, drop the
/// future, or make `work` return at once when a cancellation token says so.
///
/// # Panics
///
/// If a piece panics, with its panic, after the other workers have been aborted.
///
/// # Cancel safety
///
/// Dropping the future aborts the pieces that are under way at their next `.await` and
/// starts no others.
///
/// # Upstream
///
/// `workqueue.ParallelizeUntil`. Its chunk size is missing: a piece that is too small to
/// be worth a call can be made larger by the caller.
#[doc(alias = "ParallelizeUntil")]
pub async fn parallelize_until<F, W>(workers: NonZeroUsize, pieces: usize, work: F)
where
    F: Fn(usize) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let work = Arc::new(work);
    let next = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for _ in 0..workers.get().min(pieces) {
        let work = Arc::clone(&work);
        let next = Arc::clone(&next);
        running.spawn(async move {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                work(piece).await;
            }
        });
    }
    while let Some(worker) = running.join_next().await {
        // The only other error is a worker that was aborted; nobody else can do that.
        if let Err(error) = worker
            && let Ok(panic) = error.try_into_panic()
        {
            running.shutdown().await;
            std::panic::resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests;
