//! [`StripManagedFields`]: `metadata.managedFields` left out before anything is decoded.

use std::cell::Cell;
use std::sync::Arc;

use crate::{Decode, DecodeError, MetaScan};

/// Leaves `metadata.managedFields` out of every object: a field by which the server keeps
/// book of who set what, which few controllers read, and which makes a third of many
/// objects. Its bytes are skipped, not decoded.
///
/// # Examples
/// ```
/// use informers_objects::{Decode, FromWire, StripManagedFields};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let decoder = StripManagedFields::new(Pod::decoder());
/// let pod = decoder.decode(br#"{"metadata":{"name":"a","managedFields":[{}]}}"#)?;
/// assert_eq!(pod.metadata.managed_fields, None);
/// # Ok::<(), informers_objects::DecodeError>(())
/// ```
///
/// # Upstream
/// What `cache.TransformStripManagedFields` does after decoding.
#[doc(alias = "TransformStripManagedFields")]
pub struct StripManagedFields<T> {
    inner: Arc<dyn Decode<T>>,
}

thread_local! {
    /// The object without the field; one a thread, reused.
    static STRIPPED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer grown beyond this for one large object is given back after it.
const KEPT: usize = 1 << 20;

impl<T> StripManagedFields<T> {
    /// Around the decoder of the objects.
    pub fn new(inner: Arc<dyn Decode<T>>) -> Self {
        Self { inner }
    }
}

impl<T: 'static> Decode<T> for StripManagedFields<T> {
    fn is_expensive(&self) -> bool {
        self.inner.is_expensive()
    }

    fn decode(&self, json: &[u8]) -> Result<T, DecodeError> {
        let Some(range) = MetaScan::of(json).managed_fields() else {
            return self.inner.decode(json);
        };
        // Taken out while in use, so that a decoder may decode within a decoder.
        let mut stripped = STRIPPED.take();
        stripped.clear();
        stripped.extend_from_slice(&json[..range.start]);
        stripped.extend_from_slice(&json[range.end..]);
        let decoded = self.inner.decode(&stripped);
        if stripped.capacity() <= KEPT {
            STRIPPED.set(stripped);
        }
        decoded
    }

    fn accept(&self) -> &str {
        self.inner.accept()
    }

    fn accept_list(&self) -> &str {
        self.inner.accept_list()
    }
}

#[cfg(test)]
mod tests;
