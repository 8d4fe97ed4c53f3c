//! Waiting for a condition in real time.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Waits until `condition` holds.
///
/// # Errors
/// Names `what` did not come true, after `timeout`.
pub async fn until(what: &str, timeout: Duration, condition: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + timeout;
    while !condition() {
        if Instant::now() > deadline {
            bail!("{what}: not within {timeout:?}");
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Waits until `attempt` succeeds.
///
/// # Errors
/// Names `what` did not succeed, after `timeout`; the cause is the last failure.
pub async fn until_ok<T, F: Future<Output = Result<T>>>(
    what: &str,
    timeout: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    let deadline = Instant::now() + timeout;
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) if Instant::now() > deadline => {
                return Err(error.context(format!("{what}: not within {timeout:?}")));
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}
