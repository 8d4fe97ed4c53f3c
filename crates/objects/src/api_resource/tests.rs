//! Names and paths.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::rbac::v1::ClusterRole;

use super::{ApiResource, Resource};

#[test]
fn api_resource_of_openapi_types_knows_its_path() {
    let pods = Pod::api_resource();
    assert_eq!(pods.path(None), "/api/v1/pods");
    assert_eq!(pods.path(Some("a")), "/api/v1/namespaces/a/pods");
    assert_eq!(pods.api_version(), "v1");
    assert_eq!(pods.kind, "Pod");
    assert_eq!(Node::api_resource().path(Some("a")), "/api/v1/nodes");
    let roles = ClusterRole::api_resource();
    assert_eq!(
        roles.path(None),
        "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    );
    assert_eq!(roles.to_string(), "clusterroles.rbac.authorization.k8s.io");
}

#[test]
fn api_resource_text_is_parsed_or_refused() {
    assert_eq!("pods".parse(), Ok(ApiResource::from_gvr("", "v1", "pods")));
    assert_eq!(
        "v1/pods".parse(),
        Ok(ApiResource::from_gvr("", "v1", "pods"))
    );
    assert_eq!(
        "a.b/v2/cs".parse(),
        Ok(ApiResource::from_gvr("a.b", "v2", "cs"))
    );
    for text in ["", "/", "a//b", "/v1/pods", "a/b/c/d", "v1/"] {
        assert!(text.parse::<ApiResource>().is_err(), "{text}");
    }
}
