//! The scan against serde's reading of the same bytes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::MetaScan;

#[test]
fn meta_scan_reads_identity_and_labels_in_any_order() {
    let json = br#" { "spec" : {"metadata":{"name":"no"}}, "metadata" : {
        "managedFields":[{"manager":"x","fieldsV1":{"f:a":{"k:{\"name\":\"}\"}":{}}}}],
        "labels":{"app":"a\u0062c","empty":"","null":null}, "uid":"u-1",
        "annotations":{"a":"{\"name\":\"no\"}"}, "ownerReferences":[{"name":"no","uid":"no"}],
        "creationTimestamp":null, "namespace":"n", "resourceVersion":"9", "name":"b\"c" } , "status":{} }"#;
    let scan = MetaScan::of(json);
    assert!(scan.is_complete());
    assert_eq!(scan.name().as_deref(), Some("b\"c"));
    assert_eq!(scan.namespace().as_deref(), Some("n"));
    assert_eq!(scan.uid().as_deref(), Some("u-1"));
    assert_eq!(scan.resource_version().as_deref(), Some("9"));
    let labels: Vec<_> = scan
        .labels()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(labels, ["app=abc", "empty=", "null="]);
    assert!(!scan.ends_initial_events());
}

// B82
#[test]
fn meta_scan_of_bookmark_with_null_containers_reads_its_version() {
    let json = br#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"777","creationTimestamp":null},"spec":{"template":{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}},"status":{}}"#;
    let scan = MetaScan::of(json);
    assert_eq!(scan.resource_version().as_deref(), Some("777"));
    assert!(!scan.ends_initial_events());
    let json = br#"{"metadata":{"resourceVersion":"778","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    assert!(MetaScan::of(json).ends_initial_events());
    let json = br#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"false"}}}"#;
    assert!(!MetaScan::of(json).ends_initial_events());
}

#[test]
fn meta_scan_unreadable_parts_are_absent() {
    for json in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"metadata":null}"#,
        r#"{"metadata":{"name":5}}"#,
        r#"{"metadata":{"name":null,"uid":""}}"#,
        r#"{"metadata":{"name":"a\q"}}"#,
    ] {
        let scan = MetaScan::of(json.as_bytes());
        assert_eq!((scan.name(), scan.uid()), (None, None), "{json}");
    }
    let scan = MetaScan::of(br#"{"metadata":{"name":"a","namespace":"#);
    assert_eq!(scan.name().as_deref(), Some("a"));
    assert!(!scan.is_complete());
    let scan = MetaScan::of(b"{\"metadata\":{\"name\":\"a\xff\",\"uid\":\"u\"}}");
    assert_eq!((scan.name(), scan.uid().as_deref()), (None, Some("u")));
}

#[test]
fn meta_scan_managed_fields_are_cut_out_wherever_they_stand() {
    for (json, expected) in [
        (
            r#"{"metadata":{"managedFields":[1,{"a":"]"}],"name":"a"}}"#,
            r#"{"metadata":{"name":"a"}}"#,
        ),
        (
            r#"{"metadata":{"managedFields":[] , "name":"a"}}"#,
            r#"{"metadata":{ "name":"a"}}"#,
        ),
        (
            r#"{"metadata":{"name":"a", "managedFields":[{}]}}"#,
            r#"{"metadata":{"name":"a"}}"#,
        ),
        (
            r#"{"metadata":{"name":"a","managedFields":null,"uid":"u"}}"#,
            r#"{"metadata":{"name":"a","uid":"u"}}"#,
        ),
        (r#"{"metadata":{"managedFields":[]}}"#, r#"{"metadata":{}}"#),
    ] {
        let range = MetaScan::of(json.as_bytes()).managed_fields().unwrap();
        let cut = [&json[..range.start], &json[range.end..]].concat();
        assert_eq!(cut, expected);
    }
}

proptest! {
    #[test]
    fn meta_scan_agrees_with_serde(
        name in ".{0,20}", label in ".{0,20}", value in ".{0,20}", pretty: bool, managed: bool,
    ) {
        let mut object = json!({
            "a": {"metadata": 1},
            "metadata": {"labels": {&label: &value}, "name": &name, "x": [null, {"y": &value}], "uid": "u"},
        });
        if managed {
            object["metadata"]["managedFields"] = json!([{"fieldsV1": {&label: {}}}]);
        }
        let bytes = if pretty { serde_json::to_vec_pretty(&object) } else { serde_json::to_vec(&object) }.unwrap();
        let scan = MetaScan::of(&bytes);
        prop_assert!(scan.is_complete());
        prop_assert_eq!(scan.name().unwrap_or_default().into_owned(), name);
        let labels: Vec<(String, String)> =
            scan.labels().map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
        prop_assert_eq!(labels, vec![(label, value)]);
        prop_assert_eq!(scan.managed_fields().is_some(), managed);
        if let Some(range) = scan.managed_fields() {
            let cut = [&bytes[..range.start], &bytes[range.end..]].concat();
            object["metadata"].as_object_mut().unwrap().remove("managedFields");
            prop_assert_eq!(serde_json::from_slice::<Value>(&cut).unwrap(), object);
        }
    }

    #[test]
    fn meta_scan_random_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        bytes.splice(0..0, *br#"{"metadata":{"labels":{"#);
        let scan = MetaScan::of(&bytes);
        let _ = (scan.name(), scan.labels().count(), scan.ends_initial_events());
    }
}
