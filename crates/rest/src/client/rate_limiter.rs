//! [`RateLimiter`]: the optional limit on requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{ConfigError, RateLimit};

/// A token bucket.
///
/// # Upstream
/// `flowcontrol.NewTokenBucketRateLimiter`.
pub(super) struct RateLimiter {
    limit: RateLimit,
    state: Mutex<State>,
}

struct State {
    /// Negative when requests wait.
    tokens: f64,
    at: Instant,
}

impl RateLimiter {
    pub(super) fn new(limit: RateLimit) -> Result<Self, ConfigError> {
        if !(limit.per_second.is_finite() && limit.per_second > 0.0) || limit.burst == 0 {
            return Err(ConfigError::new("rate limit", "should be more than zero"));
        }
        Ok(Self {
            limit,
            state: Mutex::new(State {
                tokens: f64::from(limit.burst),
                at: Instant::now(),
            }),
        })
    }

    /// Waits for a turn.
    ///
    /// # Cancel safety
    /// The turn is lost.
    pub(super) async fn wait(&self) {
        let delay = self.reserve(Instant::now());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    fn reserve(&self, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = now.saturating_duration_since(state.at).as_secs_f64();
        let filled = state.tokens + elapsed * self.limit.per_second;
        state.tokens = filled.min(f64::from(self.limit.burst)) - 1.0;
        state.at = now;
        if state.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(-state.tokens / self.limit.per_second)
    }
}

#[cfg(test)]
mod tests;
