//! Watch events.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::bodies::{lengths, object, split_events, value, write};
use crate::framing::{EventSplitter, EventType, FramingError, Limits};

const ONE: &[usize] = &[1];
const WHOLE: &[usize] = &[];

fn names(body: &[u8], lengths: &[usize]) -> Vec<(EventType, String)> {
    let (events, end) = split_events(body, lengths);
    end.unwrap();
    events
        .into_iter()
        .map(|(event_type, object)| {
            let object: Value = serde_json::from_slice(&object).unwrap();
            (event_type, object["n"].as_str().unwrap().to_owned())
        })
        .collect()
}

// B04, B53
#[test]
fn events_are_found_however_lines_are_ended() {
    let expected = [
        (EventType::Added, "a".to_owned()),
        (EventType::Modified, "中".to_owned()),
        (EventType::Deleted, "}{".to_owned()),
    ];
    let a = r#"{"type":"ADDED","object":{"n":"a"}}"#;
    let b = r#"{"object":{"n":"中"},"type":"MODIFIED"}"#;
    let c = r#"{"type":"DELETED","object":{"n":"}{"}}"#;
    for body in [
        format!("{a}\n{b}\n{c}\n"),
        format!("{a}\r\n\r\n\n{b}\r\n{c}"),
        format!("{a}{b} {c}"),
        format!(
            "\n{}\n{b}\n{}\n",
            a.replace(',', ",\n  "),
            c.replace(':', " :\r\n\t")
        ),
    ] {
        for lengths in [WHOLE, ONE, &[2], &[40]] {
            assert_eq!(names(body.as_bytes(), lengths), expected, "{body}");
        }
    }
}

#[test]
fn event_is_handed_out_before_its_line_end_arrives() {
    let mut splitter = EventSplitter::new(Limits::default());
    let mut input = &br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#[..];
    let event = splitter.next(&mut input).unwrap().unwrap();
    assert_eq!(event.event_type, EventType::Bookmark);
    assert_eq!(
        event.object.as_bytes(),
        br#"{"metadata":{"resourceVersion":"7"}}"#
    );
}

