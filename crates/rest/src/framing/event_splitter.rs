//! [`EventSplitter`]: the events of a watch body, one by one, while it arrives.

use std::ops::Range;

use informers_objects::json::{Cursor, ValueScanner};

use super::piece::Buffer;
use super::{FramingError, Limits, Piece};

/// Splits a watch body into its events.
///
/// An event ends with its last brace, so it is handed out before the line end arrives.
/// Line ends of either kind, empty lines, several events on a line, one event over
/// several lines and a last line without an end are all the same to it.
///
/// # Contract
/// Events come in the body's order. Each object's brackets are balanced; whether it is
/// valid JSON is for the decoder to say. After an error the splitter is of no use.
#[derive(Debug)]
pub(crate) struct EventSplitter {
    limits: Limits,
    /// Bytes of the body before those not yet consumed.
    offset: u64,
    value: ValueScanner,
    event: Buffer,
    /// How many of the next bytes are known to hold no line end.
    in_line: usize,
    /// How the current line of an event over several lines begins.
    line_start: Vec<u8>,
}

/// One watch event.
#[derive(Debug)]
pub(crate) struct Event<'input, 'buffer> {
    pub(crate) event_type: EventType,
    /// The object's bytes; of an `ERROR`, those of the `Status`.
    pub(crate) object: Piece<'input, 'buffer>,
}

/// The type of a watch event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventType {
    /// `ADDED`.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`.
    Deleted,
    /// `BOOKMARK`.
    Bookmark,
    /// `ERROR`, or a `Status` that came without an event around it.
    Error,
    /// Any other.
    Unknown(String),
}

/// How an event begins. Where a line begins so, the event before it was cut off.
const STARTS: [&[u8]; 5] = [
    br#"{"type":"ADDED""#,
    br#"{"type":"MODIFIED""#,
    br#"{"type":"DELETED""#,
    br#"{"type":"BOOKMARK""#,
    br#"{"type":"ERROR""#,
];
const LONGEST_START: usize = 18;

impl EventSplitter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            offset: 0,
            value: ValueScanner::new(),
            event: Buffer::default(),
            in_line: 0,
            line_start: Vec::new(),
        }
    }

    /// The next complete event, consumed from the front of `input`. `None`: `input` is
    /// used up, go on with the body's next bytes.
    ///
    /// # Errors
    /// If the body is no sequence of events, or an event exceeds the limit.
    pub(crate) fn next<'input>(
        &mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<Event<'input, '_>>, FramingError> {
        loop {
            if !self.value.started() && !self.begin(input)? {
                return Ok(None);
            }
            let Some(last) = self.scan_line(input)? else {
                if input.is_empty() {
                    return Ok(None);
                }
                self.line_end(input)?;
                continue;
            };
            let nested = self.value.nested();
            self.value.reset();
            let piece = self.event.complete(last);
            let (event_type, object) =
                parse(piece.as_bytes(), nested).ok_or(FramingError::IncompleteEvent)?;
            let object = match piece {
                Piece::Input(bytes) => Piece::Input(&bytes[object]),
                Piece::Joined(bytes) => Piece::Joined(&bytes[object]),
            };
            return Ok(Some(Event { event_type, object }));
        }
    }

    /// To be asked when the body has ended.
    ///
    /// # Errors
    /// If it ended in the middle of an event.
    pub(crate) fn finish(&self) -> Result<(), FramingError> {
        if self.value.started() {
            return Err(FramingError::Truncated);
        }
        Ok(())
    }

    /// Skips white space; whether an event begins.
    fn begin(&mut self, input: &mut &[u8]) -> Result<bool, FramingError> {
        let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let skipped = input
            .iter()
            .position(|byte| !space(byte))
            .unwrap_or(input.len());
        if skipped > 0 {
            self.consume(input, skipped);
        }
        match input.first() {
            None => Ok(false),
            Some(b'{') => Ok(true),
            Some(byte) => Err(FramingError::Malformed {
                expected: "a watch event",
                byte: *byte,
                offset: self.offset,
            }),
        }
    }

    /// Scans on in an event, to the end of the line at most; the last part of it, once it
    /// is complete.
    fn scan_line<'input>(
        &mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<&'input [u8]>, FramingError> {
        if self.in_line == 0 {
            self.in_line = memchr::memchr(b'\n', input).unwrap_or(input.len());
        }
        let line = &input[..self.in_line.min(input.len())];
        self.check_line_start(line)?;
        let end = self.value.scan(line);
        let part = &line[..end.unwrap_or(line.len())];
        if self.event.len() + part.len() > self.limits.max_item {
            return Err(FramingError::TooLarge {
                limit: self.limits.max_item,
            });
        }
        self.consume(input, part.len());
        if end.is_none() {
            self.event.append(part);
            return Ok(None);
        }
        self.line_start.clear();
        Ok(Some(part))
    }

    /// A line ends within an event: it goes on over the next one.
    fn line_end(&mut self, input: &mut &[u8]) -> Result<(), FramingError> {
        if self.value.in_string() {
            return Err(FramingError::BrokenEvent {
                offset: self.offset,
            });
        }
        self.event.append(b"\n");
        self.consume(input, 1);
        self.line_start.clear();
        self.line_start.push(b'\n');
        Ok(())
    }

    fn check_line_start(&mut self, line: &[u8]) -> Result<(), FramingError> {
        // One line end stands before what was kept of the line.
        let room = (LONGEST_START + 1).saturating_sub(self.line_start.len());
        if self.line_start.is_empty() || room == 0 {
            return Ok(());
        }
        self.line_start
            .extend_from_slice(&line[..line.len().min(room)]);
        if STARTS
            .iter()
            .any(|start| self.line_start[1..].starts_with(start))
        {
            return Err(FramingError::BrokenEvent {
                offset: self.offset,
            });
        }
        Ok(())
    }

    fn consume(&mut self, input: &mut &[u8], length: usize) {
        *input = &input[length..];
        self.offset += length as u64;
        self.in_line = self.in_line.saturating_sub(length);
    }
}

