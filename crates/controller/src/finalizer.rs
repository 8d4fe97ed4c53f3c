//! Finalizers: to be asked before an object goes.

use informers::{Api, Object, Patch, WriteOptions};
use informers_reflector::Error;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

/// Whether the object was deleted and waits for its finalizers.
pub fn is_being_deleted(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}

/// Whether the object has this finalizer.
#[doc(alias = "ContainsFinalizer")]
pub fn has_finalizer(metadata: &ObjectMeta, finalizer: &str) -> bool {
    let mut finalizers = metadata.finalizers.iter().flatten();
    finalizers.any(|own| own == finalizer)
}

/// Adds a finalizer, before anything is made that it shall clean up. Answers with the
/// object as written; `None` if there was nothing to do: it has the finalizer, or is being
/// deleted, when a server takes no new one.
///
/// The write is for the version in `metadata` alone, so that no other finalizer is lost.
///
/// # Errors
/// 409 `Conflict` if the object has changed since: the next reconciliation sees that
/// change, so let it fail, or read anew under
/// [`retry_on_conflict`](crate::retry_on_conflict).
///
/// # Cancel safety
/// Dropping the future leaves it open whether the server has acted; call it again.
///
/// # Upstream
/// `controllerutil.AddFinalizer` and the update.
#[doc(alias = "AddFinalizer")]
pub async fn add_finalizer<K: Object>(
    api: &Api<K>,
    metadata: &ObjectMeta,
    finalizer: &str,
) -> Result<Option<K>, Error> {
    if has_finalizer(metadata, finalizer) || is_being_deleted(metadata) {
        return Ok(None);
    }
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(finalizer.to_owned());
    write(api, metadata, &finalizers).await.map(Some)
}

/// Removes a finalizer, after all is cleaned up. Answers with the object as written, which
/// may be the last that was seen of it; `None` if there was nothing to do: it does not
/// have the finalizer, or is gone.
///
/// # Errors
/// 409 `Conflict` as for [`add_finalizer`].
///
/// # Cancel safety
/// Dropping the future leaves it open whether the server has acted; call it again.
///
/// # Upstream
/// `controllerutil.RemoveFinalizer` and the update.
#[doc(alias = "RemoveFinalizer")]
pub async fn remove_finalizer<K: Object>(
    api: &Api<K>,
    metadata: &ObjectMeta,
    finalizer: &str,
) -> Result<Option<K>, Error> {
    if !has_finalizer(metadata, finalizer) {
        return Ok(None);
    }
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|own| own != finalizer);
    match write(api, metadata, &finalizers).await {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

async fn write<K: Object>(
    api: &Api<K>,
    metadata: &ObjectMeta,
    finalizers: &[String],
) -> Result<K, Error> {
    // A merge patch that names a resource version is refused for any other; the UID
    // guards against another object of the name.
    let patch = Patch::merge(&json!({"metadata": {
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "finalizers": finalizers,
    }}))?;
    let name = metadata.name.as_deref().unwrap_or_default();
    api.patch(name, &patch, &WriteOptions::default()).await
}

#[cfg(test)]
mod tests;
