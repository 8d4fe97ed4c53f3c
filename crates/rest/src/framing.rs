//! How response bodies fall apart into objects: list items and watch events, found
//! while the bytes arrive, each handed on as a slice. Pure: no IO, no clock, no
//! decoding.
//!
//! # Memory
//! A slice points into the bytes just given where it lies whole in them; else it is
//! joined in one buffer, reused for the next. So a splitter holds one item at most, and
//! never more than [`Limits::max_item`] bytes of it.
//!
//! # Examples
//! ```ignore
//! let mut splitter = ListSplitter::new(Limits::default());
//! while let Some(chunk) = body.next().await? {
//!     let mut input = &chunk[..];
//!     while let Some(item) = splitter.next(&mut input)? {
//!         decode(item.as_bytes());
//!     }
//! }
//! let end = splitter.finish()?;
//! ```

mod envelope;
mod error;
mod event_splitter;
mod list_splitter;
mod piece;

pub(crate) use error::FramingError;
pub(crate) use event_splitter::{EventSplitter, EventType};
pub(crate) use list_splitter::ListSplitter;
pub(crate) use piece::{Limits, Piece};

#[cfg(test)]
mod tests;
