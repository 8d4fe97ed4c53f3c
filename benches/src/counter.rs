//! [`Counter`]: the handler, which counts what it is told.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use informers::{Deleted, EventHandler};
use informers_objects::{FromWire, Packed, Resource};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::Notify;

use crate::args::Touch;
use informers_benches::SmallPod;

/// A type to be measured.
pub(crate) trait Subject: Resource + FromWire {
    /// Decodes the whole of it, if that was not done when it arrived.
    fn decode_all(&self);
}

impl Subject for Pod {
    fn decode_all(&self) {}
}

impl Subject for SmallPod {
    fn decode_all(&self) {}
}

impl Subject for Packed<Pod> {
    fn decode_all(&self) {
        black_box(self.decode()).expect("the load server's pods decode");
    }
}

/// What the handler was told so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    adds: AtomicU64,
    updates: AtomicU64,
    /// The update that was waited for came.
    done: Notify,
}

impl Counts {
    pub(crate) fn adds(&self) -> u64 {
        self.adds.load(Ordering::Acquire)
    }

    pub(crate) fn updates(&self) -> u64 {
        self.updates.load(Ordering::Acquire)
    }

    /// Waits for the last update.
    pub(crate) async fn done(&self) {
        self.done.notified().await;
    }
}

/// The handler.
pub(crate) struct Counter {
    pub(crate) counts: Arc<Counts>,
    pub(crate) touch: Touch,
    /// The number of updates to wait for.
    pub(crate) last: u64,
}

impl Counter {
    fn look<T: Subject>(&self, object: &T) {
        black_box(object.name());
        match self.touch {
            Touch::Metadata => {}
            Touch::Decode => object.decode_all(),
        }
    }
}

impl<T: Subject> EventHandler<T> for Counter {
    fn on_add(&mut self, object: &Arc<T>, _is_in_initial_list: bool) {
        self.look(&**object);
        self.counts.adds.fetch_add(1, Ordering::AcqRel);
    }

    fn on_update(&mut self, _old: &Arc<T>, new: &Arc<T>) {
        self.look(&**new);
        if self.counts.updates.fetch_add(1, Ordering::AcqRel) + 1 == self.last {
            self.counts.done.notify_one();
        }
    }

    fn on_delete(&mut self, _deleted: &Deleted<T>) {}
}
