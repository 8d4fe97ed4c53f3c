//! Discovery, version, health, and an OpenAPI document that lets kubectl validate on the server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resource::{Origin, Registry, Resource};
use crate::service::has_scale;

/// The answer to a discovery path, `None` when there is nothing there.
pub(crate) fn answer(registry: &Registry, path: &str) -> Option<Value> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["version"] => Some(version()),
        ["api"] => Some(json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        })),
        ["api", version] => resource_list(registry, "", version),
        ["apis"] => {
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(registry)}))
        }
        ["apis", group] => {
            let mut group = groups(registry).into_iter().find(|g| g["name"] == *group)?;
            group["kind"] = json!("APIGroup");
            group["apiVersion"] = json!("v1");
            Some(group)
        }
        ["apis", group, version] => resource_list(registry, group, version),
        ["openapi", "v3"] => Some(open_api_index(registry)),
        ["openapi", "v3", "api", version] => open_api(registry, "", version),
        ["openapi", "v3", "apis", group, version] => open_api(registry, group, version),
        [""] => Some(json!({"paths": paths(registry)})),
        _ => None,
    }
}

/// Whether the path is one of the health checks, which all answer `ok`.
pub(crate) fn is_health(path: &str) -> bool {
    matches!(
        path.trim_end_matches('/'),
        "/healthz" | "/readyz" | "/livez"
    )
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "37",
        "gitVersion": concat!("v1.37.0-fake.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": "any/any",
    })
}

/// Versions of each named group, in the order they were registered.
fn group_versions(registry: &Registry) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for resource in registry.all().iter().filter(|r| !r.ty.group.is_empty()) {
        let (group, version) = (resource.ty.group.as_str(), resource.ty.version.as_str());
        match groups.iter_mut().find(|(g, _)| *g == group) {
            Some((_, versions)) if versions.contains(&version) => {}
            Some((_, versions)) => versions.push(version),
            None => groups.push((group, vec![version])),
        }
    }
    groups
}

fn groups(registry: &Registry) -> Vec<Value> {
    group_versions(registry)
        .into_iter()
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
                .collect();
            json!({"name": group, "versions": versions, "preferredVersion": versions[0]})
        })
        .collect()
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in group_versions(registry) {
        paths.push(format!("/apis/{group}"));
        paths.extend(
            versions
                .iter()
                .map(|version| format!("/apis/{group}/{version}")),
        );
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    paths
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    let served = registry
        .all()
        .iter()
        .filter(|r| r.ty.group == group && r.ty.version == version);
    for resource in served {
        let ty = &resource.ty;
        let mut entry = json!({
            "name": ty.plural,
            "singularName": ty.singular,
            "namespaced": ty.namespaced,
            "kind": ty.kind,
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        });
        if !ty.short_names.is_empty() {
            entry["shortNames"] = json!(ty.short_names);
        }
        if is_in_all(resource) {
            entry["categories"] = json!(["all"]);
        }
        resources.push(entry);
        if resource.status_subresource || resource.origin == Origin::Builder {
            resources.push(json!({
                "name": format!("{}/status", ty.plural),
                "singularName": "",
                "namespaced": ty.namespaced,
                "kind": ty.kind,
                "verbs": ["get", "patch", "update"],
            }));
        }
        if has_scale(resource) {
            resources.push(json!({
                "name": format!("{}/scale", ty.plural),
                "singularName": "",
                "namespaced": true,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": ["get", "patch", "update"],
            }));
        }
    }
    if resources.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

/// What `kubectl get all` means.
fn is_in_all(resource: &Resource) -> bool {
    matches!(
        (resource.ty.group.as_str(), resource.ty.plural.as_str()),
        ("", "pods" | "services" | "replicationcontrollers")
            | (
                "apps",
                "deployments" | "statefulsets" | "daemonsets" | "replicasets"
            )
            | ("batch", "jobs" | "cronjobs")
            | ("autoscaling", "horizontalpodautoscalers")
    )
}

fn open_api_index(registry: &Registry) -> Value {
    let mut paths = BTreeMap::new();
    paths.insert(
        "api/v1".to_owned(),
        json!({"serverRelativeURL": "/openapi/v3/api/v1"}),
    );
    for (group, versions) in group_versions(registry) {
        for version in versions {
            let path = format!("apis/{group}/{version}");
            let url = format!("/openapi/v3/{path}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// For each kind a schema that accepts everything, and the operations with the parameter
/// `fieldValidation`, by which kubectl sees that it need not validate itself.
fn open_api(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut paths = BTreeMap::new();
    let mut schemas = BTreeMap::new();
    for resource in registry
        .all()
        .iter()
        .filter(|r| r.ty.group == group && r.ty.version == version)
    {
        let ty = &resource.ty;
        let kind = json!({"group": group, "version": version, "kind": ty.kind});
        let schema = format!(
            "{}.{version}.{}",
            if group.is_empty() { "core" } else { group },
            ty.kind
        );
        let reference = json!({"$ref": format!("#/components/schemas/{schema}")});
        let content = json!({"application/json": {"schema": reference}});
        let operation = |action: &str| {
            json!({
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": kind,
                "parameters": [
                    {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}},
                    {"name": "dryRun", "in": "query", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "OK", "content": content}},
            })
        };
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let scope = if ty.namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let collection = format!("{root}{scope}/{}", ty.plural);
        paths.insert(
            format!("{collection}/{{name}}"),
            json!({"patch": operation("patch"), "put": operation("put")}),
        );
        paths.insert(collection, json!({"post": operation("post")}));
        schemas.insert(
            schema,
            json!({
                "type": "object",
                "x-kubernetes-group-version-kind": [kind],
                "x-kubernetes-preserve-unknown-fields": true,
            }),
        );
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "fake-apiserver", "version": "v1.37.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}
