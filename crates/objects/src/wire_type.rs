//! [`wire_type!`]: structs of your own as an informer's objects.

/// Makes a serde struct of yours an informer's object type: only its fields are decoded
/// and held.
///
/// The struct derives `serde::Deserialize` and has a field `metadata` that implements
/// [`ObjectMetadata`](crate::ObjectMetadata): an [`Identity`](crate::Identity) for the
/// bare minimum, an `ObjectMeta` for all of it, or a type of your own. The macro implements
/// [`Object`](informers_cache_core::Object), [`Resource`](crate::Resource) and
/// [`FromWire`](crate::FromWire).
///
/// # Memory
/// The struct and what its fields hold: a pod's identity and three more fields about 500
/// bytes, where the whole takes 36,000 and more. Prefer `Box<str>` to `String` and `Box<[T]>` to `Vec<T>`:
/// they hold no spare capacity.
///
/// # Examples
/// ```
/// use informers_objects::{FromWire, Identity, Resource, wire_type};
///
/// #[derive(serde::Deserialize)]
/// struct NodeOfPod {
///     metadata: Identity,
///     spec: Spec,
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<Box<str>>,
/// }
///
/// wire_type!(NodeOfPod => namespaced "" / "v1" / "pods", "Pod");
///
/// let json = br#"{"metadata":{"name":"a"},"spec":{"nodeName":"n1","containers":[]}}"#;
/// let pod = NodeOfPod::decoder().decode(json)?;
/// assert_eq!(pod.spec.node_name.as_deref(), Some("n1"));
/// assert_eq!(NodeOfPod::api_resource().path(None), "/api/v1/pods");
/// # Ok::<(), informers_objects::DecodeError>(())
/// ```
/// A cluster-scoped one: `wire_type!(MyNode => cluster "" / "v1" / "nodes", "Node")`.
#[macro_export]
macro_rules! wire_type {
    ($type:ty => namespaced $group:literal / $version:literal / $plural:literal, $kind:literal) => {
        $crate::wire_type!(@impl $type, true, $group, $version, $plural, $kind);
    };
    ($type:ty => cluster $group:literal / $version:literal / $plural:literal, $kind:literal) => {
        $crate::wire_type!(@impl $type, false, $group, $version, $plural, $kind);
    };
    (@impl $type:ty, $namespaced:literal, $group:literal, $version:literal, $plural:literal, $kind:literal) => {
        impl $crate::Object for $type {
            fn name(&self) -> &str {
                $crate::ObjectMetadata::name(&self.metadata)
            }

            fn namespace(&self) -> ::core::option::Option<&str> {
                $crate::ObjectMetadata::namespace(&self.metadata)
            }

            fn uid(&self) -> ::core::option::Option<&str> {
                $crate::ObjectMetadata::uid(&self.metadata)
            }

            fn resource_version(&self) -> ::core::option::Option<&str> {
                $crate::ObjectMetadata::resource_version(&self.metadata)
            }

            fn label(&self, key: &str) -> ::core::option::Option<&str> {
                $crate::ObjectMetadata::label(&self.metadata, key)
            }
        }

        impl $crate::Resource for $type {
            fn api_resource() -> $crate::ApiResource {
                $crate::ApiResource {
                    group: ::std::borrow::Cow::Borrowed($group),
                    version: ::std::borrow::Cow::Borrowed($version),
                    plural: ::std::borrow::Cow::Borrowed($plural),
                    kind: ::std::borrow::Cow::Borrowed($kind),
                    namespaced: $namespaced,
                }
            }
        }

        impl $crate::FromWire for $type {
            fn decoder() -> ::std::sync::Arc<dyn $crate::Decode<Self>> {
                ::std::sync::Arc::new($crate::Typed::new())
            }
        }
    };
}

#[cfg(test)]
mod tests;
