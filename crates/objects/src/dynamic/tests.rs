//! Objects as values.

use informers_cache_core::Object;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::{DynamicDecoder, DynamicObject};
use crate::{ApiResource, Decode, FromWire};

#[test]
fn dynamic_object_answers_its_metadata_and_pointers() {
    let json = br#"{"metadata":{"name":"a","namespace":"","uid":"u","resourceVersion":"7","labels":{"x":"y","z":null}},"spec":{"a/b":[{"c":5}]}}"#;
    let object = DynamicObject::decoder().decode(json).unwrap();
    assert_eq!(
        (object.name(), object.namespace(), object.uid()),
        ("a", None, Some("u"))
    );
    assert_eq!(
        (object.label("x"), object.label("z"), object.label("w")),
        (Some("y"), Some(""), None)
    );
    assert_eq!(object.pointer("/spec/a~1b/0/c"), Some(&Value::from(5)));
    assert_eq!(object.pointer("/metadata/name"), Some(&Value::from("a")));
    assert_eq!(object.pointer("spec"), None);
    assert!(object.approximate_size() > json.len());
}

#[test]
fn dynamic_decoder_adds_what_list_items_lack() {
    let mut resource = ApiResource::from_gvr("example.com", "v1", "widgets");
    let decode = |resource: &ApiResource, json: &str| {
        DynamicDecoder::new(resource.clone())
            .decode(json.as_bytes())
            .unwrap()
    };
    let object = decode(&resource, r#"{"metadata":{"name":"a"}}"#);
    assert_eq!(
        (object.api_version(), object.kind()),
        ("example.com/v1", "")
    );
    resource.kind = "Widget".into();
    let object = decode(&resource, r#"{"metadata":{"name":"a"},"kind":"Other"}"#);
    assert_eq!(
        (object.api_version(), object.kind()),
        ("example.com/v1", "Other")
    );
}

#[test]
fn dynamic_object_decodes_as_a_type_or_names_the_place() {
    let decoder = DynamicObject::decoder();
    let object = decoder
        .decode(br#"{"metadata":{"name":"a"},"spec":{"containers":null}}"#)
        .unwrap();
    assert_eq!(object.decode_as::<Pod>().unwrap().name(), "a");
    let object = decoder
        .decode(br#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":1}]}}"#)
        .unwrap();
    let error = object.decode_as::<Pod>().unwrap_err();
    assert_eq!(
        (error.name(), error.path()),
        (Some("a"), "spec.containers[0].name")
    );
    assert!(decoder.decode(b"[]").is_err());
}
