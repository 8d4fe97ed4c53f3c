//! [`Transform`]: the user's function applied to each object at entry.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A function applied exactly once to each decoded object, before it enters the
/// queue: drop fields nobody reads, or refuse the object.
///
/// # Contract
/// Must not change name, namespace, UID or resource version. An error or a
/// panic makes the object [`Undecodable`](crate::Undecodable): reported, kept out of the way, healed
/// by its next good version.
///
/// # Upstream
/// `cache.TransformFunc`. There a WatchList runs it twice, and an error loses the
/// event or fails the list.
#[doc(alias = "TransformFunc")]
pub struct Transform<T>(Arc<dyn Fn(T) -> Result<T, BoxError> + Send + Sync>);

impl<T> Transform<T> {
    /// A transform that may refuse objects.
    pub fn new(transform: impl Fn(T) -> Result<T, BoxError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(transform))
    }

    /// A transform that changes the object in place and never fails.
    ///
    /// # Examples
    /// ```
    /// use informers_cache_core::Transform;
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let slim = Transform::in_place(|pod: &mut Pod| pod.metadata.managed_fields = None);
    /// ```
    pub fn in_place(transform: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        Self::new(move |mut obj| {
            transform(&mut obj);
            Ok(obj)
        })
    }

    /// Applies it; a panic is a refusal.
    pub(crate) fn apply(&self, obj: T) -> Result<T, BoxError> {
        // What the transform owns may be in any state afterwards; that is its business.
        catch_unwind(AssertUnwindSafe(|| (self.0)(obj)))
            .unwrap_or_else(|_| Err("it panicked".into()))
    }
}

impl<T> Clone for Transform<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Transform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}
