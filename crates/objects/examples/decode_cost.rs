//! What an object costs in each representation: time to make it of its bytes, and memory
//! while it is held. Prints one line for each.
//!
//! `cargo run --release -p informers-objects --all-features --example decode_cost [LIST.json]`
//!
//! Without a file it makes 4,000 pods of its own, of about 7 kB each; a file holds a pod list
//! as the API server sends it. Each representation is measured in a process of its own:
//! memory is what its resident set grows by (on Linux).

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use informers_objects::json::Cursor;
use informers_objects::{
    Codec, Decode, DynamicObject, FromWire, Identity, MetaScan, Packed, PackedDecoder,
    PackedOptions, PartialObjectMetadata, StripManagedFields, wire_type,
};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::{Value, json};

/// A projection to the identity and three more fields.
#[derive(Deserialize)]
struct SmallPod {
    metadata: Identity,
    #[expect(dead_code, reason = "held, as a user would")]
    spec: SmallSpec,
    #[expect(dead_code, reason = "held, as a user would")]
    status: SmallStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "held, as a user would")]
struct SmallSpec {
    node_name: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "held, as a user would")]
struct SmallStatus {
    phase: Option<Box<str>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
}

wire_type!(SmallPod => namespaced "" / "v1" / "pods", "Pod");

type Measure = fn(&[Vec<u8>]);

const MEASURES: [(&str, Measure); 14] = [
    ("scan of the metadata", |pods| {
        report(
            pods,
            |pod| MetaScan::of(pod).name().map(|name| name.len()),
            no_read,
            |_| 0,
        );
    }),
    ("identity", |pods| {
        report(pods, Identity::of_json, no_read, Identity::heap_size);
    }),
    ("k8s-openapi", |pods| {
        decoded(pods, &*Pod::decoder(), no_read);
    }),
    ("k8s-openapi, stripped", |pods| {
        decoded(pods, &StripManagedFields::new(Pod::decoder()), no_read);
    }),
    ("k8s-openapi, second try", |pods| {
        let pods: Vec<Vec<u8>> = pods.iter().map(|pod| null_in_a_list(pod)).collect();
        decoded(&pods, &*Pod::decoder(), no_read);
    }),
    ("own struct", |pods| {
        decoded(pods, &*SmallPod::decoder(), no_read);
    }),
    ("partial metadata", |pods| {
        decoded(pods, &*PartialObjectMetadata::<Pod>::decoder(), no_read);
    }),
    ("partial metadata, stripped", |pods| {
        let decoder = StripManagedFields::new(PartialObjectMetadata::<Pod>::decoder());
        decoded(pods, &decoder, no_read);
    }),
    ("dynamic", |pods| {
        decoded(pods, &*DynamicObject::decoder(), no_read);
    }),
    ("packed", |pods| {
        packed(pods, Codec::default(), Packed::decode);
    }),
    ("packed, to an own struct", |pods| {
        packed(pods, Codec::default(), Packed::decode_as::<SmallPod>);
    }),
    ("packed, stripped", |pods| {
        let decoder = StripManagedFields::new(Packed::<Pod>::decoder());
        decoded(pods, &decoder, |pod| drop(black_box(pod.decode())));
    }),
    ("packed by lz4", |pods| {
        #[cfg(feature = "lz4")]
        packed(pods, Codec::Lz4, Packed::decode);
        #[cfg(not(feature = "lz4"))]
        let _ = pods;
    }),
    ("packed, stored", |pods| {
        packed(pods, Codec::Stored, Packed::decode);
    }),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("--only") {
        let name = arguments.next().expect("a name follows --only");
        let pods = pods(arguments.next().as_deref());
        let measure = MEASURES.iter().find(|(own, _)| *own == name);
        measure.expect("a known name").1(&pods);
        return;
    }
    let sizes: usize = pods(first.as_deref()).iter().map(Vec::len).sum();
    println!(
        "{} pods of {} bytes",
        pods(first.as_deref()).len(),
        sizes / pods(first.as_deref()).len()
    );
    println!(
        "{:<28}{:>12}{:>12}{:>12}{:>12}",
        "", "make, µs", "read, µs", "resident, B", "by size(), B"
    );
    let program = std::env::current_exe().expect("the program knows its own path");
    for (name, _) in MEASURES {
        let mut command = Command::new(&program);
        let output = command.args(["--only", name]).args(&first).output();
        let output = output.expect("the program starts itself");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let figures = String::from_utf8_lossy(&output.stdout);
        println!("{name:<28}{}", figures.trim_end());
    }
}

