//! How Kubernetes API bytes become objects: typed, packed, metadata-only, dynamic and
//! user-defined.
//!
//! A type that can be an informer's object knows where the server has it ([`Resource`])
//! and how to make it of JSON ([`FromWire`], [`Decode`]). Which one to choose decides what
//! an object weighs:
//!
//! | type | held per object |
//! |---|---|
//! | a `k8s-openapi` type | the decoded struct |
//! | [`Packed<K>`] | identity and labels, and the JSON compressed; decoded on demand |
//! | a struct of your own, by [`wire_type!`] | just its fields |
//! | [`PartialObjectMetadata<K>`] | the metadata, which is all the server is asked for |
//! | [`DynamicObject`] | a JSON value |
//!
//! It knows neither HTTP nor queues.

pub mod json;

mod meta_scan;

mod api_resource;
mod decode;
mod identity;

mod exact;
mod lenient;
mod typed;

mod dynamic;
mod packed;
mod partial;
mod strip;
mod wire_type;

#[doc(hidden)]
pub use api_resource::Scope;
pub use api_resource::{ApiResource, ParseApiResourceError, Resource};
pub use decode::{Decode, DecodeError, FromWire};
pub use dynamic::{DynamicDecoder, DynamicObject};
pub use identity::{Identity, ObjectMetadata};
#[doc(no_inline)]
pub use informers_cache_core::Object;
pub use meta_scan::MetaScan;
pub use packed::{Codec, Packed, PackedDecoder, PackedOptions, PackedStats};
pub use partial::PartialObjectMetadata;
pub use strip::StripManagedFields;
pub use typed::Typed;
