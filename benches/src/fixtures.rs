//! Pods as a server sends them: about 7 kB of JSON each, of the shape of a Deployment's
//! running pods. What pods of one app share is shared here, what is random is random.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// The JSON of the pods 0 to `count`, as items of a list.
pub fn pods(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(pod).collect()
}

/// The JSON of one pod.
///
/// # Panics
/// Never: a JSON value has a text.
pub fn pod(index: usize) -> Vec<u8> {
    let mut own = Random(index as u64 + 1);
    let app = format!("service-{:04}", index / 25);
    let mut shared = Random((index as u64 / 25) << 20 | 7);
    let hash = shared.hex(10);
    let name = format!("{app}-{hash}-{index:05x}");
    let owner = format!("{app}-{hash}");
    let containers: Vec<Value> = ["app", "proxy"]
        .iter()
        .map(|name| container(name, &app, &mut shared))
        .collect();
    let statuses: Vec<Value> = ["app", "proxy"]
        .iter()
        .map(|name| {
            json!({
                "name": name, "ready": true, "started": true, "restartCount": own.below(3),
                "image": format!("registry.example/shop/{name}:v1.4.2"),
                "imageID": format!("registry.example/shop/{name}@sha256:{}", shared.hex(64)),
                "containerID": format!("containerd://{}", own.hex(64)),
                "state": {"running": {"startedAt": own.time()}},
            })
        })
        .collect();
    let conditions: Vec<Value> = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .iter()
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": own.time()}))
        .collect();
    let node = own.below(1000);
    let ip = format!(
        "10.{}.{}.{}",
        64 + node / 256,
        node % 256,
        2 + own.below(250)
    );
    let pod = json!({
        "metadata": {
            "name": name, "generateName": format!("{owner}-"),
            "namespace": format!("team-{:03}", index % 200),
            "uid": format!("{}-{}-4{}-a{}-{}", own.hex(8), own.hex(4), own.hex(3), own.hex(3), own.hex(12)),
            "resourceVersion": (100_000_001 + index).to_string(),
            "creationTimestamp": own.time(),
            "labels": {"app": app, "app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop",
                       "pod-template-hash": hash, "tier": "backend"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080",
                            "checksum/config": shared.hex(64)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                                 "uid": shared.hex(36), "controller": true, "blockOwnerDeletion": true}],
            "managedFields": managed_fields(&mut own),
        },
        "spec": {
            "containers": containers, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler", "serviceAccountName": app,
            "nodeName": format!("node-{node:04}"), "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}],
            "volumes": [{"name": "config", "configMap": {"name": format!("{app}-config")}}],
        },
        "status": {
            "phase": "Running", "hostIP": format!("172.16.{}.{}", node / 250, 2 + node % 250),
            "podIP": ip, "podIPs": [{"ip": ip}], "startTime": own.time(), "qosClass": "Burstable",
            "conditions": conditions, "containerStatuses": statuses,
        },
    });
    pod.to_string().into_bytes()
}

/// One list of `items`, compact, as an API server writes it.
pub fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut list =
        br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["#
            .to_vec();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            list.push(b',');
        }
        list.extend_from_slice(item);
    }
    list.extend_from_slice(b"]}\n");
    list
}

fn container(name: &str, app: &str, shared: &mut Random) -> Value {
    let mut env = vec![
        json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}),
        json!({"name": "LOG_LEVEL", "value": "info"}),
        json!({"name": "REGION", "value": "eu-west-1"}),
    ];
    for setting in 0..7 {
        env.push(json!({"name": format!("SETTING_{setting}"), "value": shared.hex(24)}));
    }
    let probe = |path: &str| {
        json!({"httpGet": {"path": path, "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": 5,
               "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3})
    };
    json!({
        "name": name, "image": format!("registry.example/shop/{app}-{name}:v1.4.2"),
        "imagePullPolicy": "IfNotPresent", "env": env,
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "readinessProbe": probe("/readyz"), "livenessProbe": probe("/healthz"),
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": true}],
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "securityContext": {"runAsNonRoot": true, "readOnlyRootFilesystem": true},
    })
}

fn managed_fields(own: &mut Random) -> Value {
    let condition = json!({".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}});
    json!([
        {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
         "time": own.time(), "fieldsType": "FieldsV1", "fieldsV1": {
            "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:env": {}, "f:image": {},
                "f:livenessProbe": {}, "f:name": {}, "f:ports": {}, "f:readinessProbe": {}, "f:resources": {}}},
                "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}}}},
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "subresource": "status",
         "time": own.time(), "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": {
            "k:{\"type\":\"ContainersReady\"}": condition, "k:{\"type\":\"Ready\"}": condition},
            "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}}},
    ])
}

/// Splitmix64: the same numbers for the same seed, on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            let _ = write!(text, "{:016x}", self.next());
        }
        text.truncate(digits);
        text
    }

    fn time(&mut self) -> String {
        format!(
            "2026-11-{:02}T{:02}:{:02}:{:02}Z",
            1 + self.below(28),
            self.below(24),
            self.below(60),
            self.below(60)
        )
    }
}