fn packed<R>(pods: &[Vec<u8>], codec: Codec, read: fn(&Packed<Pod>) -> R) {
    let options = PackedOptions {
        codec,
        decoded_cache: 0,
    };
    let decoder = PackedDecoder::<Pod>::new(options);
    report(
        pods,
        |pod| {
            decoder
                .decode(pod)
                .unwrap_or_else(|error| panic!("{error}"))
        },
        |pod| drop(black_box(read(pod))),
        Packed::size,
    );
}

fn decoded<T: 'static>(pods: &[Vec<u8>], decoder: &dyn Decode<T>, read: impl Fn(&T)) {
    report(
        pods,
        |pod| {
            decoder
                .decode(pod)
                .unwrap_or_else(|error| panic!("{error}"))
        },
        read,
        |_| 0,
    );
}

fn no_read<T>(_: &T) {}

/// Makes and drops all, then makes and holds all, then reads them.
///
/// `size` is what an object says it holds; 0 if it does not know.
fn report<T>(
    pods: &[Vec<u8>],
    make: impl Fn(&[u8]) -> T,
    read: impl Fn(&T),
    size: impl Fn(&T) -> usize,
) {
    let count = u32::try_from(pods.len()).expect("there are fewer pods");
    let before = resident();
    let held: Vec<T> = pods.iter().map(|pod| make(pod)).collect();
    let grown = resident().saturating_sub(before);
    let sizes: usize = held.iter().map(size).sum();
    let making = fastest(|| {
        for pod in pods {
            drop(black_box(make(pod)));
        }
    });
    let reading = fastest(|| held.iter().for_each(&read));
    let micros = |time: Duration| (time / count).as_secs_f64() * 1e6;
    println!(
        "{:>12.2}{:>12.2}{:>12}{:>12}",
        micros(making),
        micros(reading),
        grown / pods.len(),
        sizes / pods.len()
    );
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn fastest(mut work: impl FnMut()) -> Duration {
    let runs = (0..5).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    runs.min().expect("there are five runs")
}

/// Bytes of the resident set; 0 where that cannot be read.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    4096 * pages.unwrap_or(0_usize)
}

/// So that strict decoding refuses it.
fn null_in_a_list(pod: &[u8]) -> Vec<u8> {
    let mut pod: Value = serde_json::from_slice(pod).expect("it is JSON");
    pod["metadata"]["finalizers"] = json!([null]);
    pod.to_string().into_bytes()
}

fn pods(list: Option<&str>) -> Vec<Vec<u8>> {
    let Some(path) = list else {
        return (0..4000)
            .map(|index| pod(index).to_string().into_bytes())
            .collect();
    };
    let list = std::fs::read(path).expect("the list can be read");
    let mut pods = Vec::new();
    let mut cursor = Cursor::new(&list);
    let mut first = true;
    cursor.open_object().expect("the list is an object");
    while let Some(key) = cursor.key(&mut first).expect("the list is JSON") {
        if !key.is("items") {
            cursor.value().expect("the list is JSON");
            continue;
        }
        cursor.expect(b'[').expect("the items are an array");
        while cursor.peek() != Some(b']') {
            pods.push(cursor.value().expect("an item is JSON").to_vec());
            // Between items; not behind the last.
            let _ = cursor.expect(b',');
        }
        return pods;
    }
    pods
}

