//! [`wait_for`]: until an informer's object is as wanted.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers::{
    HandlerFuncs, HandlerOptions, HandlerRegistration, Object, ObjectName, SharedIndexInformer,
};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Waits until `condition` holds for the object of that name, `None` if there is none.
/// Answers with the object for which it held.
///
/// The condition is asked about the store's state after each change of the object; states
/// that follow each other quickly may be passed over. Expired versions and broken watches
/// are the informer's business and do not end the wait.
///
/// # Errors
/// [`WaitError::TimedOut`] after `within`; [`WaitError::Stopped`] if the informer has ended.
///
/// # Cancel safety
/// It may be called again.
///
/// # Examples
/// ```no_run
/// # use std::time::Duration;
/// # use informers::prelude::*;
/// # use informers_controller::{WaitError, wait_for};
/// # use k8s_openapi::api::core::v1::Pod;
/// # async fn example(pods: SharedIndexInformer<Pod>) -> Result<(), WaitError> {
/// let name = ObjectName::new(Some("shop"), "web-0");
/// let gone = |pod: Option<&Pod>| pod.is_none();
/// wait_for(&pods, &name, gone, Duration::from_secs(30)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Upstream
/// `watch.UntilWithSync` and `watch.UntilWithoutRetry`.
#[doc(alias = "UntilWithSync")]
pub async fn wait_for<T: Object>(
    informer: &SharedIndexInformer<T>,
    name: &ObjectName,
    condition: impl Fn(Option<&T>) -> bool,
    within: Duration,
) -> Result<Option<Arc<T>>, WaitError> {
    let changed = Arc::new(Notify::new());
    let notify = |of: ObjectName| {
        let changed = Arc::clone(&changed);
        move |name: &ObjectName| {
            if *name == of {
                changed.notify_one();
            }
        }
    };
    let (add, update, delete) = (
        notify(name.clone()),
        notify(name.clone()),
        notify(name.clone()),
    );
    let handler = HandlerFuncs::new()
        .on_add(move |obj: &Arc<T>, _| add(&ObjectName::of(&**obj)))
        .on_update(move |_, obj| update(&ObjectName::of(&**obj)))
        .on_delete(move |deleted| delete(&deleted.name));
    let options = HandlerOptions::new().with_name(format!("wait for {name}"));
    let handler = informer
        .add_event_handler_with_options(handler, options)
        .map_err(|_| WaitError::Stopped)?;
    let handler = RemoveOnDrop(handler);
    let store = informer.store();
    let waited = timeout(within, async {
        // An empty store says nothing before the initial list.
        if handler.0.wait_for_sync().await.is_err() {
            return None;
        }
        loop {
            let object = store.get(name);
            if condition(object.as_deref()) {
                return Some(object);
            }
            changed.notified().await;
        }
    });
    match waited.await {
        Ok(Some(object)) => Ok(object),
        // Only the informer's end takes the handler away.
        Ok(None) => Err(WaitError::Stopped),
        Err(_) => Err(WaitError::TimedOut {
            name: name.clone(),
            within,
            synced: handler.0.has_synced(),
        }),
    }
}

struct RemoveOnDrop(HandlerRegistration);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// The condition did not come to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// The time was over.
    TimedOut {
        /// The object that was waited for.
        name: ObjectName,
        /// The time there was.
        within: Duration,
        /// Whether the informer had synced.
        synced: bool,
    },
    /// The informer has ended.
    Stopped,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut {
                name,
                within,
                synced,
            } => {
                write!(f, "{name} was not as wanted within {within:?}")?;
                f.write_str(if *synced {
                    ""
                } else {
                    "; the informer has not synced"
                })
            }
            Self::Stopped => f.write_str("the informer has ended"),
        }
    }
}

impl std::error::Error for WaitError {}

#[cfg(test)]
mod tests;
