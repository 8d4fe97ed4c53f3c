//! [`Typed`]: the decoder of types that serde can deserialize.

use std::sync::Arc;

use informers_cache_core::Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;

use crate::{Decode, DecodeError, FromWire, exact, lenient};

/// Decodes by serde: strictly first, and what that refuses once more with `null` taken
/// for empty, as Go does (a null list, map, text or number at any depth).
///
/// The second try also finds out where an error is, so a good object pays for neither.
#[derive(Debug)]
pub struct Typed<T> {
    /// `serde_json::from_slice`, or one that does more.
    strict: fn(&[u8]) -> Result<T, serde_json::Error>,
    is_expensive: bool,
}

impl<T: DeserializeOwned> Typed<T> {
    /// A decoder for types that leave out most of an object.
    pub fn new() -> Self {
        Self {
            strict: |json| serde_json::from_slice(json),
            is_expensive: false,
        }
    }

    /// A decoder for types that hold most of an object: their vectors get no spare capacity.
    ///
    /// # Memory
    /// A fifth less for a decoded pod (36 kB instead of 44, managed fields left out); it
    /// takes a few per cent more time to decode, and less to hold what was decoded.
    pub fn without_slack() -> Self {
        Self {
            strict: exact::from_slice,
            is_expensive: true,
        }
    }
}

impl<T: DeserializeOwned> Default for Typed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DeserializeOwned + 'static> Decode<T> for Typed<T> {
    fn is_expensive(&self) -> bool {
        self.is_expensive
    }

    fn decode(&self, json: &[u8]) -> Result<T, DecodeError> {
        (self.strict)(json).or_else(|_| lenient::decode(json))
    }
}

/// Decodes one object: strictly, and where that fails leniently. By the deserializer that
/// eager informers use, so that a program with both compiles each type's once.
pub(crate) fn decode_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    exact::from_slice(json).or_else(|_| lenient::decode(json))
}

impl<K> FromWire for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + Object + DeserializeOwned,
{
    fn decoder() -> Arc<dyn Decode<Self>> {
        Arc::new(Typed::without_slack())
    }
}

#[cfg(test)]
mod tests;
