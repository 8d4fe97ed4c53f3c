//! [`LeaderElector`]: keeps at most one of several processes at work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers::{Api, Client, WriteOptions};
use informers_reflector::Error;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::election::{
    Call, Election, End, InvalidDurations, LeaderEvent, LeaseDurations, Next, Reply,
};

type Observer = Arc<dyn Fn(&LeaderEvent) + Send + Sync>;

/// Which lease, who, and how.
#[derive(Clone)]
pub struct LeaderElectionOptions {
    namespace: String,
    name: String,
    identity: String,
    durations: LeaseDurations,
    release_on_cancel: bool,
    observer: Option<Observer>,
}

impl LeaderElectionOptions {
    /// An election on the lease `namespace`/`name`, which is created if it is not there.
    ///
    /// `identity` must be no other process's: the pod's name or UID. A process that starts
    /// again under the identity that holds the lease leads at once.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            durations: LeaseDurations::default(),
            release_on_cancel: true,
            observer: None,
        }
    }

    /// Other times than 15 s, 10 s and 2 s.
    #[must_use]
    pub fn with_durations(mut self, durations: LeaseDurations) -> Self {
        self.durations = durations;
        self
    }

    /// Lets the lease run out after a cancellation, where it is otherwise given back so
    /// that the next leader can start at once.
    #[must_use]
    pub fn without_release(mut self) -> Self {
        self.release_on_cancel = false;
        self
    }

    /// Calls `observer` with each event, between two requests: it must not block.
    #[must_use]
    #[doc(alias = "LeaderCallbacks")]
    pub fn with_observer(
        mut self,
        observer: impl Fn(&LeaderEvent) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

impl fmt::Debug for LeaderElectionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElectionOptions")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("identity", &self.identity)
            .field("durations", &self.durations)
            .field("release_on_cancel", &self.release_on_cancel)
            .finish_non_exhaustive()
    }
}

/// One candidate of an election on a `coordination.k8s.io/v1` lease.
///
/// # Contract
/// - Work runs only while this candidate holds the lease: what [`run`](Self::run) is given
///   is started when the lease was written, and dropped as soon as it was not renewed for
///   the renew deadline (counted from before the last successful request), or was seen in
///   another's hands.
/// - Others wait a whole lease duration after the last change *they saw*; times that other
///   machines wrote are never compared with a clock here.
/// - A lease is given back only after the work has ended.
///
/// # Fencing
/// An election is no lock. A process that stood still (a paused machine, a long stop of
/// the scheduler) can finish a request that it had begun as a leader after another has
/// taken over, and what it had already sent may still arrive. So let every write carry a
/// proof: the resource version of what it was decided upon, a `create` by a fixed name, or
/// for systems outside the cluster the lease's `leaseTransitions` as a token that they
/// refuse to see shrink. Work in other tasks or threads is not dropped with the future:
/// keep tasks in a `JoinSet`, and end the process when leadership is lost.
///
/// # Examples
/// ```no_run
/// # use informers::Client;
/// # use informers_controller::{LeaderElectionOptions, LeaderElector};
/// # use tokio_util::sync::CancellationToken;
/// # async fn example(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
/// let options = LeaderElectionOptions::new("kube-system", "widgets", "widgets-7f9c");
/// let elector = LeaderElector::new(client, options)?;
/// // An error means that leadership was lost: let the process end and start again.
/// elector.run(stop, |stop| async move {
///     stop.cancelled().await; // here the controllers run
/// }).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Upstream
/// `leaderelection.LeaderElector` on a `LeaseLock`. It gives up up to a retry period
/// earlier, at once when another holds the lease, and drops the work instead of leaving
/// that to the process's exit.
pub struct LeaderElector {
    api: Api<Lease>,
    options: LeaderElectionOptions,
    election: Election,
    state: watch::Sender<State>,
}

/// What a [`LeaderMonitor`] reads.
#[derive(Debug, Clone, Default)]
struct State {
    leader: Option<String>,
    renewed_at: Option<Instant>,
}

