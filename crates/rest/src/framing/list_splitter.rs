//! [`ListSplitter`]: the items of a list body, one by one, while it arrives.

use informers_objects::json::ValueScanner;

use super::envelope::Envelope;
pub(crate) use super::envelope::ListEnd;
use super::piece::Buffer;
use super::{FramingError, Limits, Piece};

/// Splits a JSON list into its items. Compact or pretty, keys in any order, `items` or
/// `metadata` absent or null: all of it is read, and each byte once.
///
/// # Contract
/// Items come in the body's order, none twice. Each item's brackets are balanced; whether
/// it is valid JSON is for the decoder to say. After an error the splitter is of no use.
#[derive(Debug)]
pub(crate) struct ListSplitter {
    state: State,
    limits: Limits,
    /// Bytes of the body before those not yet consumed.
    offset: u64,
    value: ValueScanner,
    item: Buffer,
    /// The key being read, with its quotes.
    key: Vec<u8>,
    envelope: Envelope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the list's brace.
    Start,
    /// Behind the brace: a key, or the end.
    FirstKey,
    /// Behind a comma: a key.
    Key,
    /// In a key.
    InKey,
    /// Behind a key.
    Colon,
    /// Behind the colon of `items`.
    Items,
    /// Behind the bracket of the items: an item, or their end.
    FirstItem,
    /// Behind a comma in the items.
    Item,
    /// In an item.
    InItem,
    /// Behind an item.
    AfterItem,
    /// Before the value of another key.
    Value,
    /// In the value of another key.
    InValue,
    /// Behind a value.
    AfterValue,
    /// Behind the list.
    End,
}

impl ListSplitter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: State::Start,
            limits,
            offset: 0,
            value: ValueScanner::new(),
            item: Buffer::default(),
            key: Vec::new(),
            envelope: Envelope::default(),
        }
    }

    /// The next complete item, consumed from the front of `input`. `None`: `input` is used
    /// up, go on with the body's next bytes.
    ///
    /// # Errors
    /// If the body is no list, or an item exceeds the limit.
    pub(crate) fn next<'input>(
        &mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<Piece<'input, '_>>, FramingError> {
        while let Some(byte) = input.first().copied() {
            match self.state {
                State::InItem => match self.scan_item(input)? {
                    None => return Ok(None),
                    Some(last) => {
                        self.state = State::AfterItem;
                        return Ok(Some(self.item.complete(last)));
                    }
                },
                State::InKey | State::InValue => self.scan_value(input)?,
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => self.consume(input, 1),
                _ => self.step(byte, input)?,
            }
        }
        Ok(None)
    }

    /// What the list says besides its items; to be asked when the body has ended.
    ///
    /// # Errors
    /// If the body ended too early, or was no list: a `Status`, a `Table`.
    pub(crate) fn finish(&mut self) -> Result<ListEnd, FramingError> {
        if self.state != State::End {
            return Err(FramingError::Truncated);
        }
        self.envelope.parse()
    }

    /// Takes one byte outside of values that is not white space.
    fn step(&mut self, byte: u8, input: &mut &[u8]) -> Result<(), FramingError> {
        let keep = |this: &mut Self, state| {
            this.state = state;
            this.envelope.push(&[byte])
        };
        match (self.state, byte) {
            (State::Start, b'{') => keep(self, State::FirstKey)?,
            (State::FirstKey | State::AfterValue, b'}') => keep(self, State::End)?,
            (State::AfterValue, b',') => keep(self, State::Key)?,
            (State::FirstKey | State::Key, b'"') => {
                self.key.clear();
                self.state = State::InKey;
                return Ok(());
            }
            (State::Colon, b':') => {
                let items = self.key == b"\"items\""
                    || self.key.contains(&b'\\')
                        && serde_json::from_slice::<String>(&self.key)
                            .is_ok_and(|key| key == "items");
                if items && self.envelope.meet_items() {
                    return Err(self.misplaced("one key of items", byte));
                }
                keep(self, if items { State::Items } else { State::Value })?;
            }
            (State::Items, b'[') => {
                // An empty array stands for them in the envelope.
                self.envelope.push(b"[]")?;
                self.state = State::FirstItem;
            }
            // `null`, no items, is kept in the envelope as any other value.
            (State::Items, b'n') | (State::Value, _) => {
                self.state = State::InValue;
                return Ok(());
            }
            (State::FirstItem | State::AfterItem, b']') => self.state = State::AfterValue,
            (State::AfterItem, b',') => self.state = State::Item,
            (State::FirstItem | State::Item, _) => {
                self.state = State::InItem;
                return Ok(());
            }
            (state, byte) => return Err(self.misplaced(state.expected(), byte)),
        }
        self.consume(input, 1);
        Ok(())
    }

    /// Scans on in an item; the last part of it, once it is complete.
    fn scan_item<'input>(
        &mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<&'input [u8]>, FramingError> {
        let bytes = *input;
        let end = self.value.scan(bytes);
        let length = end.unwrap_or(bytes.len());
        if self.item.len() + length > self.limits.max_item {
            return Err(FramingError::TooLarge {
                limit: self.limits.max_item,
            });
        }
        if end == Some(0) && self.item.len() == 0 {
            return Err(self.misplaced("a value", bytes[0]));
        }
        self.consume(input, length);
        if end.is_none() {
            self.item.append(bytes);
            return Ok(None);
        }
        self.value.reset();
        Ok(Some(&bytes[..length]))
    }

    /// Scans on in a key, or in a value that belongs to the envelope.
    fn scan_value(&mut self, input: &mut &[u8]) -> Result<(), FramingError> {
        let bytes = *input;
        let started = self.value.started();
        let end = self.value.scan(bytes);
        let length = end.unwrap_or(bytes.len());
        if end == Some(0) && !started {
            return Err(self.misplaced("a value", bytes[0]));
        }
        self.envelope.push(&bytes[..length])?;
        if self.state == State::InKey {
            self.key.extend_from_slice(&bytes[..length]);
        }
        self.consume(input, length);
        if end.is_some() {
            self.value.reset();
            self.state = match self.state {
                State::InKey => State::Colon,
                _ => State::AfterValue,
            };
        }
        Ok(())
    }

    fn misplaced(&self, expected: &'static str, byte: u8) -> FramingError {
        FramingError::Malformed {
            expected,
            byte,
            offset: self.offset,
        }
    }

    fn consume(&mut self, input: &mut &[u8], length: usize) {
        *input = &input[length..];
        self.offset += length as u64;
    }
}

impl State {
    /// For the error text.
    fn expected(self) -> &'static str {
        match self {
            Self::Start => "a list",
            Self::FirstKey | Self::Key | Self::InKey => "a key",
            Self::Colon => "a colon",
            Self::Items => "an array of items",
            Self::FirstItem | Self::Item | Self::InItem | Self::Value | Self::InValue => "a value",
            Self::AfterItem | Self::AfterValue => "a comma or the end",
            Self::End => "the end of the body",
        }
    }
}