/// The type of an event and where in its bytes the object stands.
fn parse(bytes: &[u8], nested: u32) -> Option<(EventType, Range<usize>)> {
    if nested == 1
        && let Some(event) = parse_usual(bytes)
    {
        return Some(event);
    }
    let mut cursor = Cursor::new(bytes);
    cursor.open_object()?;
    let (mut first, mut event_type, mut object, mut kind) = (true, None, None, None);
    while let Some(key) = cursor.key(&mut first)? {
        if key.is("type") && cursor.peek() == Some(b'"') {
            event_type = Some(cursor.string()?.text()?);
            continue;
        }
        let value = cursor.value()?;
        if key.is("object") && value.starts_with(b"{") {
            object = Some(cursor.position() - value.len()..cursor.position());
        } else if key.is("kind") {
            kind = Some(value);
        }
    }
    match (event_type, object) {
        (Some(event_type), Some(object)) => Some((EventType::of(&event_type), object)),
        (None, None) if kind == Some(br#""Status""#) => Some((EventType::Error, 0..bytes.len())),
        _ => None,
    }
}

/// The form every API server writes: the type first, the object last, no white space.
fn parse_usual(bytes: &[u8]) -> Option<(EventType, Range<usize>)> {
    let rest = bytes.strip_prefix(br#"{"type":""#)?;
    let (event_type, rest) = rest.split_at(memchr::memchr(b'"', rest)?);
    let object = rest.strip_prefix(br#"","object":"#)?.strip_suffix(b"}")?;
    // It is the only bracketed value, so it reaches to the end if a brace stands there.
    if object.first() != Some(&b'{') || object.last() != Some(&b'}') || event_type.contains(&b'\\')
    {
        return None;
    }
    let end = bytes.len() - 1;
    let event_type = EventType::of(std::str::from_utf8(event_type).ok()?);
    Some((event_type, end - object.len()..end))
}

impl EventType {
    fn of(text: &str) -> Self {
        match text {
            "ADDED" => Self::Added,
            "MODIFIED" => Self::Modified,
            "DELETED" => Self::Deleted,
            "BOOKMARK" => Self::Bookmark,
            "ERROR" => Self::Error,
            other => Self::Unknown(other.chars().take(64).collect()),
        }
    }
}
