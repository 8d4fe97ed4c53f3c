//! [`Decode`] and [`FromWire`]: from an object's JSON to its Rust value.

use std::fmt;
use std::sync::Arc;

use informers_cache_core::{Object, ObjectName, ResourceVersion, Undecodable};

use crate::MetaScan;

/// Decodes the JSON of single objects.
///
/// # Contract
/// Stateless to its users: any thread, any order, any number at once. What it learns (see
/// [`Packed`](crate::Packed)) changes no object's meaning.
pub trait Decode<T>: Send + Sync + 'static {
    /// Decodes one object.
    ///
    /// # Errors
    /// If the bytes are no JSON, or no `T`: the object is undecodable, others are not
    /// concerned.
    fn decode(&self, json: &[u8]) -> Result<T, DecodeError>;

    /// Whether an object takes so long (tens of microseconds and more) that objects which
    /// come in numbers are better decoded on several threads.
    fn is_expensive(&self) -> bool {
        true
    }

    /// The media types to ask a watch for, as an `Accept` header has them.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "a decoder may have made the text itself"
    )]
    fn accept(&self) -> &str {
        "application/json"
    }

    /// The media types to ask a list for.
    fn accept_list(&self) -> &str {
        self.accept()
    }
}

/// A type whose objects can be made from a server's bytes.
///
/// Implemented for the `k8s-openapi` types, [`Packed`](crate::Packed),
/// [`PartialObjectMetadata`](crate::PartialObjectMetadata),
/// [`DynamicObject`](crate::DynamicObject), and by [`wire_type!`](crate::wire_type) for
/// types of your own.
pub trait FromWire: Object + Sized {
    /// A new decoder. Each informer has one of its own.
    fn decoder() -> Arc<dyn Decode<Self>>;
}

/// An object does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Details>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Details {
    path: String,
    message: String,
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Characters kept of a parser's message, which may quote the object.
const MAX_MESSAGE: usize = 256;

impl DecodeError {
    /// An error at `path` (empty if unknown) of the object that `json` should have been.
    pub fn new(json: &[u8], path: impl Into<String>, message: &dyn fmt::Display) -> Self {
        let scan = MetaScan::of(json);
        let mut message = message.to_string();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
            message.truncate(end);
        }
        Self(Box::new(Details {
            path: path.into(),
            message,
            name: scan.name().map(Into::into),
            namespace: scan.namespace().map(Into::into),
            uid: scan.uid().map(Into::into),
            resource_version: scan.resource_version().map(Into::into),
        }))
    }

    /// Where in the object it failed, for example `spec.containers[0].image`; empty if
    /// unknown.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What was wrong there.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The object's name, if it could be read.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The object's namespace, if it has one that could be read.
    pub fn namespace(&self) -> Option<&str> {
        self.0.namespace.as_deref()
    }

    /// The object's UID, if it could be read.
    pub fn uid(&self) -> Option<&str> {
        self.0.uid.as_deref()
    }

    /// The object's resource version, if it could be read.
    pub fn resource_version(&self) -> Option<&str> {
        self.0.resource_version.as_deref()
    }

    /// The report of an object that exists but does not decode.
    ///
    /// # Errors
    /// With itself if the name could not be read: which object it was is not known.
    pub fn into_undecodable(self) -> Result<Undecodable, Self> {
        let Some(name) = &self.0.name else {
            return Err(self);
        };
        let name = ObjectName::new(self.0.namespace.as_deref(), name);
        let details = *self.0;
        Ok(Undecodable {
            name,
            uid: details.uid,
            resource_version: details
                .resource_version
                .as_deref()
                .and_then(ResourceVersion::new),
            path: details.path,
            message: details.message,
        })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object")?;
        if let Some(name) = self.name() {
            write!(f, " {}", ObjectName::new(self.namespace(), name))?;
        }
        f.write_str(" does not decode")?;
        if !self.path().is_empty() {
            write!(f, " at {}", self.path())?;
        }
        write!(f, ": {}", self.message())
    }
}

impl std::error::Error for DecodeError {}
