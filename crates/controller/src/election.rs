//! [`Election`]: the rules of an election on a lease, without IO and clock.
//!
//! The driver asks [`Election::next`] what to do, does it, and reports with
//! [`Election::on_reply`]. Whether a lease has expired is judged by the time since this
//! candidate saw it change, never by the times written in it: the clocks of two machines
//! are not compared.

mod durations;

use std::collections::VecDeque;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) use self::durations::JITTER;
pub use self::durations::{InvalidDurations, LeaseDurations};

/// How often a release is tried when others change the lease meanwhile.
const RELEASE_ATTEMPTS: u32 = 5;

/// What happens in an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaderEvent {
    /// This candidate leads.
    StartedLeading,
    /// This candidate no longer leads.
    StoppedLeading,
    /// Somebody, perhaps this candidate, holds the lease; `None` if it was released.
    NewLeader(Option<String>),
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// Send the request, and report its reply.
    Send(Call),
    /// Nothing until then.
    Wait(Instant),
    /// Nothing any more.
    Ended(End),
}

/// A request on the lease.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Get,
    Create(Box<Lease>),
    Update(Box<Lease>),
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// The lease as it is now.
    Lease(Box<Lease>),
    NotFound,
    /// Refused, for example by a conflict, or without an answer.
    Failed,
}

/// How an election ended for this candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was told to leave, and does not hold the lease, as far as it could see to that.
    Left,
    /// It could not renew in time.
    NotRenewed,
    /// Another candidate holds the lease.
    Replaced,
}

/// The standing of this candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Candidate,
    /// Since the start of the last successful write.
    Leader {
        renewed_at: Instant,
    },
    /// Gives the lease back until the deadline.
    Leaving {
        deadline: Instant,
        attempts: u32,
    },
    Ended(End),
}

/// The request that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    None,
    Get {
        since: Instant,
    },
    /// A write that assumes that the lease is as it was last seen.
    OptimisticUpdate {
        since: Instant,
    },
    Write {
        since: Instant,
    },
}

/// One candidate's view of an election.
#[derive(Debug)]
pub(crate) struct Election {
    namespace: String,
    name: String,
    identity: String,
    durations: LeaseDurations,
    release_on_cancel: bool,
    rng: fastrand::Rng,
    /// The lease as last seen, and when it was first seen so.
    lease: Option<(Box<Lease>, Instant)>,
    standing: Standing,
    pending: Pending,
    next_attempt: Option<Instant>,
    /// The holder that was told last; nobody holds a lease that was not seen.
    reported: Option<String>,
    events: VecDeque<LeaderEvent>,
}

impl Election {
    pub(crate) fn new(
        (namespace, name): (String, String),
        identity: String,
        durations: LeaseDurations,
        release_on_cancel: bool,
        rng: fastrand::Rng,
    ) -> Result<Self, InvalidDurations> {
        durations.validate()?;
        Ok(Self {
            namespace,
            name,
            identity,
            durations,
            release_on_cancel,
            rng,
            lease: None,
            standing: Standing::Candidate,
            pending: Pending::None,
            next_attempt: None,
            reported: None,
            events: VecDeque::new(),
        })
    }

    /// What to do at `now`; `wall` is written to the lease and never read.
    pub(crate) fn next(&mut self, now: Instant, wall: Timestamp) -> Next {
        if let Some(deadline) = self.deadline()
            && now >= deadline
        {
            self.pending = Pending::None;
            let end = match self.standing {
                Standing::Leader { .. } => End::NotRenewed,
                Standing::Candidate | Standing::Leaving { .. } | Standing::Ended(_) => End::Left,
            };
            self.end(end);
        }
        match self.standing {
            Standing::Ended(end) => return Next::Ended(end),
            Standing::Candidate | Standing::Leader { .. } | Standing::Leaving { .. } => {}
        }
        if let Some(at) = self.next_attempt
            && at > now
        {
            return Next::Wait(self.deadline().map_or(at, |deadline| deadline.min(at)));
        }
        self.next_attempt = None;
        let optimistic = match (self.standing, &self.lease) {
            (Standing::Leader { .. }, Some((lease, _))) if self.is_valid(now) => {
                Some(self.renewal(lease, wall))
            }
            _ => None,
        };
        Next::Send(if let Some(lease) = optimistic {
            self.pending = Pending::OptimisticUpdate { since: now };
            Call::Update(Box::new(lease))
        } else {
            self.pending = Pending::Get { since: now };
            Call::Get
        })
    }

