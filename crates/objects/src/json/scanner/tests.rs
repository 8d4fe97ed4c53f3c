//! The scanner against a plain byte-by-byte model.

use proptest::prelude::*;

use super::ValueScanner;

/// The end of the container that `bytes` begin with.
fn model(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut text, mut escape) = (0, false, false);
    for (index, byte) in bytes.iter().enumerate() {
        let escaped = std::mem::take(&mut escape);
        match byte {
            b'\\' if !escaped => escape = true,
            b'"' if !escaped => text = !text,
            b'{' | b'[' if !text => depth += 1,
            b'}' | b']' if !text => {
                depth -= 1;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn in_pieces(bytes: &[u8], pieces: &[usize]) -> Option<usize> {
    let mut scanner = ValueScanner::new();
    let mut at = 0;
    let mut pieces = pieces.iter().cycle();
    while at < bytes.len() {
        let length = pieces.next().map_or(1, |length| *length);
        let to = (at + length).min(bytes.len());
        if let Some(end) = scanner.scan(&bytes[at..to]) {
            return Some(at + end);
        }
        at = to;
    }
    None
}

fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(b'"'),
        3 => Just(b'\\'),
        3 => Just(b'{'),
        3 => Just(b'}'),
        1 => Just(b'['),
        1 => Just(b']'),
        4 => Just(b'a'),
        1 => any::<u8>(),
    ];
    proptest::collection::vec(byte, 0..400).prop_map(|mut bytes| {
        bytes.insert(0, b'{');
        bytes
    })
}

proptest! {
    #[test]
    fn scanner_random_brackets_in_any_pieces_end_where_the_model_says(
        bytes in json_like(),
        pieces in proptest::collection::vec(1_usize..150, 1..6),
    ) {
        let expected = model(&bytes);
        prop_assert_eq!(in_pieces(&bytes, &[bytes.len()]), expected);
        prop_assert_eq!(in_pieces(&bytes, &pieces), expected);
        prop_assert_eq!(in_pieces(&bytes, &[1]), expected);
    }

    #[test]
    fn scanner_random_string_in_any_pieces_ends_at_its_quote(
        text in ".*",
        pieces in proptest::collection::vec(1_usize..40, 1..6),
    ) {
        let mut bytes = serde_json::to_vec(&text).unwrap();
        let length = bytes.len();
        bytes.extend_from_slice(b",\"more\"");
        prop_assert_eq!(in_pieces(&bytes, &pieces), Some(length));
    }
}

#[test]
fn scanner_number_ends_before_what_cannot_belong_to_it() {
    assert_eq!(ValueScanner::new().scan(b"-1.5e3,"), Some(6));
    let mut scanner = ValueScanner::new();
    assert_eq!(scanner.scan(b"nul"), None);
    assert!(scanner.may_end());
    assert_eq!(scanner.scan(b"l]"), Some(1));
}

#[test]
fn scanner_nested_counts_only_the_direct_children() {
    let mut scanner = ValueScanner::new();
    let bytes = br#"{"type":"ADDED","object":{"a":{"b":[1,2,{}]}},"more":[[]]}"#;
    assert_eq!(scanner.scan(bytes), Some(bytes.len()));
    assert_eq!(scanner.nested(), 2);
}
