//! [`Backoff`]: how long to wait before the next attempt.

use std::time::Duration;

use tokio::time::Instant;

/// The shape of a [`Backoff`].
///
/// The defaults are client-go's: they keep a cluster's worth of informers below 2
/// requests a minute each through an outage, and bring one back within a few seconds
/// of a short one.
///
/// # Upstream
/// `NewBackoffManager(800ms, 30s, 2min, 2.0, 1.0)` of `NewReflectorWithOptions`.
#[derive(Debug, Clone, PartialEq)]
pub struct BackoffOptions {
    /// The first delay, before jitter. Default 800 ms. Shorter: back sooner after a
    /// blip, more load on a server that is starting.
    pub initial: Duration,
    /// What each further delay is multiplied by. Default 2.
    pub factor: f64,
    /// The longest delay, before jitter. Default 30 s. Longer: less load through an
    /// outage, later recovery.
    pub cap: Duration,
    /// Each delay is drawn from `[d, d × (1 + jitter))`. Default 1. Zero lets all
    /// informers of a cluster come back in the same instant.
    pub jitter: f64,
    /// The delays start anew once requests have succeeded for this long. Default
    /// 2 min.
    pub reset_after: Duration,
}

impl Default for BackoffOptions {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            cap: Duration::from_secs(30),
            jitter: 1.0,
            reset_after: Duration::from_secs(120),
        }
    }
}

/// Exponential delays with jitter, as a plain value: time and chance come from the
/// caller.
///
/// A delay that the server states (`Retry-After`) is taken at its word for the first
/// [`STATED_DELAYS`](Self::STATED_DELAYS) refusals; after that it is only a lower
/// bound to the exponential one.
///
/// # Upstream
/// `wait.BackoffManager`. There the clock of the reset runs through an outage too, so
/// that the ramp restarts every 2 minutes of it; here only success counts, and an
/// outage stays at the cap.
#[derive(Debug, Clone)]
pub struct Backoff {
    options: BackoffOptions,
    next: Duration,
    stated: u32,
    healthy_since: Option<Instant>,
}

impl Backoff {
    /// So many delays in a row are taken from the server as stated. client-go's REST
    /// client retries as often before its reflector hears of it.
    pub const STATED_DELAYS: u32 = 10;

    /// A stated delay counts for no more than this.
    pub const MAX_STATED: Duration = Duration::from_secs(300);

    /// The first delay comes next.
    pub fn new(options: BackoffOptions) -> Self {
        Self {
            next: options.initial.min(options.cap),
            options,
            stated: 0,
            healthy_since: None,
        }
    }

    /// An attempt failed at `now`: how long to wait. `stated` is what the server asks
    /// for.
    pub fn next_delay(
        &mut self,
        now: Instant,
        stated: Option<Duration>,
        rng: &mut fastrand::Rng,
    ) -> Duration {
        if let Some(since) = self.healthy_since.take()
            && now.saturating_duration_since(since) >= self.options.reset_after
        {
            self.reset();
        }
        let jitter = 1.0 + self.options.jitter.max(0.0) * rng.f64();
        let stated = stated.map_or(Duration::ZERO, |stated| stated.min(Self::MAX_STATED));
        if !stated.is_zero() && self.stated < Self::STATED_DELAYS {
            self.stated += 1;
            // A quarter of the usual spread: later than stated, never earlier.
            let spread = 1.0 + (jitter - 1.0) / 4.0;
            return stated.max(self.options.initial).mul_f64(spread);
        }
        let delay = self.next.mul_f64(jitter);
        let next = self.next.mul_f64(self.options.factor.max(1.0));
        self.next = next.min(self.options.cap);
        delay.max(stated)
    }

    /// Requests succeed, as of `now`.
    pub fn on_success(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
    }

    /// Something failed that is waited for elsewhere: the healthy time is over.
    pub fn on_other_failure(&mut self) {
        self.healthy_since = None;
    }

    /// The first delay comes next again.
    pub fn reset(&mut self) {
        self.next = self.options.initial.min(self.options.cap);
        self.stated = 0;
        self.healthy_since = None;
    }
}

#[cfg(test)]
mod tests;
