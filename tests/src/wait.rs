//! Waiting for a condition in real time.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

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
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