impl LeaderElector {
    /// A candidate. Nothing is sent before [`run`](Self::run).
    ///
    /// # Errors
    /// [`InvalidDurations`] if the times do not fit together.
    pub fn new(client: Client, options: LeaderElectionOptions) -> Result<Self, InvalidDurations> {
        let election = Election::new(
            (options.namespace.clone(), options.name.clone()),
            options.identity.clone(),
            options.durations,
            options.release_on_cancel,
            fastrand::Rng::new(),
        )?;
        Ok(Self {
            api: Api::in_namespace(client, options.namespace.as_str()),
            options,
            election,
            state: watch::Sender::new(State::default()),
        })
    }

    /// Tells who leads, and whether this candidate's leadership is healthy.
    pub fn monitor(&self) -> LeaderMonitor {
        LeaderMonitor {
            identity: Arc::from(self.options.identity.as_str()),
            lease_duration: self.options.durations.lease_duration,
            state: self.state.subscribe(),
        }
    }

    /// Waits for the lease, then does `work` while it holds it.
    ///
    /// `work` is called once, with a token that is cancelled when `cancel` is; the lease is
    /// renewed until it has returned, then given back. Returns what `work` returned, or
    /// `None` if `cancel` came before this candidate led.
    ///
    /// # Errors
    /// [`LostLeadership`]: `work` was dropped where it stood. Let the process end.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and does not give the lease back: others wait
    /// until it runs out.
    #[doc(alias = "RunOrDie")]
    pub async fn run<F, W>(
        mut self,
        cancel: CancellationToken,
        work: F,
    ) -> Result<Option<W::Output>, LostLeadership>
    where
        F: FnOnce(CancellationToken) -> W,
        W: Future,
    {
        let led = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            led = self.drive(Until::Leading) => led.is_ok(),
        };
        let output = if led {
            let output = {
                let work = work(cancel.child_token());
                tokio::pin!(work);
                tokio::select! {
                    biased;
                    output = &mut work => Ok(output),
                    end = self.drive(Until::Ended) => Err(end),
                }
            };
            match output {
                Ok(output) => Some(output),
                Err(end) => return Err(self.lost(end)),
            }
        } else {
            None
        };
        self.election.leave(Instant::now());
        // How it ends is no matter any more: the lease is free, or runs out.
        if let Err(end) = self.drive(Until::Ended).await {
            tracing::debug!(lease = %self.options.name, ?end, "left the election");
        }
        Ok(output)
    }

    fn lost(&self, end: Result<(), End>) -> LostLeadership {
        LostLeadership {
            lease: format!("{}/{}", self.options.namespace, self.options.name),
            replaced_by: match end {
                Err(End::Replaced) => self.state.borrow().leader.clone(),
                Ok(()) | Err(End::NotRenewed | End::Left) => None,
            },
        }
    }

    /// Keeps the election going until this candidate leads, or it has ended.
    ///
    /// Dropped at any point it may be called again: a request that was under way counts as
    /// one without an answer.
    async fn drive(&mut self, until: Until) -> Result<(), End> {
        loop {
            self.publish();
            if until == Until::Leading && self.election.is_leader() {
                return Ok(());
            }
            match self.election.next(Instant::now(), Timestamp::now()) {
                Next::Ended(end) => {
                    self.publish();
                    return Err(end);
                }
                Next::Wait(at) => sleep_until(at).await,
                Next::Send(call) => {
                    let mut call = Some(call);
                    while let Some(this) = call.take() {
                        let deadline = self.election.call_deadline(Instant::now());
                        let reply = timeout_at(deadline, self.send(this)).await;
                        let reply = reply.unwrap_or_else(|_| {
                            tracing::warn!(lease = %self.options.name, "no answer in time");
                            Reply::Failed
                        });
                        let now = Instant::now();
                        call = self.election.on_reply(reply, now, Timestamp::now());
                        self.publish();
                    }
                }
            }
        }
    }

    async fn send(&self, call: Call) -> Reply {
        let options = WriteOptions::default();
        let answer = match call {
            Call::Get => self.api.get(&self.options.name).await,
            Call::Create(lease) => self.api.create(&lease, &options).await,
            Call::Update(lease) => self.api.replace(&lease, &options).await,
        };
        match answer {
            Ok(lease) => Reply::Lease(Box::new(lease)),
            Err(error) if error.is_not_found() => Reply::NotFound,
            Err(error) => {
                self.report(&error);
                Reply::Failed
            }
        }
    }

    fn report(&self, error: &Error) {
        let lease = &self.options.name;
        if crate::is_conflict(error) {
            tracing::debug!(%lease, "another candidate was faster");
        } else {
            tracing::warn!(%lease, error = error as &dyn std::error::Error, "cannot reach the lease");
        }
    }

    fn publish(&mut self) {
        while let Some(event) = self.election.pop_event() {
            tracing::info!(lease = %self.options.name, ?event, "election");
            if let LeaderEvent::NewLeader(leader) = &event {
                self.state
                    .send_modify(|state| state.leader.clone_from(leader));
            }
            if let Some(observer) = &self.options.observer {
                observer(&event);
            }
        }
        let renewed_at = self.election.renewed_at();
        self.state.send_if_modified(|state| {
            std::mem::replace(&mut state.renewed_at, renewed_at) != renewed_at
        });
    }
}

