//! [`PartialObjectMetadata`]: the metadata of an object, and only that on the wire.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use informers_cache_core::Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::{ApiResource, Decode, DecodeError, FromWire, ObjectMetadata, Resource, Typed};

/// The metadata of a `K`. The server is asked to send no more; one that cannot, and sends
/// whole objects, is understood as well.
///
/// `K` may be left away for resources known at run time.
///
/// # Memory
/// About 13 kB for a pod with managed fields, 3 kB without (see
/// [`StripManagedFields`](crate::StripManagedFields)).
///
/// # Upstream
/// `metav1.PartialObjectMetadata`, what `metadatainformer` holds.
#[doc(alias = "metadatainformer")]
#[derive(Serialize)]
#[serde(bound = "")]
pub struct PartialObjectMetadata<K = ()> {
    /// The metadata.
    pub metadata: ObjectMeta,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

impl<K> PartialObjectMetadata<K> {
    /// Of an object with this metadata.
    pub fn new(metadata: ObjectMeta) -> Self {
        Self {
            metadata,
            kind: PhantomData,
        }
    }
}

impl<K> Clone for PartialObjectMetadata<K> {
    fn clone(&self) -> Self {
        Self::new(self.metadata.clone())
    }
}

impl<K> fmt::Debug for PartialObjectMetadata<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialObjectMetadata")
            .field("metadata", &self.metadata)
            .finish()
    }
}

impl<K> PartialEq for PartialObjectMetadata<K> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata
    }
}

impl<K: 'static> Object for PartialObjectMetadata<K> {
    fn name(&self) -> &str {
        self.metadata.name()
    }

    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace()
    }

    fn uid(&self) -> Option<&str> {
        self.metadata.uid()
    }

    fn resource_version(&self) -> Option<&str> {
        self.metadata.resource_version()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.metadata.label(key)
    }
}

impl<K: Resource> Resource for PartialObjectMetadata<K> {
    fn api_resource() -> ApiResource {
        K::api_resource()
    }
}

impl<K: 'static> FromWire for PartialObjectMetadata<K> {
    fn decoder() -> Arc<dyn Decode<Self>> {
        Arc::new(MetadataDecoder)
    }
}

/// Asks for metadata, and decodes it.
#[derive(Debug)]
struct MetadataDecoder;

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    metadata: Option<ObjectMeta>,
}

impl<K: 'static> Decode<PartialObjectMetadata<K>> for MetadataDecoder {
    fn is_expensive(&self) -> bool {
        false
    }

    fn decode(&self, json: &[u8]) -> Result<PartialObjectMetadata<K>, DecodeError> {
        let wire = Typed::<Wire>::without_slack().decode(json)?;
        Ok(PartialObjectMetadata::new(
            wire.metadata.unwrap_or_default(),
        ))
    }

    fn accept(&self) -> &'static str {
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    }

    // A server refuses to make one object's metadata of a list.
    fn accept_list(&self) -> &'static str {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    }
}

#[cfg(test)]
mod tests;
