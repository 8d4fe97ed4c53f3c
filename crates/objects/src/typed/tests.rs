//! Bodies seen in the field, decoded as `k8s-openapi` types.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::FromWire;
use informers_cache_core::Object;

fn decode<T: FromWire>(json: &str) -> T {
    T::decoder()
        .decode(json.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn typed_list_item_without_kind_decodes() {
    let pod: Pod = decode(
        r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"unknown":{}}"#,
    );
    assert_eq!(
        (pod.name(), pod.namespace(), pod.resource_version()),
        ("a", Some("n"), Some("7"))
    );
}

// B17
#[test]
fn typed_null_lists_and_maps_are_empty_at_any_depth() {
    let deployment: Deployment = decode(
        r#"{"metadata":{"name":"a","labels":null,"finalizers":null},"spec":{"selector":{"matchLabels":null},"template":{"metadata":{"creationTimestamp":null},"spec":{"containers":null,"volumes":null}}}}"#,
    );
    assert!(deployment.spec.template.spec.unwrap().containers.is_empty());
    let node: Node = decode(
        r#"{"metadata":{"name":"a"},"status":{"images":[{"names":null,"sizeBytes":1},{"names":[null,"x"]}],"conditions":null}}"#,
    );
    let images = node.status.unwrap().images.unwrap();
    assert_eq!(
        images[0].names.clone().unwrap_or_default(),
        Vec::<String>::new()
    );
    assert_eq!(images[1].names, Some(vec![String::new(), "x".to_owned()]));
    let map: ConfigMap = decode(r#"{"metadata":{"name":"a"},"data":{"a":null,"b":"x"}}"#);
    assert_eq!(map.data.unwrap()["a"], "");
    let secret: Secret = decode(r#"{"metadata":{"name":"a"},"data":{"a":null,"b":"eA=="}}"#);
    assert_eq!(secret.data.unwrap()["a"].0, b"");
}

// B18
#[test]
fn typed_quantity_and_int_or_string_accept_both_forms() {
    let pod: Pod = decode(
        r#"{"metadata":{"name":"a"},"spec":{"containers":[
            {"name":"a","resources":{"limits":{"nvidia.com/gpu":1,"cpu":"250m","memory":1.5,"x":null}},"livenessProbe":{"httpGet":{"port":80}}},
            {"name":"b","livenessProbe":{"httpGet":{"port":"http"}}}]}}"#,
    );
    let containers = pod.spec.unwrap().containers;
    let limits = containers[0]
        .resources
        .as_ref()
        .unwrap()
        .limits
        .as_ref()
        .unwrap();
    assert_eq!(limits["nvidia.com/gpu"].0, "1");
    assert_eq!(limits["memory"].0, "1.5");
    assert_eq!(limits["x"].0, "0");
    let port = |index: usize| {
        let probe = containers[index].liveness_probe.as_ref().unwrap();
        probe.http_get.as_ref().unwrap().port.clone()
    };
    assert_eq!(port(0), IntOrString::Int(80));
    assert_eq!(port(1), IntOrString::String("http".to_owned()));
}

// B19
#[test]
fn typed_timestamps_with_any_digits_and_offsets_decode() {
    for (text, nanos) in [
        ("2023-07-26T09:00:00Z", 0),
        ("2023-07-26T09:00:00.1Z", 100_000_000),
        ("2023-07-26T09:00:00.123456Z", 123_456_000),
        ("2023-07-26T09:00:00.123456789Z", 123_456_789),
        ("2023-07-26T11:00:00+02:00", 0),
        ("2023-07-26T03:30:00.5-05:30", 500_000_000),
    ] {
        let lease: Lease = decode(&format!(
            r#"{{"metadata":{{"name":"a","creationTimestamp":"{text}"}},"spec":{{"renewTime":"{text}"}}}}"#
        ));
        let created = lease.metadata.creation_timestamp.unwrap().0;
        let renewed = lease.spec.unwrap().renew_time.unwrap();
        assert_eq!(
            (created.as_second(), created.subsec_nanosecond()),
            (1_690_362_000, nanos),
            "{text}"
        );
        assert_eq!(renewed.0, created, "{text}");
        // Written with exactly six digits.
        let written = serde_json::to_string(&renewed).unwrap();
        assert_eq!(
            written.len(),
            "\"2023-07-26T09:00:00.123456Z\"".len(),
            "{written}"
        );
    }
}

// B14
#[test]
fn typed_bad_object_is_named_with_its_path() {
    let error = Pod::decoder()
        .decode(br#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"spec":{"containers":[{"name":"c","image":5}]}}"#)
        .unwrap_err();
    assert_eq!(error.path(), "spec.containers[0].image");
    let undecodable = error.into_undecodable().unwrap();
    assert_eq!(undecodable.name.as_str(), "n/a");
    assert_eq!(undecodable.uid.as_deref(), Some("u"));
    assert_eq!(undecodable.resource_version.unwrap().as_str(), "7");
}

// B53
#[test]
fn typed_invalid_utf8_is_that_objects_error() {
    let json = b"{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"\xff\"}}}";
    let error = Pod::decoder().decode(json).unwrap_err();
    assert_eq!(error.name(), Some("a"));
    let json = b"{\"metadata\":{\"name\":\"\xff\"}}";
    let error = Pod::decoder().decode(json).unwrap_err();
    assert!(error.into_undecodable().is_err());
}
