//! Each patch kind on small documents.

use serde_json::json;

use super::*;

#[test]
fn strategic_patch_keyed_lists_merge_by_their_key() {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}],
                              "tolerations": [{"key": "x"}]},
                     "metadata": {"finalizers": ["f1"], "labels": {"l": "1", "m": "2"}}});
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"},
                                               {"name": "a", "$patch": "delete"}],
                                "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
                                "tolerations": [{"key": "y"}]},
                       "metadata": {"finalizers": ["f2"], "labels": {"l": null}}});
    let done = apply(PatchKind::Strategic, pod, &patch).unwrap();
    assert_eq!(
        done,
        json!({"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}],
                        "tolerations": [{"key": "y"}]},
               "metadata": {"finalizers": ["f1", "f2"], "labels": {"m": "2"}}})
    );
}

#[test]
fn strategic_patch_directives_replace_and_delete() {
    let document = json!({"a": {"x": 1, "y": 2}, "finalizers": ["p", "q"], "env": [{"name": "n", "value": "1"}]});
    let patch = json!({"a": {"$patch": "replace", "z": 3}, "$deleteFromPrimitiveList/finalizers": ["p"],
                       "env": [{"$patch": "replace"}, {"name": "m"}]});
    let done = apply(PatchKind::Strategic, document, &patch).unwrap();
    assert_eq!(
        done,
        json!({"a": {"z": 3}, "finalizers": ["q"], "env": [{"name": "m"}]})
    );
}

#[test]
fn strategic_patch_ports_use_the_key_of_their_type() {
    let service = json!({"ports": [{"port": 80, "name": "a"}]});
    let done = apply(
        PatchKind::Strategic,
        service,
        &json!({"ports": [{"port": 80, "name": "b"}, {"port": 81}]}),
    )
    .unwrap();
    assert_eq!(
        done,
        json!({"ports": [{"port": 80, "name": "b"}, {"port": 81}]})
    );
}

#[test]
fn merge_patch_replaces_lists_and_removes_nulls() {
    let done = apply(
        PatchKind::Merge,
        json!({"a": [1, 2], "b": {"c": 1}}),
        &json!({"a": [3], "b": {"c": null}}),
    )
    .unwrap();
    assert_eq!(done, json!({"a": [3], "b": {}}));
}

#[test]
fn json_patch_failed_test_changes_nothing_and_is_invalid() {
    let patch =
        json!([{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/a", "value": 2}]);
    let error = apply(PatchKind::Json, json!({"a": 1}), &patch).unwrap_err();
    assert_eq!(error.code(), 422);
    let patch = json!([{"op": "replace", "path": "/a", "value": 5}]);
    assert_eq!(
        apply(PatchKind::Json, json!({"a": 1}), &patch).unwrap(),
        json!({"a": 5})
    );
    assert_eq!(
        apply(PatchKind::Json, json!({}), &json!({"op": "add"}))
            .unwrap_err()
            .code(),
        400
    );
}