    /// Takes in the reply to the request that [`next`](Self::next) or this asked for;
    /// answers with the next request, if that must follow at once.
    pub(crate) fn on_reply(&mut self, reply: Reply, now: Instant, wall: Timestamp) -> Option<Call> {
        let pending = std::mem::replace(&mut self.pending, Pending::None);
        match (pending, reply) {
            // The driver's deadline was faster.
            (Pending::None, _) => None,
            (Pending::OptimisticUpdate { since }, Reply::Failed | Reply::NotFound) => {
                self.pending = Pending::Get { since };
                Some(Call::Get)
            }
            (
                Pending::OptimisticUpdate { since } | Pending::Write { since },
                Reply::Lease(lease),
            ) => {
                self.on_written(lease, since);
                self.schedule(now);
                None
            }
            (Pending::Get { since }, Reply::Lease(lease)) => self.on_seen(lease, since, now, wall),
            (Pending::Get { since }, Reply::NotFound) => {
                if matches!(self.standing, Standing::Leaving { .. }) {
                    self.end(End::Left);
                    return None;
                }
                self.pending = Pending::Write { since };
                Some(Call::Create(Box::new(self.first_lease(wall))))
            }
            (Pending::Get { .. } | Pending::Write { .. }, Reply::Failed | Reply::NotFound) => {
                self.schedule(now);
                None
            }
        }
    }

    /// Leaves the election: a leader gives the lease back first, if it was asked to.
    pub(crate) fn leave(&mut self, now: Instant) {
        // A write of a candidate may have been heard although its answer was not.
        let writing = matches!(self.pending, Pending::Write { .. });
        let deadline = match self.standing {
            Standing::Ended(_) | Standing::Leaving { .. } => return,
            Standing::Leader { renewed_at } if self.release_on_cancel => {
                self.events.push_back(LeaderEvent::StoppedLeading);
                renewed_at + self.durations.renew_deadline
            }
            Standing::Candidate if self.release_on_cancel && writing => {
                now + self.durations.renew_deadline
            }
            Standing::Candidate | Standing::Leader { .. } => {
                self.end(End::Left);
                return;
            }
        };
        // Whatever is under way is overtaken by the release.
        self.pending = Pending::None;
        self.next_attempt = None;
        let attempts = 0;
        self.standing = Standing::Leaving { deadline, attempts };
    }

    /// Until when the request under way makes sense.
    pub(crate) fn call_deadline(&self, now: Instant) -> Instant {
        // Half, so that a leader can try again before it has to give up.
        let own = now + self.durations.renew_deadline / 2;
        self.deadline().map_or(own, |deadline| deadline.min(own))
    }

    pub(crate) fn pop_event(&mut self) -> Option<LeaderEvent> {
        self.events.pop_front()
    }

    pub(crate) fn is_leader(&self) -> bool {
        matches!(self.standing, Standing::Leader { .. })
    }