/// A running pod of a deployment: much of it shared with its siblings, some with all pods,
/// some its own.
#[expect(clippy::too_many_lines, reason = "it is one value")]
fn pod(index: u64) -> Value {
    let app = index / 25;
    let name = format!("service-{app:04}");
    let hash = hex(app, 10);
    let image = format!("registry.example/shop/{name}:v1.{}", app % 90);
    let started = format!(
        "2026-07-{:02}T{:02}:{:02}:{:02}Z",
        1 + index % 28,
        index % 24,
        index % 60,
        index * 7 % 60
    );
    let probe = |path: &str| {
        json!({
            "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": 5,
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        })
    };
    let containers = 1 + app % 3;
    let container = |container: u64| {
        let env: Vec<Value> = (0..6 + app % 6)
            .map(|setting| json!({"name": format!("SETTING_{setting}"), "value": hex(app * 100 + setting, 24)}))
            .collect();
        json!({
            "name": format!("container-{container}"), "image": image, "imagePullPolicy": "IfNotPresent",
            "ports": [{"name": "http", "containerPort": 8080 + container, "protocol": "TCP"}], "env": env,
            "resources": {
                "limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "512Mi"},
            },
            "volumeMounts": [
                {"name": "config", "readOnly": true, "mountPath": "/etc/app"},
                {"name": "token", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
            ],
            "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "securityContext": {"runAsNonRoot": true, "readOnlyRootFilesystem": true},
        })
    };
    let status = |container: u64| {
        json!({
            "name": format!("container-{container}"), "state": {"running": {"startedAt": started}}, "lastState": {},
            "ready": true, "restartCount": index % 3, "image": image, "imageID": format!("sha256:{}", hex(app, 64)),
            "containerID": format!("containerd://{}", hex(index * 10 + container, 64)), "started": true,
        })
    };
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": started,
        })
    };
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let owned = |manager: &str, fields: Value| {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": "v1", "time": started,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    };
    let all = [
        "f:image",
        "f:name",
        "f:ports",
        "f:resources",
        "f:env",
        "f:livenessProbe",
    ]
    .map(|field| (field.to_owned(), json!({})));
    json!({
        "metadata": {
            "name": format!("{name}-{hash}-{index:05x}"), "generateName": format!("{name}-{hash}-"),
            "namespace": format!("team-{:03}", index % 200), "uid": hex(index + 1_000_000, 36),
            "resourceVersion": (100_000_000 + index).to_string(), "creationTimestamp": started,
            "labels": {"app": name, "app.kubernetes.io/part-of": "shop", "pod-template-hash": hash, "tier": "backend"},
            "annotations": {"checksum/config": hex(app, 64), "prometheus.io/scrape": "true"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{name}-{hash}"),
                "uid": hex(app + 2_000_000, 36), "controller": true, "blockOwnerDeletion": true,
            }],
            "managedFields": [
                owned("kube-controller-manager", json!({"f:spec": {"f:containers": {
                    "k:{\"name\":\"container-0\"}": Value::Object(all.clone().into_iter().collect()),
                }, "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}}})),
                owned("kubelet", json!({"f:status": {"f:conditions": {
                    "k:{\"type\":\"Ready\"}": {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}},
                }, "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}}})),
            ],
        },
        "spec": {
            "volumes": [
                {"name": "config", "configMap": {"name": format!("{name}-config"), "defaultMode": 420}},
                {"name": "token", "projected": {"sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                ], "defaultMode": 420}},
            ],
            "containers": (0..containers).map(container).collect::<Vec<_>>(),
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "serviceAccountName": name, "nodeName": format!("node-{:04}", index * 31 % 1000),
            "schedulerName": "default-scheduler",
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        },
        "status": {
            "phase": "Running", "hostIP": format!("172.16.{}.{}", index % 4, index % 250),
            "podIP": format!("10.{}.{}.{}", index % 64, index % 256, index % 250), "startTime": started,
            "conditions": Vec::from(conditions.map(condition)),
            "containerStatuses": (0..containers).map(status).collect::<Vec<_>>(), "qosClass": "Burstable",
        },
    })
}

/// Digits that do not repeat from one `seed` to the next.
fn hex(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let digits = std::iter::from_fn(|| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        char::from_digit(u32::try_from(state >> 60).ok()?, 16)
    });
    digits.take(length).collect()
}