#[test]
fn events_of_unusual_form_are_read_key_by_key() {
    for (event, expected) in [
        (
            r#"{"type":"ADDED","object":{"n":1},"x":1}"#,
            EventType::Added,
        ),
        (
            r#"{"type":"ADDED","object":{"n":1},"x":{}}"#,
            EventType::Added,
        ),
        (
            r#"{"type":"ADDED","object":{"n":1},"x":"}"}"#,
            EventType::Added,
        ),
        (
            r#"{"x":[{"object":{"n":2}}],"type":"ERROR","object":{"n":1}}"#,
            EventType::Error,
        ),
        (
            r#"{"typ\u0065":"ADDED","object":{"n":1}}"#,
            EventType::Added,
        ),
        (
            r#"{"type":"ADD\u0045D","object":{"n":1}}"#,
            EventType::Added,
        ),
        (
            r#"{"type":"NEW","object":{"n":1}}"#,
            EventType::Unknown("NEW".to_owned()),
        ),
    ] {
        for lengths in [WHOLE, ONE] {
            let (events, end) = split_events(event.as_bytes(), lengths);
            end.unwrap();
            assert_eq!(
                events,
                [(expected.clone(), br#"{"n":1}"#.to_vec())],
                "{event}"
            );
        }
    }
}

#[test]
fn status_without_an_event_around_it_is_an_error_event() {
    let body = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}"#;
    let (events, end) = split_events(body, ONE);
    end.unwrap();
    assert_eq!(events, [(EventType::Error, body.to_vec())]);
}

#[test]
fn event_without_type_or_object_is_refused() {
    for body in [
        "{}",
        r#"{"type":"ADDED"}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":7,"object":{}}"#,
        r#"{"object":{}}"#,
        r#"{"type":"ADDED","object":{} x}"#,
        r#"{"kind":"Pod","metadata":{}}"#,
    ] {
        let (events, end) = split_events(body.as_bytes(), ONE);
        assert!(events.is_empty());
        assert!(
            matches!(end, Err(FramingError::IncompleteEvent)),
            "{body}: {end:?}"
        );
    }
}

// B32
#[test]
fn events_cut_anywhere_yield_the_complete_ones() {
    let first = br#"{"type":"ADDED","object":{"n":"a\\"}}"#.as_slice();
    let body = [first, b"\n", br#"{"type":"ADDED","object":{"n":"b"}}"#].concat();
    for cut in 0..body.len() {
        let (events, end) = split_events(&body[..cut], &[5]);
        assert_eq!(events.len(), usize::from(cut >= first.len()), "{cut}");
        let between = cut == 0 || cut == first.len() || cut == first.len() + 1;
        assert_eq!(end.is_ok(), between, "{cut}");
    }
}

#[test]
fn event_cut_off_before_the_next_line_ends_the_body() {
    let good = r#"{"type":"ADDED","object":{"n":"a"}}"#;
    for (broken, more) in [
        (r#"{"type":"ADDED","object":{"n":"b"#, ""),
        (r#"{"type":"ADDED","object":{"n":"b","#, good),
        (
            r#"{"type":"ADDED","object":{"#,
            r#"{"type":"BOOKMARK","object":{}}"#,
        ),
    ] {
        let body = format!("{good}\n{broken}\n{more}\n");
        for lengths in [WHOLE, ONE, &[7]] {
            let (events, end) = split_events(body.as_bytes(), lengths);
            assert_eq!(events.len(), 1, "{body}");
            assert!(
                matches!(end, Err(FramingError::BrokenEvent { .. })),
                "{body}: {end:?}"
            );
        }
    }
    let (_, end) = split_events(b"  <html>", WHOLE);
    assert!(matches!(
        end,
        Err(FramingError::Malformed {
            byte: b'<',
            offset: 2,
            ..
        })
    ));
}

// B53
#[test]
fn event_with_invalid_utf8_is_handed_out_for_the_decoder_to_report() {
    let (events, end) = split_events(b"{\"type\":\"ADDED\",\"object\":{\"n\":\"\xff\"}}\n", ONE);
    end.unwrap();
    assert_eq!(events, [(EventType::Added, b"{\"n\":\"\xff\"}".to_vec())]);
}

// B54
#[test]
fn event_of_twenty_megabytes_passes_in_small_pieces() {
    let object = format!(r#"{{"data":"{}"}}"#, r#"x\"}"#.repeat(5 << 20));
    let body = format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n");
    let (events, end) = split_events(body.as_bytes(), &[1000]);
    end.unwrap();
    assert_eq!(events.len(), 1);
    assert!(events[0].1 == object.as_bytes());
}

#[test]
fn event_beyond_the_limit_is_an_explicit_error() {
    let body = br#"{"type":"ADDED","object":{"n":"aaaaaaaaaaaaaaaaaaaaaaaaaaa"}}"#;
    for pieces in [1, body.len()] {
        let mut splitter = EventSplitter::new(Limits {
            max_item: body.len() - 1,
        });
        let result = body
            .chunks(pieces)
            .find_map(|mut input| splitter.next(&mut input).err());
        assert!(matches!(result, Some(FramingError::TooLarge { .. })));
    }
}

proptest! {
    #[test]
    fn events_random_objects_in_any_pieces_agree_with_a_whole_parse(
        objects in proptest::collection::vec((object(), proptest::option::of(value()), any::<bool>(), any::<bool>()), 0..6),
        crlf: bool,
        lengths in lengths(),
    ) {
        let mut body = Vec::new();
        for (object, extra, pretty, first) in &objects {
            let event = match (extra, first) {
                (None, true) => format!(r#"{{"type":"ADDED","object":{object}}}"#).into_bytes(),
                (None, false) => write(&json!({"type": "ADDED", "object": object}), *pretty),
                (Some(extra), _) => write(&json!({"type": "ADDED", "object": object, "a": extra, "z": extra}), *pretty),
            };
            body.extend(event);
            body.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
        let (events, end) = split_events(&body, &lengths);
        prop_assert!(end.is_ok(), "{:?}", end);
        let events: Vec<Value> = events.iter().map(|(_, object)| serde_json::from_slice(object).unwrap()).collect();
        let expected: Vec<Value> = objects.into_iter().map(|(object, ..)| object).collect();
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn events_random_bytes_end_the_same_whatever_the_pieces(
        bytes in proptest::collection::vec(
            prop_oneof![
                Just(b"{\"type\":\"ADDED\",\"object\":{".to_vec()), Just(b"}".to_vec()), Just(b"{".to_vec()),
                Just(b"}}\n".to_vec()), Just(b",\"object\":".to_vec()), Just(b"\"".to_vec()), Just(b"\n".to_vec()),
                Just(b"\\".to_vec()), Just(b" ".to_vec()), any::<u8>().prop_map(|byte| vec![byte]),
            ],
            0..40,
        ),
        lengths in lengths(),
    ) {
        let body = bytes.concat();
        let whole = split_events(&body, WHOLE);
        let parts = split_events(&body, &lengths);
        prop_assert_eq!(whole.0, parts.0);
        prop_assert_eq!(whole.1.is_ok(), parts.1.is_ok());
    }
}
