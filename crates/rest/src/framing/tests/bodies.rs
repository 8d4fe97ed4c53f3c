//! Bodies made at random, and ways to feed them.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::framing::envelope::ListEnd;
use crate::framing::{EventSplitter, EventType, FramingError, Limits, ListSplitter};

/// Feeds `body` in pieces of the given lengths, over and over.
fn pieces<'a>(body: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = body;
    let mut lengths = lengths.iter().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = lengths
            .next()
            .map_or(rest.len(), |length| (*length).clamp(1, rest.len()));
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        Some(piece)
    })
}

pub(super) fn split_list(
    body: &[u8],
    lengths: &[usize],
) -> Result<(Vec<Vec<u8>>, ListEnd), FramingError> {
    split_list_within(body, lengths, Limits::default())
}

pub(super) fn split_list_within(
    body: &[u8],
    lengths: &[usize],
    limits: Limits,
) -> Result<(Vec<Vec<u8>>, ListEnd), FramingError> {
    let mut splitter = ListSplitter::new(limits);
    let mut items = Vec::new();
    for mut input in pieces(body, lengths) {
        while let Some(item) = splitter.next(&mut input)? {
            items.push(item.as_bytes().to_vec());
        }
    }
    Ok((items, splitter.finish()?))
}

pub(super) type Events = Vec<(EventType, Vec<u8>)>;

/// The events, and how the body ended.
pub(super) fn split_events(body: &[u8], lengths: &[usize]) -> (Events, Result<(), FramingError>) {
    let mut splitter = EventSplitter::new(Limits::default());
    let mut events = Vec::new();
    for mut input in pieces(body, lengths) {
        loop {
            match splitter.next(&mut input) {
                Ok(Some(event)) => {
                    events.push((event.event_type, event.object.as_bytes().to_vec()));
                }
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
    }
    (events, splitter.finish())
}

pub(super) fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![1_usize..4, 1_usize..90, 60_usize..70], 1..6)
}

/// Any JSON value.
pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        r#"["\\{}\[\],:\n a中]{0,80}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(r#"["\\{}a-c中]{0,8}"#, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

pub(super) fn object() -> impl Strategy<Value = Value> {
    (value(), "[a-z]{1,9}")
        .prop_map(|(value, name)| json!({"metadata": {"name": name}, "spec": value}))
}

/// Writes `value` compactly or pretty.
pub(super) fn write(value: &Value, pretty: bool) -> Vec<u8> {
    if pretty {
        serde_json::to_vec_pretty(value).unwrap()
    } else {
        serde_json::to_vec(value).unwrap()
    }
}
