//! [`Piece`]: the bytes of one item, and the limits on it.

/// Bounds on what a splitter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of one list item or watch event. Default: 128 MiB. etcd takes 1.5 MiB, but
    /// aggregated servers set limits of their own; a line of 20 MiB has been seen.
    pub(crate) max_item: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_item: 128 << 20,
        }
    }
}

/// The bytes of one complete JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'input, 'buffer> {
    /// It lies whole in the bytes given last.
    Input(&'input [u8]),
    /// It came in several parts, joined in the splitter's buffer.
    Joined(&'buffer [u8]),
}

impl<'bytes> Piece<'bytes, 'bytes> {
    /// The value's bytes.
    pub(crate) fn as_bytes(self) -> &'bytes [u8] {
        match self {
            Self::Input(bytes) | Self::Joined(bytes) => bytes,
        }
    }
}

/// The part of a value that came before the bytes given last.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// The value in it was handed out.
    spent: bool,
}

/// A buffer that grew beyond this for one large item is given back after it.
const KEPT: usize = 1 << 20;

impl Buffer {
    /// Bytes of the current value.
    pub(super) fn len(&self) -> usize {
        if self.spent { 0 } else { self.bytes.len() }
    }

    pub(super) fn append(&mut self, part: &[u8]) {
        self.clear();
        self.bytes.extend_from_slice(part);
    }

    /// Completes the value with its last part.
    pub(super) fn complete<'input>(&mut self, last: &'input [u8]) -> Piece<'input, '_> {
        self.clear();
        if self.bytes.is_empty() {
            return Piece::Input(last);
        }
        self.bytes.extend_from_slice(last);
        self.spent = true;
        Piece::Joined(&self.bytes)
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.spent) {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
        }
    }
}
