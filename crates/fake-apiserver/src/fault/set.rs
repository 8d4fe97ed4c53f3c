//! The faults in force, and who is struck by them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::{Action, Fault, Matcher};
use crate::request::RequestRecord;
use crate::server::Shared;
use crate::status::ApiError;

/// Names an injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct FaultId(u64);

/// A fault in force and what it has done so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActiveFault {
    /// Its name.
    pub id: FaultId,
    /// What was injected.
    #[serde(flatten)]
    pub fault: Fault,
    /// Matching requests (events, for lost events) since it was injected.
    pub seen: u64,
    /// Those it was applied to.
    pub applied: u64,
}

/// The server's faults; a handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults {
    pub(crate) shared: Arc<Shared>,
}

impl Faults {
    /// Puts a fault in force.
    ///
    /// Faults are asked in the order they were injected; several may meet one request
    /// (a delay and a status, say), but only the first of those that answer it.
    /// Compaction and rollback without a matcher, and faults with [`Fault::now`], happen
    /// before this returns and are not listed afterwards.
    ///
    /// What cannot be done at once (a rollback further than the history reaches, [`Fault::now`]
    /// with a kind that cannot strike an open watch) is logged; `Cluster::rollback` returns it.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.try_inject(fault).unwrap_or_else(|error| {
            tracing::warn!(%error, "the fault was not injected");
            self.shared.faults.next_id()
        })
    }

    pub(crate) fn try_inject(&self, fault: Fault) -> Result<FaultId, ApiError> {
        if fault.now {
            if !fault.action.strikes_streams() {
                return Err(ApiError::bad_request(
                    "this fault cannot strike a watch that is open",
                ));
            }
            self.shared.open.strike(&fault);
            return Ok(self.shared.faults.next_id());
        }
        if fault.action.is_state_change() && fault.matcher == Matcher::default() {
            self.shared.change_state(&fault.action)?;
            return Ok(self.shared.faults.next_id());
        }
        Ok(self.shared.faults.add(fault))
    }

    /// Takes a fault out of force; false when it is not (any more).
    pub fn remove(&self, id: FaultId) -> bool {
        let mut active = self.shared.faults.lock();
        let before = active.faults.len();
        active.faults.retain(|f| f.id != id);
        active.faults.len() < before
    }

    /// Takes all faults out of force. Streams already struck stay struck.
    pub fn clear(&self) {
        self.shared.faults.lock().faults.clear();
    }

    /// The faults in force; those that have been applied as often as asked are gone.
    pub fn list(&self) -> Vec<ActiveFault> {
        self.shared.faults.lock().faults.clone()
    }
}

/// A fault that meets a request.
#[derive(Clone, Debug)]
pub(crate) struct Struck {
    pub(crate) action: Action,
    pub(crate) after_events: Option<u64>,
}

/// The faults in force.
#[derive(Debug, Default)]
pub(crate) struct FaultSet {
    active: Mutex<Active>,
}

#[derive(Debug, Default)]
struct Active {
    faults: Vec<ActiveFault>,
    next: u64,
}

impl FaultSet {
    fn lock(&self) -> MutexGuard<'_, Active> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_id(&self) -> FaultId {
        let mut active = self.lock();
        active.next += 1;
        FaultId(active.next)
    }

    pub(super) fn add(&self, mut fault: Fault) -> FaultId {
        if fault.action.is_state_change() {
            fault.times.get_or_insert(1);
        }
        let id = self.next_id();
        self.lock().faults.push(ActiveFault {
            id,
            fault,
            seen: 0,
            applied: 0,
        });
        id
    }

    /// The faults that meet this request, which counts as seen by them.
    pub(crate) fn meet(&self, request: &RequestRecord) -> Vec<Struck> {
        let mut active = self.lock();
        let mut struck = Vec::new();
        let mut decided = false;
        for fault in active
            .faults
            .iter_mut()
            .filter(|f| !f.fault.action.is_event_loss())
        {
            let action = &fault.fault.action;
            let outcome = action.is_outcome();
            let meant = action.fits(request)
                && fault.fault.matcher.matches(request)
                && !(outcome && decided);
            if meant && fault.counts() {
                decided |= outcome;
                struck.push(Struck {
                    action: fault.fault.action.clone(),
                    after_events: fault.fault.after_events,
                });
            }
        }
        active.faults.retain(|f| !f.is_exhausted());
        struck
    }

    /// Whether an event of this watch is lost.
    pub(crate) fn loses(&self, request: &RequestRecord, event_type: &str, key: &str) -> bool {
        let mut active = self.lock();
        let mut lost = false;
        for fault in &mut active.faults {
            let Action::DropEvents { event, object } = &fault.fault.action else {
                continue;
            };
            let meant = event.as_ref().is_none_or(|e| e == event_type)
                && object.as_ref().is_none_or(|o| o == key)
                && fault.fault.matcher.matches(request);
            if meant && !lost && fault.counts() {
                lost = true;
            }
        }
        active.faults.retain(|f| !f.is_exhausted());
        lost
    }
}

impl ActiveFault {
    /// Counts a match and answers whether the fault applies to it.
    fn counts(&mut self) -> bool {
        self.seen += 1;
        let matcher = &self.fault.matcher;
        let applies = matcher.nth.is_none_or(|n| n == self.seen)
            && matcher.skip.is_none_or(|n| self.seen > n)
            && self.fault.times.is_none_or(|times| self.applied < times);
        self.applied += u64::from(applies);
        applies
    }

    fn is_exhausted(&self) -> bool {
        self.fault.times.is_some_and(|times| self.applied >= times)
            || self.fault.matcher.nth.is_some_and(|n| self.seen >= n)
    }
}

/// The watches that are open, so that faults can strike them and tests can wait for them.
#[derive(Debug)]
pub(crate) struct OpenWatches {
    watches: Mutex<HashMap<u64, OpenWatch>>,
    count: watch::Sender<usize>,
}

#[derive(Debug)]
struct OpenWatch {
    request: RequestRecord,
    strike: mpsc::UnboundedSender<Struck>,
}

impl OpenWatches {
    pub(crate) fn new() -> Self {
        Self {
            watches: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, OpenWatch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Notes an open watch until the guard is dropped.
    pub(crate) fn open(shared: &Arc<Shared>, request: &RequestRecord) -> WatchGuard {
        let (strike, struck) = mpsc::unbounded_channel();
        let watch = OpenWatch {
            request: request.clone(),
            strike,
        };
        let mut watches = shared.open.lock();
        watches.insert(request.index, watch);
        shared.open.count.send_replace(watches.len());
        drop(watches);
        WatchGuard {
            shared: Arc::clone(shared),
            index: request.index,
            struck,
        }
    }

    fn strike(&self, fault: &Fault) {
        let watches = self.lock();
        let mut matching: Vec<_> = watches
            .values()
            .filter(|w| fault.matcher.matches(&w.request))
            .collect();
        matching.sort_by_key(|w| w.request.index);
        let most = fault
            .times
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        for watch in matching.into_iter().take(most) {
            // A watch that ends at this moment needs no fault any more.
            let _ = watch.strike.send(Struck {
                action: fault.action.clone(),
                after_events: None,
            });
        }
    }
}

/// An open watch; dropping it notes its end.
#[derive(Debug)]
pub(crate) struct WatchGuard {
    shared: Arc<Shared>,
    index: u64,
    pub(crate) struck: mpsc::UnboundedReceiver<Struck>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let mut watches = self.shared.open.lock();
        watches.remove(&self.index);
        self.shared.open.count.send_replace(watches.len());
    }
}
