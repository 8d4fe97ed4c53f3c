//! [`Cursor`]: walks over JSON bytes that are all there.

use std::borrow::Cow;

use super::ValueScanner;

/// A position in JSON bytes, moved forward token by token. Each method answers `None`
/// where the bytes are not what it looks for; the position is then of no more use.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A JSON string as it stands in the bytes, between its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStr<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Cursor<'a> {
    /// At the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The bytes behind the position.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, not consumed.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Consumes `byte`, and white space before it.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Consumes the literal `null` if it is next.
    pub fn null(&mut self) -> bool {
        let found = self.peek() == Some(b'n') && self.bytes[self.at..].starts_with(b"null");
        if found {
            self.at += 4;
        }
        found
    }

    /// Steps into an object: to its first key, or over the whole of it if it is empty.
    #[inline]
    pub fn open_object(&mut self) -> Option<()> {
        self.expect(b'{')
    }

    /// The next key of the object the position is in, its colon consumed. `first` is
    /// for the walk: `true` before the first call. `Some(None)`: the object ends here.
    #[inline]
    pub fn key(&mut self, first: &mut bool) -> Option<Option<RawStr<'a>>> {
        let next = self.peek()?;
        if next == b'}' {
            self.at += 1;
            return Some(None);
        }
        if !std::mem::take(first) {
            self.expect(b',')?;
        }
        let key = self.string()?;
        self.expect(b':')?;
        Some(Some(key))
    }

    /// Consumes a string.
    #[inline]
    pub fn string(&mut self) -> Option<RawStr<'a>> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let found = quote_or_backslash(self.bytes, self.at)?;
            if self.bytes[found] == b'"' {
                self.at = found + 1;
                return Some(RawStr {
                    raw: &self.bytes[start..found],
                    escaped,
                });
            }
            escaped = true;
            self.at = found + 2;
            if self.at > self.bytes.len() {
                return None;
            }
        }
    }

    /// Consumes any value and answers its bytes.
    #[inline]
    pub fn value(&mut self) -> Option<&'a [u8]> {
        match self.peek()? {
            b'"' => {
                let start = self.at;
                self.string()?;
                Some(&self.bytes[start..self.at])
            }
            b'{' | b'[' => {
                let rest = &self.bytes[self.at..];
                let length = ValueScanner::new().scan(rest)?;
                self.at += length;
                Some(&rest[..length])
            }
            _ => {
                let rest = &self.bytes[self.at..];
                let length = ValueScanner::new().scan(rest).unwrap_or(rest.len());
                self.at += length;
                (length > 0).then(|| &rest[..length])
            }
        }
    }
}

impl<'a> RawStr<'a> {
    /// Whether the string is `text`. An escape in it is undone first.
    #[inline]
    pub fn is(&self, text: &str) -> bool {
        if self.escaped {
            self.text().is_some_and(|own| own == text)
        } else {
            self.raw == text.as_bytes()
        }
    }

    /// The bytes between the quotes, escapes and all.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether a backslash stands in it.
    pub fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// The text, unescaped where that is needed; `None` if it is no valid JSON string.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if !self.escaped {
            return std::str::from_utf8(self.raw).ok().map(Cow::Borrowed);
        }
        let mut quoted = Vec::with_capacity(self.raw.len() + 2);
        quoted.push(b'"');
        quoted.extend_from_slice(self.raw);
        quoted.push(b'"');
        serde_json::from_slice(&quoted).ok().map(Cow::Owned)
    }
}

/// The first quote or backslash at or behind `at`.
#[inline]
fn quote_or_backslash(bytes: &[u8], mut at: usize) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const QUOTE: u64 = LOW * b'"' as u64;
    const BACKSLASH: u64 = LOW * b'\\' as u64;
    // Most strings are short: eight bytes at a time first, then the vector search.
    for _ in 0..6 {
        let Some(word) = bytes.get(at..)?.first_chunk::<8>() else {
            break;
        };
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (word ^ QUOTE, word ^ BACKSLASH);
        // The lowest bit set is exact; those above it may be the borrow's.
        let found =
            (quote.wrapping_sub(LOW) & !quote | backslash.wrapping_sub(LOW) & !backslash) & HIGH;
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', bytes.get(at..)?).map(|found| at + found)
}

#[cfg(test)]
mod tests;
