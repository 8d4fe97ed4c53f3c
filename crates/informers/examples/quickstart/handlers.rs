//! Two handlers of different speed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informers::prelude::*;
use k8s_openapi::api::core::v1::Pod;

/// What a handler has been told.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) initial: AtomicU64,
    pub(crate) adds: AtomicU64,
    pub(crate) updates: AtomicU64,
    pub(crate) deletes: AtomicU64,
    tombstones: Mutex<Vec<String>>,
}

impl Counts {
    /// Deletes that were missed, as `pod-7, last seen on node-3`.
    pub(crate) fn tombstones(&self) -> Vec<String> {
        let tombstones = self.tombstones.lock();
        tombstones.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Counts, and takes its time for each.
pub(crate) struct Counter {
    pub(crate) counts: Arc<Counts>,
    pub(crate) pause: Duration,
}

impl Counter {
    fn count(&self, count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
        if !self.pause.is_zero() {
            // A handler may block: it has a thread of its own while it is busy.
            #[expect(clippy::disallowed_methods, reason = "plays a slow handler")]
            std::thread::sleep(self.pause);
        }
    }
}

impl EventHandler<Pod> for Counter {
    fn on_add(&mut self, _pod: &Arc<Pod>, is_in_initial_list: bool) {
        if is_in_initial_list {
            self.count(&self.counts.initial);
        } else {
            self.count(&self.counts.adds);
        }
    }

    fn on_update(&mut self, _old: &Arc<Pod>, _new: &Arc<Pod>) {
        self.count(&self.counts.updates);
    }

    fn on_delete(&mut self, deleted: &Deleted<Pod>) {
        if deleted.is_final_state_unknown() {
            let node = deleted.last_known.as_deref().and_then(node_of);
            let node = node.unwrap_or("no node");
            let mut tombstones = self.counts.tombstones.lock();
            let tombstones = tombstones
                .as_mut()
                .unwrap_or_else(|broken| broken.get_mut());
            tombstones.push(format!("{}, last seen on {node}", deleted.name));
        }
        self.count(&self.counts.deletes);
    }
}

/// The node a pod runs on.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}
