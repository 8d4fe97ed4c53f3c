//! [`ValueScanner`]: finds the end of one JSON value in bytes that arrive in pieces.

use super::block::{BLOCK, Masks, escaped, inside};

/// Finds the end of one JSON value, given its bytes in pieces of any size. No byte is
/// looked at twice, whatever the pieces.
///
/// # Examples
/// ```
/// use informers_objects::json::ValueScanner;
///
/// let mut scanner = ValueScanner::new();
/// assert_eq!(scanner.scan(br#"{"a":"}"#), None);
/// assert_eq!(scanner.scan(br#"\"}"},{"#), Some(5));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ValueScanner {
    kind: Kind,
    depth: u32,
    in_string: bool,
    /// The next byte is escaped by a backslash.
    escape: bool,
    nested: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    /// No byte was seen.
    #[default]
    Unknown,
    /// An object or an array: ends with its bracket.
    Container,
    /// A string: ends with its quote.
    Text,
    /// A number or a literal: ends before the byte that cannot belong to it.
    Scalar,
}

impl ValueScanner {
    /// One that waits for the first byte of a value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the bytes so far end within a string.
    pub fn in_string(&self) -> bool {
        self.in_string
    }

    /// Whether a byte was seen.
    pub fn started(&self) -> bool {
        self.kind != Kind::Unknown
    }

    /// How many objects and arrays stand directly in the value, so far.
    pub fn nested(&self) -> u32 {
        self.nested
    }

    /// Whether the value may end here, where there are no more bytes: numbers and
    /// literals have no end of their own.
    pub fn may_end(&self) -> bool {
        self.kind == Kind::Scalar
    }

    /// Takes the next bytes, the very first of which must not be white space. `Some(end)`:
    /// the value is the bytes before `end`, and the scanner is to be dropped or
    /// [`reset`](Self::reset). `None`: the value goes on behind these bytes.
    #[inline]
    pub fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        if self.kind == Kind::Unknown {
            match bytes.first()? {
                b'{' | b'[' => {
                    self.kind = Kind::Container;
                    self.depth = 1;
                    at = 1;
                }
                b'"' => {
                    self.kind = Kind::Text;
                    self.in_string = true;
                    at = 1;
                }
                _ => self.kind = Kind::Scalar,
            }
        }
        match self.kind {
            Kind::Container => self.scan_container(bytes, at),
            Kind::Text => self.scan_text(bytes, at),
            Kind::Unknown | Kind::Scalar => bytes[at..]
                .iter()
                .position(|byte| {
                    matches!(
                        byte,
                        b',' | b']'
                            | b'}'
                            | b':'
                            | b' '
                            | b'\t'
                            | b'\r'
                            | b'\n'
                            | b'"'
                            | b'['
                            | b'{'
                    )
                })
                .map(|position| at + position),
        }
    }

    /// Forgets the value, to begin another one.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn scan_container(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
            if let Some(end) = self.scan_block(block) {
                return Some(at + end);
            }
            at += BLOCK;
        }
        for (index, byte) in bytes.iter().enumerate().skip(at) {
            if self.scan_byte(*byte) {
                return Some(index + 1);
            }
        }
        None
    }

    #[inline]
    fn scan_block(&mut self, block: &[u8; BLOCK]) -> Option<usize> {
        let masks = Masks::of(block);
        let quotes = masks.quotes & !escaped(masks.backslashes, &mut self.escape);
        let carried = if self.in_string { u64::MAX } else { 0 };
        let text = inside(quotes) ^ carried;
        let opens = masks.opens & !text;
        let closes = masks.closes & !text;
        self.in_string = text >> (BLOCK - 1) == 1;
        let closing = closes.count_ones();
        // As long as the depth cannot come down to one, only the balance counts.
        if self.depth > closing + 1 {
            self.depth = self.depth - closing + opens.count_ones();
            return None;
        }
        let mut brackets = opens | closes;
        while brackets != 0 {
            let bit = brackets.trailing_zeros();
            brackets &= brackets - 1;
            if opens >> bit & 1 == 1 {
                self.open();
            } else if self.close() {
                return Some(bit as usize + 1);
            }
        }
        None
    }

    fn scan_byte(&mut self, byte: u8) -> bool {
        let escaped = std::mem::take(&mut self.escape);
        match byte {
            b'"' if !escaped => self.in_string = !self.in_string,
            b'\\' if !escaped => self.escape = true,
            b'{' | b'[' if !self.in_string => self.open(),
            b'}' | b']' if !self.in_string => return self.close(),
            _ => {}
        }
        false
    }

    fn open(&mut self) {
        self.nested += u32::from(self.depth == 1);
        self.depth += 1;
    }

    fn close(&mut self) -> bool {
        self.depth -= 1;
        self.depth == 0
    }

    fn scan_text(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        if self.escape && at < bytes.len() {
            self.escape = false;
            at += 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += found;
            if bytes[at] == b'"' {
                self.in_string = false;
                return Some(at + 1);
            }
            at += 2;
            if at > bytes.len() {
                self.escape = true;
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
