//! [`FramingError`]: why a body does not fall apart into objects.

use std::fmt;

/// What is wrong with a body. The text names no byte of it but the one that is out of
/// place.
#[derive(Debug)]
pub(crate) enum FramingError {
    /// The body ended in the middle of a value: the connection was cut.
    Truncated,
    /// A byte that cannot stand where it stands.
    Malformed {
        /// What was expected there.
        expected: &'static str,
        /// The byte found.
        byte: u8,
        /// How many bytes of the body came before it.
        offset: u64,
    },
    /// A line of a watch ended within a JSON string, or an unfinished event is followed
    /// by the next.
    BrokenEvent {
        /// How many bytes of the body came before the place.
        offset: u64,
    },
    /// A watch event without a type, or without an object.
    IncompleteEvent,
    /// One item or event is larger than the configured maximum.
    TooLarge {
        /// The maximum, in bytes.
        limit: usize,
    },
    /// What surrounds the items does not parse.
    Envelope(serde_json::Error),
    /// The body is something else than a list, although the status was 200.
    NotAList {
        /// Its `kind`, for example `Status` or `Table`; empty if it has none.
        kind: String,
        /// The body without its `items`: a complete JSON object.
        body: Vec<u8>,
    },
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the server ended the body in the middle of a value"),
            Self::Malformed {
                expected,
                byte,
                offset,
            } => write!(
                f,
                "the server sent '{}' at byte {offset} where {expected} belongs",
                byte.escape_ascii()
            ),
            Self::BrokenEvent { offset } => {
                write!(
                    f,
                    "the server sent an unfinished watch event before byte {offset}"
                )
            }
            Self::IncompleteEvent => {
                f.write_str("the server sent a watch event without type or object")
            }
            Self::TooLarge { limit } => {
                write!(
                    f,
                    "the server sent an object of more than {limit} bytes, the configured maximum"
                )
            }
            Self::Envelope(_) => {
                f.write_str("the server sent a list whose metadata does not parse")
            }
            Self::NotAList { kind, .. } if kind.is_empty() => {
                f.write_str("the server sent an object without kind instead of a list")
            }
            Self::NotAList { kind, .. } => {
                write!(
                    f,
                    "the server sent an object of kind {kind:?} instead of a list"
                )
            }
        }
    }
}

impl std::error::Error for FramingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Envelope(source) => Some(source),
            _ => None,
        }
    }
}
