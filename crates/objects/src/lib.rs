//! How Kubernetes API bytes become objects: typed, packed, metadata-only, dynamic and user-defined.

pub mod json;
