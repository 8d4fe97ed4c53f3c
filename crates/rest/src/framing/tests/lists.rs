//! Lists.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::bodies::{lengths, object, split_list, split_list_within, value, write};
use crate::framing::{FramingError, Limits};

const ONE: &[usize] = &[1];
const WHOLE: &[usize] = &[];

#[test]
fn list_items_and_metadata_are_found_in_any_order() {
    for body in [
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3},"items":[{"a":1},{"b":"]}"}]}"#,
        r#" { "items" : [ {"a":1} , {"b":"]}"} ] , "metadata" : {"remainingItemCount":3,"continue":"c","resourceVersion":"7","selfLink":""},"apiVersion":"v1","kind":"PodList" }
"#,
        "{\r\n\t\"extra\": [1, {\"x\": [\"}\"]}], \"it\\u0065ms\":[{\"a\":1},{\"b\":\"]}\"}],\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\",\"remainingItemCount\":3},\"more\":null}",
    ] {
        for lengths in [WHOLE, ONE, &[7]] {
            let (items, end) = split_list(body.as_bytes(), lengths).unwrap();
            assert_eq!(items, [br#"{"a":1}"#.to_vec(), br#"{"b":"]}"}"#.to_vec()]);
            assert_eq!(end.kind, "PodList");
            assert_eq!(end.api_version, "v1");
            assert_eq!(end.resource_version.as_deref(), Some("7"));
            assert_eq!(end.continue_token.as_deref(), Some("c"));
            assert_eq!(end.remaining_item_count, Some(3));
        }
    }
}

// B16
#[test]
fn list_without_items_or_metadata_is_empty() {
    for body in [
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":null}"#,
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items": [ ] }"#,
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}"#,
        r#"{"metadata":{"resourceVersion":"7"},"items":null}"#,
    ] {
        for lengths in [WHOLE, ONE] {
            let (items, end) = split_list(body.as_bytes(), lengths).unwrap();
            assert!(items.is_empty(), "{body}");
            assert_eq!(end.resource_version.as_deref(), Some("7"), "{body}");
        }
    }
    for body in [
        r#"{"kind":"PodList","items":[{}]}"#,
        r#"{"kind":"PodList","metadata":null,"items":[{}]}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":""},"items":[{}]}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":null,"continue":"","remainingItemCount":null},"items":[{}]}"#,
    ] {
        let (items, end) = split_list(body.as_bytes(), ONE).unwrap();
        assert_eq!(items.len(), 1);
        assert_eq!(
            (end.resource_version, end.continue_token),
            (None, None),
            "{body}"
        );
    }
}

#[test]
fn list_that_is_a_status_or_table_is_refused_with_its_body() {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 410, "reason": "Expired"});
    for (body, expected) in [
        (status.clone(), "Status"),
        (
            json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": [{"cells": []}]}),
            "Table",
        ),
        (json!({"kind": "Pod", "metadata": {"name": "a"}}), "Pod"),
    ] {
        match split_list(&write(&body, true), ONE) {
            Err(FramingError::NotAList { kind, body: kept }) => {
                assert_eq!(kind, expected);
                assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), body);
            }
            other => panic!("{other:?}"),
        }
    }
}

// B33
#[test]
fn list_cut_anywhere_is_truncated() {
    let body =
        br#"{"kind":"PodList","items":[{"a":"x"},2,"t",null],"metadata":{"resourceVersion":"7"}}"#;
    for cut in 0..body.len() {
        for lengths in [WHOLE, ONE] {
            let result = split_list(&body[..cut], lengths);
            assert!(
                matches!(result, Err(FramingError::Truncated)),
                "{cut}: {result:?}"
            );
        }
    }
    assert_eq!(split_list(body, ONE).unwrap().0.len(), 4);
}

