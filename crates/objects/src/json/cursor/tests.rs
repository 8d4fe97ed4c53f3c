//! Walking over complete JSON.

use proptest::prelude::*;

use super::Cursor;

#[test]
fn cursor_object_is_walked_key_by_key() {
    let mut cursor =
        Cursor::new(br#" { "a" : 1 , "b\"c":"x\ny", "d": [1,{"e":"}"}] ,"f":{} } tail"#);
    cursor.open_object().unwrap();
    let mut first = true;
    let mut seen = Vec::new();
    while let Some(key) = cursor.key(&mut first).unwrap() {
        let value = String::from_utf8(cursor.value().unwrap().to_vec()).unwrap();
        seen.push((key.text().unwrap().into_owned(), value));
    }
    let expected = [
        ("a", "1"),
        ("b\"c", r#""x\ny""#),
        ("d", r#"[1,{"e":"}"}]"#),
        ("f", "{}"),
    ];
    let expected: Vec<_> = expected
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    assert_eq!(seen, expected);
    assert_eq!(cursor.peek(), Some(b't'));
}

#[test]
fn cursor_escaped_key_is_recognised() {
    let mut cursor = Cursor::new(br#""it\u0065ms""#);
    assert!(cursor.string().unwrap().is("items"));
}

#[test]
fn cursor_malformed_object_is_refused() {
    for text in [
        "{,\"a\":1}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"}",
        "{a:1}",
        "{",
        "{\"a",
    ] {
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.open_object().unwrap();
        let mut first = true;
        let refused = loop {
            match cursor.key(&mut first) {
                None => break true,
                Some(None) => break false,
                Some(Some(_)) => {
                    if cursor.value().is_none() {
                        break true;
                    }
                }
            }
        };
        assert!(refused, "{text}");
    }
}

proptest! {
    #[test]
    fn cursor_any_string_reads_as_serde_reads_it(text in ".*") {
        let bytes = serde_json::to_vec(&text).unwrap();
        let mut cursor = Cursor::new(&bytes);
        let read = cursor.string().unwrap();
        let read = read.text().unwrap();
        prop_assert_eq!(read.as_ref(), text.as_str());
        prop_assert_eq!(cursor.position(), bytes.len());
    }

    #[test]
    fn cursor_random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut cursor = Cursor::new(&bytes);
        while cursor.value().is_some() {}
        let mut cursor = Cursor::new(&bytes);
        while cursor.string().is_some_and(|text| text.text().is_some()) {}
    }
}
