//! [`retry_on_conflict`]: read, change, write, and again if somebody was faster.

use std::time::Duration;

use informers_reflector::Error;
use tokio::time::sleep;

use crate::is_conflict;

/// How often to try, and how long to wait between attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConflictBackoff {
    /// Attempts in all; at least one is made.
    pub steps: u32,
    /// The first wait.
    pub delay: Duration,
    /// Each wait is this many times the one before.
    pub factor: f64,
    /// Each wait is stretched by up to this much of itself.
    pub jitter: f64,
}

impl ConflictBackoff {
    /// For objects that several clients change now and then: 5 attempts, 10 ms apart.
    ///
    /// # Upstream
    /// `retry.DefaultRetry`.
    #[doc(alias = "DefaultRetry")]
    pub const RETRY: Self = Self {
        steps: 5,
        delay: Duration::from_millis(10),
        factor: 1.0,
        jitter: 0.1,
    };

    /// For objects that another client changes all the time: 4 attempts, after 10 ms, 50 ms
    /// and 250 ms.
    ///
    /// # Upstream
    /// `retry.DefaultBackoff`.
    #[doc(alias = "DefaultBackoff")]
    pub const BACKOFF: Self = Self {
        steps: 4,
        delay: Duration::from_millis(10),
        factor: 5.0,
        jitter: 0.1,
    };
}

impl Default for ConflictBackoff {
    fn default() -> Self {
        Self::RETRY
    }
}

/// Calls `attempt` until it meets no conflict.
///
/// `attempt` must read the object anew from the server each time: to write the same stale
/// version again cannot succeed.
///
/// # Errors
/// Any error but a conflict at once; the last conflict when the attempts are used up.
///
/// # Cancel safety
/// That of `attempt`.
///
/// # Examples
/// ```no_run
/// # use informers::{Api, WriteOptions};
/// # use informers_controller::{ConflictBackoff, Error, retry_on_conflict};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
/// let written = retry_on_conflict(ConflictBackoff::RETRY, async || {
///     let mut map = maps.get("settings").await?;
///     map.data.get_or_insert_default().insert("color".into(), "blue".into());
///     maps.replace(&map, &WriteOptions::default()).await
/// }).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Upstream
/// `retry.RetryOnConflict`.
#[doc(alias = "RetryOnConflict")]
pub async fn retry_on_conflict<T>(
    backoff: ConflictBackoff,
    mut attempt: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut delay = backoff.delay;
    let mut left = backoff.steps;
    loop {
        left = left.saturating_sub(1);
        match attempt().await {
            Err(error) if is_conflict(&error) && left > 0 => {
                let stretched = 1.0 + backoff.jitter.max(0.0) * fastrand::f64();
                sleep(delay.mul_f64(stretched)).await;
                delay = delay.mul_f64(backoff.factor.max(0.0));
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests;
