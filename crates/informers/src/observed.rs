//! [`Observed`]: how far the store has come, for whoever waits for its own write.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use informers_cache_core::ResourceVersion;
use tokio::sync::watch;

/// The version up to which the store holds everything.
#[derive(Debug)]
pub(crate) struct Observed(watch::Sender<Option<ResourceVersion>>);

impl Observed {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// The store has come to `rv`.
    pub(crate) fn advance(&self, rv: ResourceVersion) {
        self.0.send_replace(Some(rv));
    }

    /// Waits until the store holds everything up to `rv`.
    pub(crate) async fn wait_for(
        &self,
        rv: &ResourceVersion,
        timeout: Duration,
    ) -> Result<(), NotObserved> {
        let mut reached = self.0.subscribe();
        let waited = tokio::time::timeout(timeout, async {
            reached
                .wait_for(|reached| reached.as_ref().is_some_and(|reached| is_at(reached, rv)))
                .await
                .is_ok()
        })
        .await;
        match waited {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(NotObserved {
                wanted: rv.clone(),
                reached: self.0.borrow().clone(),
                timeout,
            }),
        }
    }
}

/// Versions that cannot be compared are awaited by equality.
fn is_at(reached: &ResourceVersion, wanted: &ResourceVersion) -> bool {
    match reached.compare(wanted) {
        Ok(Ordering::Less) | Err(_) => false,
        Ok(Ordering::Equal | Ordering::Greater) => true,
    }
}

/// The store did not come to a version in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotObserved {
    wanted: ResourceVersion,
    reached: Option<ResourceVersion>,
    timeout: Duration,
}

impl fmt::Display for NotObserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            wanted,
            reached,
            timeout,
        } = self;
        write!(
            f,
            "resource version {wanted} was not observed within {timeout:?}; "
        )?;
        match reached {
            Some(reached) => write!(f, "the store is at {reached}"),
            None => f.write_str("the store has no version yet"),
        }
    }
}

impl std::error::Error for NotObserved {}
