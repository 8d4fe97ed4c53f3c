//! Random bytes as a pod and as metadata: an error, never a panic.
#![no_main]

use informers_objects::{FromWire, MetaScan, Packed, PartialObjectMetadata};
use k8s_openapi::api::core::v1::Pod;

libfuzzer_sys::fuzz_target!(|json: &[u8]| {
    let _pod = Pod::decoder().decode(json);
    let _metadata = PartialObjectMetadata::<Pod>::decoder().decode(json);
    if let Ok(packed) = Packed::<Pod>::decoder().decode(json) {
        assert_eq!(packed.to_json().expect("it was packed just now"), json);
    }
    let _scan = MetaScan::of(json);
});
