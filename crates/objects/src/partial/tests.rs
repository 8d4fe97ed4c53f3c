//! Metadata alone.

use informers_cache_core::Object;
use k8s_openapi::api::core::v1::Node;

use super::PartialObjectMetadata;
use crate::{FromWire, Resource};

#[test]
fn partial_decodes_metadata_of_either_kind_of_answer() {
    let decoder = PartialObjectMetadata::<Node>::decoder();
    for json in [
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","labels":{"x":"y"}}}"#,
        r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"taints":7}}"#,
    ] {
        let node = decoder.decode(json.as_bytes()).unwrap();
        assert_eq!(
            (node.name(), node.namespace(), node.label("x")),
            ("a", None, Some("y"))
        );
    }
    assert_eq!(
        PartialObjectMetadata::<Node>::api_resource(),
        Node::api_resource()
    );
    assert!(decoder.accept().contains("as=PartialObjectMetadata;"));
    assert!(
        decoder
            .accept_list()
            .contains("as=PartialObjectMetadataList;")
    );
}

#[test]
fn partial_bad_metadata_is_an_error_with_its_path() {
    let decoder = PartialObjectMetadata::<()>::decoder();
    let error = decoder
        .decode(br#"{"metadata":{"name":"a","generation":"x"}}"#)
        .unwrap_err();
    assert_eq!(
        (error.name(), error.path()),
        (Some("a"), "metadata.generation")
    );
}
