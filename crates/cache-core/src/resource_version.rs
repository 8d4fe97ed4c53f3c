//! [`ResourceVersion`]: an opaque position in a resource's history.

use std::fmt;
use std::sync::Arc;

/// A resource version: an opaque, non-empty string that only the server understands.
///
/// The list and watch path compares versions for equality alone. Servers answer with
/// UUIDs, and versions go backwards when a cluster is restored from a backup.
///
/// # Examples
/// ```
/// use informers_cache_core::ResourceVersion;
///
/// let rv = ResourceVersion::new("b2c-9").expect("it is not empty");
/// assert_eq!(rv.as_str(), "b2c-9");
/// assert!(ResourceVersion::new("").is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Arc<str>);

impl ResourceVersion {
    /// `None` for the empty text, which on the wire means "unset".
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The text as the server wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the version `0`, "anything the server has".
    pub fn is_zero(&self) -> bool {
        &*self.0 == "0"
    }

    /// Compares two versions of one resource of a Kubernetes API server.
    ///
    /// Equal texts are equal; else both must be decimal integers without leading
    /// zeros, as Kubernetes guarantees for its own resources since 1.35.
    ///
    /// # Errors
    /// If one of the two is no such integer: nothing may be said about their order.
    pub fn compare(&self, other: &Self) -> Result<std::cmp::Ordering, IncomparableVersions> {
        let (a, b) = (self.as_str(), other.as_str());
        if a == b {
            return Ok(std::cmp::Ordering::Equal);
        }
        for text in [a, b] {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            if !digits || (text.starts_with('0') && text.len() > 1) {
                return Err(IncomparableVersions(text.to_owned()));
            }
        }
        Ok(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A resource version that is no integer has no order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomparableVersions(String);

impl fmt::Display for IncomparableVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "resource version {:?} is no integer", self.0)
    }
}

impl std::error::Error for IncomparableVersions {}

#[cfg(test)]
mod tests;
