//! [`Patience`]: how long to wait for the head of a list or watch.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::config::Timeouts;

/// How long to wait for the head of an answer: short at first, so that a silent server
/// is noticed; twice as long after each time-out, so that a server that is merely slow
/// is given its time; and no longer than it lately took.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    doublings: AtomicU32,
}

impl Patience {
    /// The limit for the next request.
    pub(crate) fn limit(&self, timeouts: &Timeouts) -> Duration {
        let doublings = self.doublings.load(Ordering::Relaxed);
        scaled(timeouts, doublings)
    }

    /// There was no answer in time.
    pub(crate) fn timed_out(&self, timeouts: &Timeouts) {
        let more = |doublings| {
            (scaled(timeouts, doublings) < timeouts.response_max).then_some(doublings + 1)
        };
        // Already at the longest: stays there.
        let _unchanged = self
            .doublings
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// The head came after that time: the next may take twice as long.
    pub(crate) fn answered(&self, timeouts: &Timeouts, after: Duration) {
        let mut doublings = 0;
        while scaled(timeouts, doublings) < timeouts.response_max
            && scaled(timeouts, doublings) < after * 2
        {
            doublings += 1;
        }
        self.doublings.store(doublings, Ordering::Relaxed);
    }
}

fn scaled(timeouts: &Timeouts, doublings: u32) -> Duration {
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    timeouts
        .response
        .saturating_mul(factor)
        .min(timeouts.response_max)
}

#[cfg(test)]
mod tests;
