//! Entry points of the fuzz targets in `fuzz/`; compiled under `cfg(fuzzing)` alone.

use crate::framing::{EventSplitter, Limits, ListSplitter};

/// Splits `body` as a list, in pieces of a length that its first byte names, and whole;
/// both have to find the same items and to end alike.
///
/// # Panics
/// If they differ: that is the find.
pub fn list_body(body: &[u8]) {
    let Some((&length, body)) = body.split_first() else {
        return;
    };
    let in_pieces = list(body.chunks(usize::from(length).max(1)));
    let whole = list(std::iter::once(body));
    assert_eq!(in_pieces, whole, "the pieces matter");
}

/// As [`list_body`], for the events of a watch.
///
/// # Panics
/// If they differ: that is the find.
pub fn watch_body(body: &[u8]) {
    let Some((&length, body)) = body.split_first() else {
        return;
    };
    let in_pieces = events(body.chunks(usize::from(length).max(1)));
    let whole = events(std::iter::once(body));
    assert_eq!(in_pieces, whole, "the pieces matter");
}

fn list<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut splitter = ListSplitter::new(Limits::default());
    let mut items = Vec::new();
    for mut piece in pieces {
        loop {
            match splitter.next(&mut piece) {
                Ok(Some(item)) => items.push(item.as_bytes().to_vec()),
                Ok(None) => break,
                Err(_) => return (items, false),
            }
        }
    }
    let ended = splitter.finish().is_ok();
    (items, ended)
}

fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (usize, bool) {
    let mut splitter = EventSplitter::new(Limits::default());
    let mut count = 0;
    for mut piece in pieces {
        loop {
            match splitter.next(&mut piece) {
                Ok(Some(_)) => count += 1,
                Ok(None) => break,
                Err(_) => return (count, false),
            }
        }
    }
    (count, splitter.finish().is_ok())
}
