//! [`Undecodable`]: an object that exists but does not fit its Rust type.

use std::fmt;

use crate::{ObjectName, ResourceVersion};

/// An object that the server has, in a version that does not decode (or that the
/// user's transform refused). It is kept out of the way of the good ones.
///
/// # Upstream
/// None: one such object fails a whole list in client-go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// The key of the object.
    pub name: ObjectName,
    /// `metadata.uid`, where it could be read.
    pub uid: Option<String>,
    /// The version that does not decode.
    pub resource_version: Option<ResourceVersion>,
    /// Where in the object decoding failed, for example `spec.priority`; empty if
    /// unknown.
    pub path: String,
    /// What was wrong there. Holds no more of the object than the parser's message.
    pub message: String,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {} does not decode", self.name)?;
        if !self.path.is_empty() {
            write!(f, " at {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Undecodable {}