#[test]
fn list_malformed_is_refused_at_the_same_byte_whatever_the_pieces() {
    for (body, at) in [
        ("<html>", 0),
        ("[]", 0),
        ("{]", 1),
        (r#"{"items":{}}"#, 9),
        (r#"{"items":[{}{}]}"#, 12),
        (r#"{"items":[{},]}"#, 13),
        (r#"{"items":[,{}]}"#, 10),
        (r#"{"items":[]]"#, 11),
        (r#"{"items":[]} x"#, 13),
        (r#"{"items":[],"items":[]}"#, 19),
        (r#"{"a" 1}"#, 5),
        (r#"{"a":}"#, 5),
        (r#"{"a":1,}"#, 7),
        (r#"{"a":1 "b":2}"#, 7),
    ] {
        for lengths in [WHOLE, ONE, &[3]] {
            match split_list(body.as_bytes(), lengths) {
                Err(FramingError::Malformed { offset, .. }) => assert_eq!(offset, at, "{body}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }
}

#[test]
fn list_with_broken_metadata_is_an_envelope_error() {
    for body in [
        r#"{"items":[],"metadata":{"resourceVersion":7}}"#,
        r#"{"items":[],"metadata":{"resourceVersion":tru}}"#,
        r#"{"items":nil}"#,
    ] {
        assert!(
            matches!(
                split_list(body.as_bytes(), ONE),
                Err(FramingError::Envelope(_))
            ),
            "{body}"
        );
    }
}

// B54
#[test]
fn list_item_beyond_the_limit_is_an_explicit_error() {
    let body = format!(r#"{{"items":[{{"a":"{}"}}]}}"#, "x".repeat(100));
    let limits = Limits { max_item: 108 };
    for lengths in [WHOLE, ONE] {
        assert!(split_list_within(body.as_bytes(), lengths, limits).is_ok());
        let limits = Limits { max_item: 107 };
        assert!(matches!(
            split_list_within(body.as_bytes(), lengths, limits),
            Err(FramingError::TooLarge { limit: 107 })
        ));
    }
}

proptest! {
    #[test]
    fn list_random_body_in_any_pieces_agrees_with_a_whole_parse(
        items in proptest::collection::vec(prop_oneof![4 => object(), 1 => value()], 0..6),
        metadata in value(),
        extra in value(),
        pretty: bool,
        order: bool,
        lengths in lengths(),
    ) {
        let metadata = json!({"resourceVersion": "9", "unknown": metadata});
        let head = [("extra", extra), ("kind", json!("XList")), ("metadata", metadata)];
        let items = [("items", Value::from(items))];
        let fields: Vec<_> = if order { items.into_iter().chain(head).collect() } else { head.into_iter().chain(items).collect() };
        // By hand: a `Value` would sort the keys.
        let mut body = b"{".to_vec();
        for (index, (key, value)) in fields.iter().enumerate() {
            body.extend_from_slice(if index > 0 { b",\"" } else { b" \"" });
            body.extend_from_slice(key.as_bytes());
            body.extend_from_slice(if pretty { b"\" : " } else { b"\":" });
            body.extend_from_slice(&write(value, pretty));
        }
        body.extend_from_slice(b"}\n");
        let whole: Value = serde_json::from_slice(&body).unwrap();
        let (split, end) = split_list(&body, &lengths).unwrap();
        let split: Vec<Value> = split.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!(&Value::from(split), &whole["items"]);
        prop_assert_eq!(end.resource_version.as_deref(), Some("9"));
    }

    #[test]
    fn list_random_bytes_end_the_same_whatever_the_pieces(
        bytes in proptest::collection::vec(
            prop_oneof![
                Just(b"{".to_vec()), Just(b"}".to_vec()), Just(b"[".to_vec()), Just(b"]".to_vec()),
                Just(b",".to_vec()), Just(b":".to_vec()), Just(b"\"items\":".to_vec()), Just(b"\"".to_vec()),
                Just(b"\\".to_vec()), Just(b"1".to_vec()), Just(b" ".to_vec()), any::<u8>().prop_map(|byte| vec![byte]),
            ],
            0..60,
        ),
        lengths in lengths(),
    ) {
        let mut body = b"{\"items\":[".to_vec();
        body.extend(bytes.concat());
        let whole = split_list(&body, WHOLE);
        let parts = split_list(&body, &lengths);
        prop_assert_eq!(format!("{whole:?}"), format!("{parts:?}"));
        if let Ok(list) = serde_json::from_slice::<Value>(&body) {
            let (items, _) = whole.unwrap();
            prop_assert_eq!(items.len(), list["items"].as_array().map_or(0, Vec::len));
        }
    }
}
