//! Bodies built by hand, and bytes that are none.

use super::*;

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(u8::try_from(n & 0x7f).unwrap() | 0x80);
        n >>= 7;
    }
    out.push(u8::try_from(n).unwrap());
    out
}

fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [
        varint(field << 3 | 2),
        varint(value.len() as u64),
        value.to_vec(),
    ]
    .concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [bytes(1, api_version), bytes(2, kind)].concat();
    [b"k8s\0".to_vec(), bytes(1, type_meta), bytes(2, raw)].concat()
}

#[test]
fn pod_body_becomes_the_json_it_stands_for() {
    let label = [bytes(1, "app"), bytes(2, "web")].concat();
    let metadata = [
        bytes(1, "p"),
        bytes(5, ""),
        bytes(8, ""),
        bytes(9, number(1, 1)),
        bytes(11, label),
    ]
    .concat();
    let request = [bytes(1, "cpu"), bytes(2, bytes(1, "100m"))].concat();
    let port = [number(3, 8080), bytes(4, "TCP")].concat();
    let container = [
        bytes(1, "c"),
        bytes(3, "a"),
        bytes(3, "b"),
        bytes(6, port),
        bytes(8, bytes(2, request)),
    ]
    .concat();
    let volume = [bytes(1, "v"), bytes(2, bytes(1, bytes(1, "/tmp")))].concat();
    let spec = [
        bytes(1, volume),
        bytes(2, container),
        number(4, 30),
        number(11, 1),
    ]
    .concat();
    let raw = [bytes(1, metadata), bytes(2, spec)].concat();
    assert_eq!(
        decode(&envelope("v1", "Pod", &raw)).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "deletionTimestamp": "1970-01-01T00:00:01Z", "labels": {"app": "web"}},
            "spec": {
                "volumes": [{"name": "v", "hostPath": {"path": "/tmp"}}],
                "containers": [{
                    "name": "c", "command": ["a", "b"], "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m"}},
                }],
                "terminationGracePeriodSeconds": 30, "hostNetwork": true,
            },
        })
    );
}

#[test]
fn special_types_become_what_json_has_for_them() {
    let port = [
        number(3, 80),
        bytes(4, [number(1, 1), bytes(3, "http")].concat()),
    ]
    .concat();
    let service = decode(&envelope("v1", "Service", &bytes(2, bytes(1, port)))).unwrap();
    assert_eq!(
        service["spec"]["ports"][0],
        json!({"port": 80, "targetPort": "http"})
    );
    let secret = decode(&envelope(
        "v1",
        "Secret",
        &bytes(2, [bytes(1, "k"), bytes(2, b"\xff\x00")].concat()),
    ))
    .unwrap();
    assert_eq!(secret["data"]["k"], "/wA=");
    let renewed = [number(1, 1), number(2, 500_000_000)].concat();
    let lease = decode(&envelope(
        "coordination.k8s.io/v1",
        "Lease",
        &bytes(2, bytes(4, renewed)),
    ))
    .unwrap();
    assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:01.500000Z");
    let options = [number(1, 0), bytes(2, bytes(1, "uid")), bytes(5, "All")].concat();
    let options = decode(&envelope("v1", "DeleteOptions", &options)).unwrap();
    assert_eq!(
        (&options["preconditions"]["uid"], &options["dryRun"]),
        (&json!("uid"), &json!(["All"]))
    );
}

#[test]
fn bytes_that_are_no_body_are_refused() {
    for bad in [&b""[..], b"{}", b"k8s\0\xff", b"k8s\0\x0a\x7f"] {
        assert_eq!(decode(bad).unwrap_err().code(), 400, "{bad:?}");
    }
    assert_eq!(
        decode(&envelope("example.com/v1", "Widget", b""))
            .unwrap_err()
            .code(),
        415
    );
    let truncated = envelope("v1", "Pod", &[0x0a, 0x05, 0x0a]);
    assert_eq!(decode(&truncated).unwrap_err().code(), 400);
}

#[test]
fn schema_names_only_messages_it_has() {
    let special = [
        "meta.Time",
        "meta.MicroTime",
        "resource.Quantity",
        "intstr.IntOrString",
        "runtime.RawExtension",
        "meta.FieldsV1",
    ];
    assert!(SCHEMA.len() > 300);
    for field in SCHEMA.values().flat_map(HashMap::values) {
        if let Some(message) = field.message() {
            assert!(
                SCHEMA.contains_key(message.as_str()) || special.contains(&message.as_str()),
                "{message}"
            );
        }
    }
}
