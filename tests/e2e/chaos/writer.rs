//! [`Writer`]: churn that does not care what is broken.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use informers_tests::RawApi;
use serde_json::json;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::SET;
use crate::target::{Target, config_map, value_patch};

/// Objects there may be.
pub(super) const NAMES: usize = 300;
/// Between two writes.
const PAUSE: Duration = Duration::from_millis(5);
/// After a write that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
/// One create of so many is of a large object.
const LARGE_ONE_OF: usize = 40;
const LARGE_BYTES: usize = 400_000;

/// Creates, changes and deletes objects at random, one request after another.
pub(super) struct Writer {
    /// Held through each write.
    gate: Arc<Mutex<()>>,
    counts: Arc<Counts>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Counts {
    written: AtomicUsize,
    failed: AtomicUsize,
}

/// What was written in all.
pub(super) struct Written {
    written: usize,
    failed: usize,
}

impl Writer {
    pub(super) fn start(target: &Arc<Target>, seed: u64) -> Result<Self> {
        let writer = Self {
            gate: Arc::default(),
            counts: Arc::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let churn = churn(
            Arc::clone(target),
            target.impatient_api()?,
            // Another sequence than that of the faults.
            fastrand::Rng::with_seed(!seed),
            Arc::clone(&writer.gate),
            Arc::clone(&writer.counts),
        );
        let stop = writer.stop.clone();
        writer.tasks.spawn(stop.run_until_cancelled_owned(churn));
        Ok(writer)
    }

    /// Waits for the write under way; there is none until the guard is dropped.
    pub(super) async fn pause(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.gate).lock_owned().await
    }

    pub(super) async fn stop(&self) -> Written {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        Written {
            written: self.counts.written.load(Ordering::SeqCst),
            failed: self.counts.failed.load(Ordering::SeqCst),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} writes, {} more failed", self.written, self.failed)
    }
}

async fn churn(
    target: Arc<Target>,
    api: RawApi,
    mut rng: fastrand::Rng,
    gate: Arc<Mutex<()>>,
    counts: Arc<Counts>,
) {
    loop {
        let guard = gate.lock().await;
        // A write that failed may have happened all the same: the LIST will tell.
        let ok = write(&target, &api, &mut rng).await.is_ok();
        drop(guard);
        let count = if ok { &counts.written } else { &counts.failed };
        count.fetch_add(1, Ordering::SeqCst);
        sleep(if ok { PAUSE } else { AFTER_FAILURE }).await;
    }
}

/// One write, of an object that may not be there (or be there already).
async fn write(target: &Target, api: &RawApi, rng: &mut fastrand::Rng) -> Result<()> {
    let name = format!("{SET}-{}", rng.usize(..NAMES));
    let value = format!("v{}", rng.u8(..10));
    let path = target.config_map(&name);
    let existing = api.get(&path).await.is_ok();
    let written = match (existing, rng.u8(..10)) {
        (false, _) => {
            let mut object = config_map(SET, &name, &value);
            if rng.usize(..LARGE_ONE_OF) == 0 {
                object["data"]["large"] = json!("x".repeat(LARGE_BYTES));
            }
            api.create(&target.collection("configmaps"), &object).await
        }
        (true, 0..3) => api.delete(&path).await,
        (true, _) => api.patch(&path, &value_patch(&value)).await,
    };
    written.map(drop)
}
