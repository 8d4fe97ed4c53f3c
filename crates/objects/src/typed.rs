//! [`Typed`]: the decoder of types that serde can deserialize.

use std::marker::PhantomData;
use std::sync::Arc;

use informers_cache_core::Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;

use crate::{Decode, DecodeError, FromWire, lenient};

/// Decodes by serde: strictly first, and what that refuses once more with `null` taken
/// for empty, as Go does (a null list, map, text or number at any depth).
///
/// The second try also finds out where an error is, so a good object pays for neither.
#[derive(Debug)]
pub struct Typed<T>(PhantomData<fn() -> T>);

impl<T> Typed<T> {
    /// A decoder. It has no state.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Typed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DeserializeOwned + 'static> Decode<T> for Typed<T> {
    fn decode(&self, json: &[u8]) -> Result<T, DecodeError> {
        decode_json(json)
    }
}

/// Decodes one object: strictly, and where that fails leniently.
pub(crate) fn decode_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(json).or_else(|_| lenient::decode(json))
}

impl<K> FromWire for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + Object + DeserializeOwned,
{
    fn decoder() -> Arc<dyn Decode<Self>> {
        Arc::new(Typed::new())
    }
}

#[cfg(test)]
mod tests;
