//! [`WakerSet`]: the tasks that wait for one condition.

use std::collections::BTreeMap;
use std::task::Waker;

/// Tasks that wait for one condition, each under a ticket of its own, so that one
/// that gives up leaves nothing behind.
#[derive(Default)]
pub(crate) struct WakerSet {
    next: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl WakerSet {
    /// Remembers `waker` under `ticket`, which is drawn at the first call.
    pub(crate) fn register(&mut self, ticket: &mut Option<u64>, waker: &Waker) {
        let ticket = *ticket.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        match self.waiting.get_mut(&ticket) {
            Some(known) => known.clone_from(waker),
            None => {
                self.waiting.insert(ticket, waker.clone());
            }
        }
    }

    /// Forgets the task with `ticket`.
    pub(crate) fn remove(&mut self, ticket: u64) {
        self.waiting.remove(&ticket);
    }

    /// Takes all tasks out, for the caller to wake once it holds no lock.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }

    #[cfg(all(test, not(informers_loom)))]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
