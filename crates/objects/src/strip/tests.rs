//! Objects without their managed fields.

use k8s_openapi::api::core::v1::Pod;

use super::StripManagedFields;
use crate::{Decode, FromWire, Packed, PartialObjectMetadata};

const JSON: &[u8] = br#"{"metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"spec":{"containers":[]}}"#;

#[test]
fn strip_leaves_only_managed_fields_out() {
    let pod = StripManagedFields::new(Pod::decoder())
        .decode(JSON)
        .unwrap();
    let mut whole = Pod::decoder().decode(JSON).unwrap();
    assert_eq!(
        whole
            .metadata
            .managed_fields
            .take()
            .map(|fields| fields.len()),
        Some(1)
    );
    assert_eq!(pod, whole);
    let packed = StripManagedFields::new(Packed::<Pod>::decoder())
        .decode(JSON)
        .unwrap();
    assert_eq!(packed.decode().unwrap(), whole);
}

#[test]
fn strip_object_without_them_and_media_types_pass_through() {
    let decoder = StripManagedFields::new(PartialObjectMetadata::<Pod>::decoder());
    assert!(decoder.accept_list().contains("PartialObjectMetadataList"));
    assert!(decoder.accept().contains("PartialObjectMetadata;"));
    let decoded = decoder.decode(br#"{"metadata":{"name":"a"}}"#).unwrap();
    assert_eq!(decoded.metadata.name.as_deref(), Some("a"));
    let error = decoder
        .decode(br#"{"metadata":{"name":"a","managedFields":[],"uid":1}}"#)
        .unwrap_err();
    assert_eq!(error.path(), "metadata.uid");
}
