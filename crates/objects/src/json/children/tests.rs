//! The counts against a walk over the parsed value.

use proptest::prelude::*;
use serde_json::Value;

use super::Children;

fn model(value: &Value, counts: &mut Vec<u32>) {
    match value {
        Value::Array(values) => {
            let nested = values
                .iter()
                .filter(|value| value.is_array() || value.is_object());
            counts.push(u32::try_from(nested.count()).unwrap());
            for value in values {
                model(value, counts);
            }
        }
        Value::Object(fields) => {
            for value in fields.values() {
                model(value, counts);
            }
        }
        _ => {}
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        r#"["\\{}\[\],a]{0,90}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 7, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..7).prop_map(Value::from),
            proptest::collection::btree_map(r#"["\\\[a-c]{0,8}"#, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn children_are_those_of_the_parsed_value(value in value(), pretty: bool) {
        let json = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        let mut children = Children::default();
        // Nothing of an earlier value is left.
        children.count(b"[[[{");
        children.count(&json.unwrap());
        let mut expected = Vec::new();
        model(&value, &mut expected);
        prop_assert_eq!(children.counts(), expected);
    }

    #[test]
    fn children_of_random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        Children::default().count(&bytes);
    }
}
