//! [`Population`]: how much of the first list is still to be processed.

use std::sync::Arc;

/// Counts the initial population down.
///
/// # Upstream
/// `populated` and `initialPopulationCount` of both queues; there the count falls
/// before the item is processed.
#[derive(Debug, Default)]
pub(crate) struct Population {
    populated: bool,
    /// Of the first list: entries that are queued or in flight.
    left: usize,
    /// The namespaces whose first list has not come; empty if one list is everything.
    awaited: Vec<Arc<str>>,
}

impl Population {
    /// A population that takes a first list from each of `namespaces`.
    pub(crate) fn of_namespaces(namespaces: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self {
            awaited: namespaces.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A change other than a relist came in.
    pub(crate) fn on_change(&mut self) {
        self.populated |= self.awaited.is_empty();
    }

    /// A relist of `namespace` left `pending` entries in the queue and in flight.
    pub(crate) fn on_replace(&mut self, namespace: Option<&Arc<str>>, pending: usize) {
        if self.populated {
            return;
        }
        let awaited = self.awaited.len();
        self.awaited.retain(|awaited| Some(awaited) != namespace);
        if awaited == 0 || self.awaited.len() < awaited {
            self.left = pending;
            self.populated = self.awaited.is_empty();
        }
    }

    /// At most `count`, without reaching beyond the initial population.
    pub(crate) fn limit(&self, count: usize) -> usize {
        match self.left {
            0 => count,
            left => count.min(left),
        }
    }

    /// `count` entries have been processed.
    pub(crate) fn on_done(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count);
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.populated && self.left == 0
    }
}
