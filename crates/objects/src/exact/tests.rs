//! The same values as plain `serde_json`, in vectors that fit.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::from_slice;

#[derive(Debug, Deserialize, PartialEq)]
struct Own {
    first: Vec<Inner>,
    map: BTreeMap<String, Vec<Vec<Inner>>>,
    kind: Kind,
    kinds: Vec<Kind>,
    pair: (Vec<Inner>, u8),
    any: Value,
    either: Either,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    name: Option<String>,
    texts: Option<Vec<String>>,
    more: Option<Vec<Inner>>,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Kind {
    Unit,
    New(Vec<Inner>),
    Tuple(Vec<Inner>, u8),
    Struct { inner: Vec<Inner> },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Either {
    Text(String),
    List(Vec<Inner>),
}

fn inner(count: usize) -> Value {
    Value::from(vec![
        json!({"name": "a", "texts": ["x", "y"], "more": [{}, {}, {}]});
        count
    ])
}

#[test]
fn exact_vectors_have_no_spare_capacity() {
    let json = json!({
        "unknown": [{}, [{}, {}], {"a": [[], []]}],
        "first": inner(5),
        "map": {"a": [inner(3), inner(6)], "b": []},
        "kind": {"Struct": {"inner": inner(7)}},
        "kinds": ["Unit", {"New": inner(3)}, {"Tuple": [inner(9), 1]}],
        "pair": [inner(5), 7],
        "any": [{"a": [1, {}]}, null],
        "either": inner(3),
    });
    let bytes = serde_json::to_vec(&json).unwrap();
    let own: Own = from_slice(&bytes).unwrap();
    assert_eq!(own, serde_json::from_slice(&bytes).unwrap());
    let fits = |vec: &Vec<Inner>| {
        assert_eq!(vec.capacity(), vec.len());
        for inner in vec {
            let more = inner.more.as_ref().unwrap();
            assert_eq!(more.capacity(), more.len());
        }
    };
    fits(&own.first);
    own.map["a"].iter().for_each(fits);
    fits(&own.pair.0);
    match (&own.kind, &own.kinds[1], &own.kinds[2]) {
        (Kind::Struct { inner }, Kind::New(new), Kind::Tuple(tuple, 1)) => {
            [inner, new, tuple].into_iter().for_each(fits);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn exact_errors_are_those_of_serde_json() {
    for json in [
        "",
        "{",
        "[]",
        r#"{"metadata":{}} x"#,
        r#"{"metadata":{"name":5}}"#,
        r#"{"spec":{"containers":[{"name":1}]}}"#,
    ] {
        let exact = from_slice::<Pod>(json.as_bytes()).unwrap_err();
        let plain = serde_json::from_slice::<Pod>(json.as_bytes()).unwrap_err();
        assert_eq!(exact.to_string(), plain.to_string(), "{json}");
    }
}

proptest! {
    #[test]
    fn exact_any_value_is_that_of_serde_json(
        texts in proptest::collection::vec(r#"["\\{}\[\],a]{0,40}"#, 0..6), count in 0_usize..5, number: f64,
    ) {
        let value = json!({"a": texts, "b": inner(count), "c": [[], [texts]], "d": number, "e": null});
        let bytes = serde_json::to_vec(&value).unwrap();
        prop_assert_eq!(from_slice::<Value>(&bytes).unwrap(), serde_json::from_slice::<Value>(&bytes).unwrap());
    }
}
