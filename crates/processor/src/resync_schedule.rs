//! [`ResyncSchedule`]: which handler is due to be told everything again, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The shortest period that a handler can have.
///
/// Source: `minimumResyncPeriod` of client-go.
pub const MINIMUM_RESYNC_PERIOD: Duration = Duration::from_secs(1);

/// Which handler is due for a resync, as a plain value: time is an argument.
///
/// The informer checks once in a check period, which starts out as its own resync period
/// and shrinks to the smallest that a handler asks for before the start. Zero is "never"
/// throughout.
///
/// # Upstream
/// The `resync…` fields and functions of `sharedIndexInformer`, `sharedProcessor` and
/// `processorListener`. Different: a handler that asked for no resync is never a target of
/// sync notifications, there it is one until the first check.
#[derive(Debug, Clone)]
pub struct ResyncSchedule {
    default_period: Duration,
    check_period: Duration,
    started: bool,
    handlers: BTreeMap<u64, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    requested: Duration,
    effective: Duration,
    /// `None`: further off than time can tell.
    next: Option<Instant>,
    is_syncing: bool,
}

/// What became of the period that a handler asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResyncGrant {
    /// As asked.
    Granted,
    /// Raised to [`MINIMUM_RESYNC_PERIOD`].
    RaisedToMinimum,
    /// Raised to the informer's check period, which cannot shrink once it has started.
    RaisedToCheckPeriod,
    /// No resync at all: the informer itself has none.
    InformerHasNoResync,
}

impl ResyncSchedule {
    /// A schedule for an informer with `period` (zero: never).
    pub fn new(period: Duration) -> Self {
        Self {
            default_period: period,
            check_period: period,
            started: false,
            handlers: BTreeMap::new(),
        }
    }

    /// From now on the check period stays as it is.
    pub fn start(&mut self) {
        self.started = true;
    }

    /// How often [`should_resync`](Self::should_resync) is to be asked; zero: never.
    pub fn check_period(&self) -> Duration {
        self.check_period
    }

    /// Adds the handler `id`, which asks for `requested` (`None`: the informer's period;
    /// zero: never). Its first resync is due one period from `now`.
    pub fn add(&mut self, id: u64, requested: Option<Duration>, now: Instant) -> ResyncGrant {
        let mut requested = requested.unwrap_or(self.default_period);
        let mut grant = ResyncGrant::Granted;
        if !requested.is_zero() {
            if requested < MINIMUM_RESYNC_PERIOD {
                requested = MINIMUM_RESYNC_PERIOD;
                grant = ResyncGrant::RaisedToMinimum;
            }
            if self.check_period.is_zero() {
                grant = ResyncGrant::InformerHasNoResync;
            } else if requested < self.check_period {
                if self.started {
                    requested = self.check_period;
                    grant = ResyncGrant::RaisedToCheckPeriod;
                } else {
                    self.shrink_check_period(requested);
                }
            }
        }
        let effective = effective(requested, self.check_period);
        self.handlers.insert(
            id,
            Entry {
                requested,
                effective,
                next: now.checked_add(effective),
                is_syncing: !requested.is_zero(),
            },
        );
        grant
    }

    /// Removes the handler `id`.
    pub fn remove(&mut self, id: u64) {
        self.handlers.remove(&id);
    }

    /// The period of the handler `id`; zero: never. `None` if there is no such handler.
    pub fn period(&self, id: u64) -> Option<Duration> {
        self.handlers.get(&id).map(|entry| entry.effective)
    }

    /// Whether any handler is due at `now`. Until the next call, these and no others are
    /// the targets of sync notifications.
    #[doc(alias = "resyncNeeded")]
    pub fn should_resync(&mut self, now: Instant) -> bool {
        let mut any = false;
        for entry in self.handlers.values_mut() {
            entry.is_syncing =
                !entry.effective.is_zero() && entry.next.is_some_and(|next| now >= next);
            if entry.is_syncing {
                any = true;
                entry.next = now.checked_add(entry.effective);
            }
        }
        any
    }

    /// Whether the handler `id` is a target of sync notifications: it asked for resync,
    /// and there was no check yet or it was due at the last one.
    pub fn is_syncing(&self, id: u64) -> bool {
        self.handlers.get(&id).is_some_and(|entry| entry.is_syncing)
    }

    fn shrink_check_period(&mut self, period: Duration) {
        self.check_period = period;
        for entry in self.handlers.values_mut() {
            entry.effective = effective(entry.requested, period);
        }
    }
}

/// The period of a handler that asks for `requested`.
fn effective(requested: Duration, check_period: Duration) -> Duration {
    if requested.is_zero() || check_period.is_zero() {
        Duration::ZERO
    } else {
        requested.max(check_period)
    }
}

#[cfg(test)]
mod tests;
