//! Objects that look like those of a real cluster.

use serde_json::{Value, json};

use crate::resource::ResourceType;

const APPS: [&str; 8] = [
    "web", "api", "worker", "cache", "db", "queue", "auth", "billing",
];

/// The pod of this number, on one of so many nodes.
pub(crate) fn pod(i: usize, nodes: usize) -> Value {
    let app = APPS[i % APPS.len()];
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("pod-{i}"),
            "namespace": "default",
            "labels": {"app": app, "tier": if i.is_multiple_of(2) { "front" } else { "back" }, "pod-template-hash": "6d4b75cb6d"},
            "annotations": {"example.com/revision": format!("{}", i % 7)},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-6d4b75cb6d"),
                "uid": format!("00000000-0000-4000-8000-{:012}", i % APPS.len()),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [{
                "name": app,
                "image": format!("registry.example.com/{app}:v1"),
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                "imagePullPolicy": "IfNotPresent",
            }],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        },
        "status": {
            "phase": "Running",
            "podIP": format!("10.{}.{}.{}", 244 + i / 65536, (i / 256) % 256, i % 256),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "containerStatuses": [{
                "name": app, "image": format!("registry.example.com/{app}:v1"), "imageID": "", "ready": true,
                "restartCount": 0, "started": true, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }],
        },
    });
    if nodes > 0 {
        pod["spec"]["nodeName"] = json!(format!("node-{}", i % nodes));
    }
    pod
}

/// The node of this number.
pub(crate) fn node(i: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("node-{i}"),
            "labels": {
                "kubernetes.io/hostname": format!("node-{i}"),
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": format!("zone-{}", i % 3),
            },
        },
        "spec": {"podCIDR": format!("10.244.{}.0/24", i % 256)},
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "allocatable": {"cpu": "8", "memory": "31Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "addresses": [{"type": "InternalIP", "address": format!("192.168.{}.{}", (i / 250) % 250, i % 250 + 1)}],
        },
    })
}

/// The object of this number of another resource.
pub(crate) fn other(ty: &ResourceType, i: usize) -> Value {
    let mut object = json!({
        "apiVersion": ty.api_version(),
        "kind": ty.kind,
        "metadata": {"name": format!("{}-{i}", ty.singular), "labels": {"app": APPS[i % APPS.len()]}},
    });
    if ty.namespaced {
        object["metadata"]["namespace"] = json!("default");
    }
    match ty.plural.as_str() {
        "configmaps" => object["data"] = json!({"key": format!("value-{i}")}),
        "secrets" => {
            object["type"] = json!("Opaque");
            object["data"] = json!({"key": "dmFsdWU="});
        }
        _ => {}
    }
    object
}
