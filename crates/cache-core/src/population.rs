//! [`Population`]: how much of the first list is still to be processed.

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
}

impl Population {
    /// A change other than a relist came in.
    pub(crate) fn on_change(&mut self) {
        self.populated = true;
    }

    /// A relist left `queued` entries in the queue.
    pub(crate) fn on_replace(&mut self, queued: usize) {
        if !self.populated {
            self.populated = true;
            self.left = queued;
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
