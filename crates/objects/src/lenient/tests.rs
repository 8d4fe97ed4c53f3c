//! What the second try forgives, and how it names what it does not.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::decode;

#[derive(Debug, Deserialize, PartialEq)]
struct Own {
    price: u8,
    #[serde(default)]
    list: Vec<Inner>,
    #[serde(default)]
    map: BTreeMap<String, Vec<String>>,
    kind: Option<Kind>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    text: String,
    on: bool,
    ratio: f64,
    deeper: Option<Box<Inner>>,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Kind {
    A,
    B(u8),
}

// B17
#[test]
fn lenient_null_is_empty_at_any_depth() {
    let own: Own = decode(
        br#"{"price":null,"list":[{"text":null,"on":null,"ratio":null,"deeper":null}],"map":{"a":null,"b":["x",null]},"kind":{"B":2}}"#,
    )
    .unwrap();
    assert_eq!(own.price, 0);
    assert_eq!(
        own.list,
        [Inner {
            text: String::new(),
            on: false,
            ratio: 0.0,
            deeper: None
        }]
    );
    assert_eq!(own.map["a"], Vec::<String>::new());
    assert_eq!(own.map["b"], ["x", ""]);
    assert_eq!(own.kind, Some(Kind::B(2)));
}

// B14
#[test]
fn lenient_error_names_path_and_never_quotes_text() {
    for (json, path, message) in [
        (
            r#"{"price":-5}"#,
            "price",
            "invalid value: integer `-5`, expected u8",
        ),
        (
            r#"{"price":1,"list":[{"text":"","on":true,"ratio":1,"deeper":{"text":5,"on":false,"ratio":0}}]}"#,
            "list[0].deeper.text",
            "invalid type: integer `5`, expected a string",
        ),
        (
            r#"{"price":1,"map":{"a.b/c":["x",["secret"]]}}"#,
            r#"map["a.b/c"][1]"#,
            "invalid type: sequence, expected a string",
        ),
        (
            r#"{"price":"secret"}"#,
            "price",
            "invalid type: string, expected u8",
        ),
        (r#"{"list":[]}"#, "", "missing field `price`"),
    ] {
        let error = decode::<Own>(json.as_bytes()).unwrap_err();
        assert_eq!((error.path(), error.message()), (path, message), "{json}");
    }
}

#[test]
fn lenient_broken_json_is_an_error_without_path() {
    let error = decode::<Own>(br#"{"metadata":{"name":"a"},"price":"#).unwrap_err();
    assert_eq!(error.path(), "");
    assert_eq!(error.name(), Some("a"));
}
