//! Objects in and out of their packed form.

use std::sync::Arc;

use informers_cache_core::Object;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Codec, Packed, PackedDecoder, PackedOptions};
use crate::{Decode, DynamicObject, FromWire, Resource};

fn codecs() -> Vec<Codec> {
    vec![
        #[cfg(feature = "zstd")]
        Codec::Zstd,
        #[cfg(feature = "lz4")]
        Codec::Lz4,
        Codec::Stored,
    ]
}

fn with_codec<K>(codec: Codec) -> PackedDecoder<K> {
    PackedDecoder::new(PackedOptions {
        codec,
        ..PackedOptions::default()
    })
}

/// The `index`th pod: what pods share, and a little that is its own.
fn pod(index: u32) -> Vec<u8> {
    let own = u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let containers: Vec<Value> = (0..3)
        .map(|container| json!({
            "name": format!("container-{container}"), "image": format!("registry.example/app:{}", index % 7),
            "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
            "env": [{"name": "REGION", "value": "eu-west-1"}, {"name": "TOKEN", "value": format!("{own:x}")}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
        }))
        .collect();
    serde_json::to_vec(&json!({
        "metadata": {
            "name": format!("app-{index}"), "namespace": "shop", "uid": format!("{own:032x}"),
            "resourceVersion": index.to_string(), "labels": {"app": "app", "index": index.to_string()},
            "annotations": {"note": "x".repeat(40)},
        },
        "spec": {"containers": containers, "nodeName": format!("node-{}", index % 10)},
        "status": {"phase": "Running"},
    }))
    .unwrap()
}

#[test]
fn packed_object_comes_out_as_it_went_in_whatever_the_codec() {
    for codec in codecs() {
        let decoder = with_codec::<Pod>(codec);
        // Through two trainings, all kept alive.
        let objects: Vec<(Vec<u8>, Packed<Pod>)> = (0..4000)
            .map(|index| {
                let json = pod(index);
                let packed = decoder.decode(&json).unwrap();
                (json, packed)
            })
            .collect();
        for (index, (json, packed)) in (0_u32..).zip(&objects) {
            assert!(packed.to_json().unwrap() == *json, "{codec:?} {index}");
            assert_eq!(packed.name(), format!("app-{index}"));
            assert_eq!(packed.namespace(), Some("shop"));
            assert_eq!(
                packed.resource_version().map(str::to_owned),
                Some(index.to_string())
            );
            assert_eq!(
                packed.label("index").map(str::to_owned),
                Some(index.to_string())
            );
            assert_eq!(packed.label("none"), None);
        }
        let decoded = objects[3999].1.decode().unwrap();
        assert_eq!(decoded, serde_json::from_slice(&objects[3999].0).unwrap());
        assert_eq!(decoder.stats().objects, 4000);
    }
}

#[cfg(feature = "zstd")]
#[test]
fn packed_objects_teach_a_dictionary_that_makes_them_small() {
    let decoder = with_codec::<Pod>(Codec::Zstd);
    let sizes: Vec<usize> = (0..400)
        .map(|index| decoder.decode(&pod(index)).unwrap().size())
        .collect();
    // The test keeps none of them, so none would profit.
    assert_eq!(decoder.stats().dictionaries, 0);
    let held: Vec<Packed<Pod>> = (0..400)
        .map(|index| decoder.decode(&pod(index)).unwrap())
        .collect();
    assert_eq!(decoder.stats().dictionaries, 1);
    let last = held.last().unwrap().size();
    assert!(last * 2 < sizes[0], "{last} {}", sizes[0]);
    assert_eq!(held[0].approximate_size(), held[0].size());
}

#[cfg(feature = "zstd")]
#[test]
fn packed_old_dictionary_goes_with_its_last_object() {
    let decoder = with_codec::<Pod>(Codec::Zstd);
    let mut held: Vec<Packed<Pod>> = (0..300)
        .map(|index| decoder.decode(&pod(index)).unwrap())
        .collect();
    let old = Arc::downgrade(&held[0].shared);
    let present = Arc::downgrade(&held[299].shared);
    assert!(!Arc::ptr_eq(&held[0].shared, &held[299].shared));
    held.drain(..150);
    assert!(old.upgrade().is_none());
    assert!(present.upgrade().is_some());
}

// B14
#[test]
fn packed_bad_object_is_held_and_names_its_fault_when_decoded() {
    let json = br#"{"metadata":{"name":"a","namespace":"n"},"spec":{"containers":[{"name":7}]}}"#;
    let packed = Packed::<Pod>::decoder().decode(json).unwrap();
    let error = packed.decode().unwrap_err();
    assert_eq!(
        (error.name(), error.path()),
        (Some("a"), "spec.containers[0].name")
    );
    assert!(packed.decode_shared().is_err());
}

#[test]
fn packed_object_without_a_name_is_refused() {
    let decoder = Packed::<Pod>::decoder();
    for json in [
        "{}",
        "[]",
        "",
        r#"{"metadata":{}}"#,
        r#"{"metadata":{"name":""}}"#,
        r#"{"metadata":{"name":"a""#,
    ] {
        assert!(decoder.decode(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn packed_object_decodes_to_a_smaller_type() {
    #[derive(Deserialize)]
    struct Small {
        spec: Spec,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: Box<str>,
    }
    let packed = Packed::<Pod>::decoder().decode(&pod(13)).unwrap();
    assert_eq!(
        &*packed.decode_as::<Small>().unwrap().spec.node_name,
        "node-3"
    );
    let length = packed.with_json(|json| {
        packed
            .clone()
            .with_json(|again| again.len() + json.len())
            .unwrap()
    });
    assert_eq!(length.unwrap(), 2 * pod(13).len());
}

#[test]
fn packed_shared_decoding_is_done_once_within_its_bound() {
    let options = PackedOptions {
        decoded_cache: 2,
        ..PackedOptions::default()
    };
    let decoder = PackedDecoder::<Pod>::new(options);
    let pods: Vec<Packed<Pod>> = (0..3)
        .map(|index| decoder.decode(&pod(index)).unwrap())
        .collect();
    let first = pods[0].decode_shared().unwrap();
    assert!(Arc::ptr_eq(
        &first,
        &pods[0].clone().decode_shared().unwrap()
    ));
    // The third has the place of the first.
    pods[2].decode_shared().unwrap();
    let again = pods[0].decode_shared().unwrap();
    assert!(!Arc::ptr_eq(&first, &again));
    assert_eq!(first, again);
    let decoder = PackedDecoder::<Pod>::new(PackedOptions {
        decoded_cache: 0,
        ..options
    });
    let packed = decoder.decode(&pod(1)).unwrap();
    assert_eq!(Arc::strong_count(&packed.decode_shared().unwrap()), 1);
}

#[test]
fn packed_knows_its_resource_and_packs_objects_known_at_run_time() {
    assert_eq!(Packed::<Pod>::api_resource(), Pod::api_resource());
    let json = br#"{"kind":"Widget","metadata":{"name":"a"},"spec":[1,2]}"#;
    let widget = Packed::<DynamicObject>::decoder().decode(json).unwrap();
    assert_eq!(widget.decode().unwrap().kind(), "Widget");
    assert!(format!("{widget:?}").contains("\"a\""));
}

#[test]
fn packed_objects_are_packed_by_many_threads_at_once() {
    let decoder = PackedDecoder::<ConfigMap>::new(PackedOptions::default());
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let decoder = &decoder;
            scope.spawn(move || {
                let held: Vec<_> = (0..200)
                    .map(|index| decoder.decode(&pod(thread * 1000 + index)).unwrap())
                    .collect();
                for (index, packed) in (0..).zip(&held) {
                    assert!(packed.to_json().unwrap() == pod(thread * 1000 + index));
                }
            });
        }
    });
    assert_eq!(decoder.stats().objects, 800);
}

proptest! {
    #[test]
    fn packed_any_bytes_behind_the_metadata_survive(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        codec in 0_usize..3,
    ) {
        let mut json = br#"{"metadata":{"name":"a"},"x":""#.to_vec();
        json.extend_from_slice(&bytes);
        let codecs = codecs();
        let decoder = with_codec::<Pod>(codecs[codec % codecs.len()]);
        let packed = decoder.decode(&json).unwrap();
        prop_assert_eq!(packed.to_json().unwrap(), json);
    }
}