/// How long to keep an election going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Leading,
    Ended,
}

impl fmt::Debug for LeaderElector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElector")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Reads the state of a [`LeaderElector`] while it runs.
#[derive(Debug, Clone)]
pub struct LeaderMonitor {
    identity: Arc<str>,
    lease_duration: Duration,
    state: watch::Receiver<State>,
}

impl LeaderMonitor {
    /// Whether this candidate leads.
    pub fn is_leader(&self) -> bool {
        self.state.borrow().renewed_at.is_some()
    }

    /// The identity that was last seen to hold the lease.
    #[doc(alias = "GetLeader")]
    pub fn leader(&self) -> Option<String> {
        self.state.borrow().leader.clone()
    }

    /// This candidate's identity.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Waits until something changed: who leads, or a renewal. `false` if the election is
    /// over.
    ///
    /// # Cancel safety
    /// It may be called again; no change is missed.
    pub async fn changed(&mut self) -> bool {
        self.state.changed().await.is_ok()
    }

    /// A liveness check: a leader that has not renewed its lease for the lease duration and
    /// `tolerance` should have ended long since, and a restart is the cure.
    ///
    /// # Errors
    /// [`NotRenewed`] says for how long.
    ///
    /// # Upstream
    /// `leaderelection.HealthzAdaptor`.
    #[doc(alias = "HealthzAdaptor")]
    pub fn check(&self, tolerance: Duration) -> Result<(), NotRenewed> {
        let Some(renewed_at) = self.state.borrow().renewed_at else {
            return Ok(());
        };
        let elapsed = renewed_at.elapsed();
        if elapsed > self.lease_duration + tolerance {
            return Err(NotRenewed { elapsed });
        }
        Ok(())
    }
}

/// A leader has not renewed its lease for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRenewed {
    elapsed: Duration,
}

impl fmt::Display for NotRenewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lease was not renewed for {:?}", self.elapsed)
    }
}

impl std::error::Error for NotRenewed {}

/// This process led, and no longer does: it should end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLeadership {
    lease: String,
    replaced_by: Option<String>,
}

impl LostLeadership {
    /// Who holds the lease instead; `None` if it could not be renewed in time.
    pub fn replaced_by(&self) -> Option<&str> {
        self.replaced_by.as_deref()
    }
}

impl fmt::Display for LostLeadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lease, replaced_by } = self;
        match replaced_by {
            Some(other) => write!(f, "leadership lost: {other} holds the lease {lease}"),
            None => write!(
                f,
                "leadership lost: the lease {lease} was not renewed in time"
            ),
        }
    }
}

impl std::error::Error for LostLeadership {}

#[cfg(test)]
mod tests;
