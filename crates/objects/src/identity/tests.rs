//! The encoding and its two sources.

use proptest::prelude::*;
use serde_json::json;

use super::{Identity, ObjectMetadata, View, encode};

proptest! {
    #[test]
    fn identity_from_scan_and_from_serde_agree_with_the_object(
        name in ".{0,200}", namespace in ".{0,20}", uid in ".{0,40}",
        labels in proptest::collection::btree_map(".{0,20}", ".{0,150}", 0..6),
    ) {
        let metadata = json!({"name": &name, "namespace": &namespace, "uid": &uid, "labels": &labels, "x": [1]});
        let object = serde_json::to_vec(&json!({"metadata": &metadata})).unwrap();
        let scanned = Identity::of_json(&object);
        let parsed: Identity = serde_json::from_value(metadata).unwrap();
        prop_assert_eq!(&scanned, &parsed);
        prop_assert_eq!(scanned.name(), &name);
        prop_assert_eq!(scanned.namespace().unwrap_or_default(), &namespace);
        prop_assert_eq!(scanned.uid().unwrap_or_default(), &uid);
        prop_assert_eq!(scanned.resource_version(), None);
        prop_assert_eq!(scanned.labels().count(), labels.len());
        for (key, value) in &labels {
            prop_assert_eq!(scanned.label(key), Some(value.as_str()));
        }
        prop_assert_eq!(scanned.label("no such key, it is longer than any"), None);
    }
}

#[test]
fn identity_view_ends_where_other_bytes_follow() {
    let mut bytes = Vec::new();
    let labels = [("k", "v")];
    encode(&mut bytes, ["a", "", "u", ""], &labels.into_iter());
    bytes.extend_from_slice(b"more");
    let view = View::of(&bytes);
    assert_eq!(
        (view.name(), view.namespace(), view.uid()),
        ("a", None, Some("u"))
    );
    assert_eq!(view.behind(), b"more");
}

#[test]
fn identity_null_fields_are_absent() {
    let identity: Identity =
        serde_json::from_str(r#"{"name":null,"namespace":null,"labels":{"a":null}}"#).unwrap();
    assert_eq!(
        (identity.name(), identity.namespace(), identity.label("a")),
        ("", None, Some(""))
    );
    let identity: Identity = serde_json::from_str(r#"{"labels":null}"#).unwrap();
    assert_eq!(identity, Identity::default());
}
