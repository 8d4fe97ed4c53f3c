//! [`Packed`]: an object as its compressed JSON, decoded when somebody looks.

mod cache;
mod codec;
mod decoder;
mod learner;
mod record;

use std::fmt;
use std::sync::Arc;

use informers_cache_core::Object;
use serde::de::DeserializeOwned;

use crate::identity::View;
use crate::typed::decode_json;
use crate::{ApiResource, Decode, DecodeError, FromWire, Resource};
use cache::Cache;
pub use codec::Codec;
use codec::Dictionary;
pub use decoder::{PackedDecoder, PackedOptions, PackedStats};
use record::Record;

/// An object held as its JSON, compressed; `K` is the type it decodes to on demand.
///
/// Name, namespace, UID, resource version and labels are at hand without decoding, so keys,
/// label selectors and metadata indices cost nothing. All else is behind
/// [`decode`](Self::decode): the old object of an update, for one, costs nothing unless it is
/// looked at. An object that does not fit `K` is held as any other, and says so when it is
/// decoded.
///
/// The JSON is kept as the server sent it. The items of a list of built-in types have no
/// `kind` and `apiVersion` there, those of a watch have.
///
/// # Memory
/// 24 bytes and one allocation: identity and labels as they are, and the JSON compressed
/// against a dictionary learnt from this informer's own objects. A pod of 7 kB takes 0.9 kB
/// in all, where the decoded struct takes 36 to 54. Shared by an informer's objects: about
/// 110 kB for each dictionary in use, most often one or two. The first 100 objects are
/// compressed without one, to a third of their size.
///
/// # Examples
/// ```
/// use informers_objects::{FromWire, Object, Packed};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let decoder = Packed::<Pod>::decoder();
/// let pod = decoder.decode(br#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}}"#)?;
/// assert_eq!(pod.name(), "a");
/// assert_eq!(pod.decode()?.spec.expect("it has one").containers.len(), 1);
/// # Ok::<(), informers_objects::DecodeError>(())
/// ```
pub struct Packed<K> {
    record: Record,
    shared: Arc<Shared<K>>,
}

/// What the objects packed with one dictionary have in common. The last of them frees it.
struct Shared<K> {
    dictionary: Dictionary,
    cache: Arc<Cache<K>>,
}

impl<K> Packed<K> {
    /// Calls `look` with the object's JSON.
    ///
    /// # Errors
    /// Never in practice: if the bytes in memory no longer decompress.
    pub fn with_json<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R, DecodeError> {
        let payload = self.record.payload();
        if payload.is_plain() {
            return Ok(look(payload.bytes));
        }
        codec::with_scratch(|json| {
            self.shared
                .dictionary
                .decompress(payload.bytes, payload.json_length, json)
                .map_err(|message| self.unreadable(message))?;
            Ok(look(json))
        })
    }

    /// The object's JSON, as the server sent it.
    ///
    /// # Errors
    /// As [`with_json`](Self::with_json).
    pub fn to_json(&self) -> Result<Vec<u8>, DecodeError> {
        self.with_json(<[u8]>::to_vec)
    }

    /// Decodes the object to a type of the caller's choice: a struct with only the fields
    /// that are needed decodes several times faster than the whole.
    ///
    /// # Errors
    /// If the object does not fit `S`; the error names the object and the place.
    pub fn decode_as<S: DeserializeOwned>(&self) -> Result<S, DecodeError> {
        self.with_json(decode_json)?
    }

    /// The labels, in the order the server wrote them.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.view().labels()
    }

    /// The bytes this object holds, exactly, but for what the allocator adds and for its
    /// share of the dictionary.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.record.size()
    }

    fn view(&self) -> View<'_> {
        self.record.identity()
    }

    fn unreadable(&self, message: &str) -> DecodeError {
        let view = self.view();
        let identity = serde_json::json!({"metadata": {
            "name": view.name(), "namespace": view.namespace(), "uid": view.uid(),
            "resourceVersion": view.resource_version(),
        }});
        DecodeError::new(identity.to_string().as_bytes(), "", &message)
    }
}

impl<K: DeserializeOwned> Packed<K> {
    /// Decodes the object.
    ///
    /// # Errors
    /// If it does not fit `K`; the error names the object and the place.
    pub fn decode(&self) -> Result<K, DecodeError> {
        self.decode_as()
    }

    /// Decodes the object, or shares what was decoded a moment ago: several handlers
    /// looking at one event decode it once.
    ///
    /// # Memory
    /// The informer keeps the objects decoded last through this method, at most
    /// [`PackedOptions::decoded_cache`] of them.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_shared(&self) -> Result<Arc<K>, DecodeError> {
        let serial = self.record.payload().serial;
        if let Some(decoded) = self.shared.cache.get(serial) {
            return Ok(decoded);
        }
        let decoded = Arc::new(self.decode()?);
        self.shared.cache.put(serial, &decoded);
        Ok(decoded)
    }
}

impl<K: Send + Sync + 'static> Object for Packed<K> {
    fn name(&self) -> &str {
        self.view().name()
    }

    fn namespace(&self) -> Option<&str> {
        self.view().namespace()
    }

    fn uid(&self) -> Option<&str> {
        self.view().uid()
    }

    fn resource_version(&self) -> Option<&str> {
        self.view().resource_version()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.view().label(key)
    }

    fn approximate_size(&self) -> usize {
        self.size()
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        Self {
            record: self.record.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> fmt::Debug for Packed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = self.view();
        f.debug_struct("Packed")
            .field("name", &view.name())
            .field("namespace", &view.namespace())
            .field("uid", &view.uid())
            .field("resource_version", &view.resource_version())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

impl<K: Resource> Resource for Packed<K> {
    fn api_resource() -> ApiResource {
        K::api_resource()
    }
}

impl<K: Send + Sync + 'static> FromWire for Packed<K> {
    fn decoder() -> Arc<dyn Decode<Self>> {
        Arc::new(PackedDecoder::new(PackedOptions::default()))
    }
}

#[cfg(test)]
mod tests;