    /// When the last successful renewal began.
    pub(crate) fn renewed_at(&self) -> Option<Instant> {
        match self.standing {
            Standing::Leader { renewed_at } => Some(renewed_at),
            Standing::Candidate | Standing::Leaving { .. } | Standing::Ended(_) => None,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.standing {
            Standing::Leader { renewed_at } => Some(renewed_at + self.durations.renew_deadline),
            Standing::Leaving { deadline, .. } => Some(deadline),
            Standing::Candidate | Standing::Ended(_) => None,
        }
    }

    fn on_seen(
        &mut self,
        lease: Box<Lease>,
        since: Instant,
        now: Instant,
        wall: Timestamp,
    ) -> Option<Call> {
        self.observe(lease, now);
        let Some((lease, _)) = &self.lease else {
            return None;
        };
        let holder = holder(lease);
        let ours = holder == Some(self.identity.as_str());
        let write = match self.standing {
            Standing::Ended(_) => return None,
            Standing::Leader { .. } if !ours => {
                self.end(End::Replaced);
                return None;
            }
            Standing::Leaving { .. } if !ours => {
                self.end(End::Left);
                return None;
            }
            Standing::Leaving { .. } => self.released(lease, wall),
            Standing::Leader { .. } => self.renewal(lease, wall),
            // What a process of the same identity left behind, or a write without answer.
            Standing::Candidate if ours => self.renewal(lease, wall),
            Standing::Candidate if holder.is_some() && self.is_valid(now) => {
                self.schedule(now);
                return None;
            }
            Standing::Candidate => self.takeover(lease, wall),
        };
        self.pending = Pending::Write { since };
        Some(Call::Update(Box::new(write)))
    }

    fn on_written(&mut self, lease: Box<Lease>, since: Instant) {
        // Counted from before the request: others cannot have seen it earlier.
        self.observe(lease, since);
        match self.standing {
            Standing::Candidate => {
                self.standing = Standing::Leader { renewed_at: since };
                self.events.push_back(LeaderEvent::StartedLeading);
            }
            Standing::Leader { .. } => self.standing = Standing::Leader { renewed_at: since },
            Standing::Leaving { .. } => self.end(End::Left),
            Standing::Ended(_) => {}
        }
    }

    /// Notes the lease, and since when it is so.
    fn observe(&mut self, lease: Box<Lease>, at: Instant) {
        let known = self.lease.as_ref();
        if known.is_some_and(|(known, _)| known.spec == lease.spec && same_version(known, &lease)) {
            return;
        }
        let holder = holder(&lease).map(str::to_owned);
        self.lease = Some((lease, at));
        if self.reported != holder {
            self.reported.clone_from(&holder);
            self.events.push_back(LeaderEvent::NewLeader(holder));
        }
    }

    fn is_valid(&self, now: Instant) -> bool {
        self.lease.as_ref().is_some_and(|(lease, since)| {
            let seconds = spec(lease).lease_duration_seconds.unwrap_or_default();
            let seconds = u64::try_from(seconds).unwrap_or_default();
            *since + Duration::from_secs(seconds) > now
        })
    }

    fn schedule(&mut self, now: Instant) {
        let period = self.durations.retry_period;
        let delay = match &mut self.standing {
            Standing::Ended(_) => return,
            Standing::Leader { .. } => period,
            Standing::Candidate => period + period.mul_f64(JITTER * self.rng.f64()),
            Standing::Leaving { attempts, .. } => {
                *attempts += 1;
                if *attempts >= RELEASE_ATTEMPTS {
                    self.end(End::Left);
                    return;
                }
                period / 10
            }
        };
        self.next_attempt = Some(now + delay);
    }

    fn end(&mut self, end: End) {
        if self.is_leader() {
            self.events.push_back(LeaderEvent::StoppedLeading);
        }
        self.standing = Standing::Ended(end);
    }

    fn first_lease(&self, wall: Timestamp) -> Lease {
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                lease_transitions: Some(0),
                acquire_time: Some(MicroTime(wall)),
                ..self.held(LeaseSpec::default(), wall)
            }),
        }
    }

    fn renewal(&self, lease: &Lease, wall: Timestamp) -> Lease {
        with_spec(lease, self.held(spec(lease), wall))
    }

    fn takeover(&self, lease: &Lease, wall: Timestamp) -> Lease {
        let before = spec(lease);
        let transitions = before.lease_transitions.unwrap_or_default();
        let taken = LeaseSpec {
            acquire_time: Some(MicroTime(wall)),
            lease_transitions: Some(transitions.saturating_add(1)),
            ..self.held(before, wall)
        };
        with_spec(lease, taken)
    }

    /// Without a holder, and with a second to live for those who look at that alone.
    fn released(&self, lease: &Lease, wall: Timestamp) -> Lease {
        let released = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(MicroTime(wall)),
            ..self.held(spec(lease), wall)
        };
        with_spec(lease, released)
    }

    fn held(&self, before: LeaseSpec, wall: Timestamp) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.durations.lease_seconds()),
            renew_time: Some(MicroTime(wall)),
            ..before
        }
    }
}

fn spec(lease: &Lease) -> LeaseSpec {
    lease.spec.clone().unwrap_or_default()
}

fn with_spec(lease: &Lease, spec: LeaseSpec) -> Lease {
    Lease {
        metadata: lease.metadata.clone(),
        spec: Some(spec),
    }
}

fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref();
    holder.filter(|holder| !holder.is_empty())
}

fn same_version(a: &Lease, b: &Lease) -> bool {
    a.metadata.resource_version == b.metadata.resource_version && a.metadata.uid == b.metadata.uid
}

#[cfg(test)]
mod tests;
