//! A struct of one's own.

use informers_cache_core::Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{FromWire, Identity, Packed, Resource};

#[derive(Debug, Deserialize)]
struct Priced {
    metadata: Identity,
    #[serde(default)]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    price: u8,
    #[serde(default)]
    tags: Box<[Box<str>]>,
}

wire_type!(Priced => namespaced "example.com" / "v1" / "prices", "Price");

#[derive(Debug, Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

wire_type!(Named => cluster "" / "v1" / "nodes", "Node");

// B14
#[test]
fn wire_type_good_object_decodes_and_bad_one_is_named() {
    let decoder = Priced::decoder();
    let json = br#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"7","labels":{"x":"y"}},"spec":{"price":10,"tags":null}}"#;
    let good = decoder.decode(json).unwrap();
    assert_eq!(
        (good.name(), good.namespace(), good.label("x")),
        ("a", Some("n"), Some("y"))
    );
    assert_eq!((good.spec.price, good.spec.tags.len()), (10, 0));
    let error = decoder
        .decode(br#"{"metadata":{"name":"b","namespace":"n","resourceVersion":"8"},"spec":{"price":-5}}"#)
        .unwrap_err();
    assert_eq!(
        (error.name(), error.path(), error.resource_version()),
        (Some("b"), "spec.price", Some("8"))
    );
    assert_eq!(
        Priced::api_resource().path(Some("n")),
        "/apis/example.com/v1/namespaces/n/prices"
    );
}

#[test]
fn wire_type_may_hold_the_whole_metadata_and_be_packed() {
    let json = br#"{"metadata":{"name":"a","generation":5}}"#;
    let named = Named::decoder().decode(json).unwrap();
    assert_eq!((named.name(), named.metadata.generation), ("a", Some(5)));
    assert!(!Named::api_resource().namespaced);
    let packed = Packed::<Named>::decoder().decode(json).unwrap();
    assert_eq!(packed.decode().unwrap().metadata.generation, Some(5));
}
