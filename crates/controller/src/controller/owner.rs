//! From an owned object to the key of its controller.

use informers::{ApiResource, ObjectName};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// The key of the object of `resource` that controls an object in `namespace`.
///
/// Group and kind must fit; the version need not: an owner that was written by an older
/// controller is the same one.
pub(crate) fn controller_of(
    references: &[OwnerReference],
    namespace: Option<&str>,
    resource: &ApiResource,
) -> Option<ObjectName> {
    let owner = references
        .iter()
        .find(|reference| reference.controller == Some(true))?;
    let group = owner
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let fits = group == resource.group && owner.kind == resource.kind;
    fits.then(|| ObjectName::new(namespace.filter(|_| resource.namespaced), &owner.name))
}

#[cfg(test)]
mod tests {
    use informers::{ApiResource, Resource as _};
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::Node;

    use super::{OwnerReference, controller_of};

    fn reference(api_version: &str, kind: &str, controller: bool) -> OwnerReference {
        OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: "a".to_owned(),
            controller: Some(controller),
            ..OwnerReference::default()
        }
    }

    fn key(references: &[OwnerReference], resource: &ApiResource) -> Option<String> {
        controller_of(references, Some("shop"), resource).map(|key| key.to_string())
    }

    #[test]
    fn owner_of_the_group_and_kind_is_the_key_whatever_its_version() {
        let resource = Deployment::api_resource();
        let found = key(&[reference("apps/v1beta2", "Deployment", true)], &resource);
        assert_eq!(found.as_deref(), Some("shop/a"));
        for other in [
            reference("apps/v1", "Deployment", false),
            reference("apps/v1", "ReplicaSet", true),
            reference("extensions/v1", "Deployment", true),
            reference("v1", "Deployment", true),
        ] {
            assert_eq!(key(&[other], &resource), None);
        }
        assert_eq!(key(&[], &resource), None);
    }

    #[test]
    fn cluster_scoped_owner_has_no_namespace() {
        let owner = reference("v1", "Node", true);
        assert_eq!(key(&[owner], &Node::api_resource()).as_deref(), Some("a"));
    }
}
