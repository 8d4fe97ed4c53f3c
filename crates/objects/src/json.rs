//! Scanning JSON bytes without parsing them: where a value ends, and which string
//! stands where. The splitters of `informers-rest` and the metadata scan of this
//! crate are built on it.
//!
//! Nothing here validates: brackets are counted, not matched, and what stands inside
//! a value is left to the parser that gets its slice.

mod block;
mod children;
mod cursor;
mod scanner;

pub(crate) use children::Children;
pub use cursor::{Cursor, RawStr};
pub use scanner::ValueScanner;
