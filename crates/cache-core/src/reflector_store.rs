//! [`ReflectorStore`]: where a reflector puts what it learns.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{ObjectName, Replacement, ResourceVersion, Undecodable};

/// One change that a watch delivered.
pub enum Change<T> {
    /// ADDED.
    Added(T),
    /// MODIFIED.
    Updated(T),
    /// DELETED.
    Deleted {
        /// The key of the object.
        name: ObjectName,
        /// Its final state, if that decodes.
        object: Option<T>,
        /// The version of the deletion.
        resource_version: Option<ResourceVersion>,
    },
    /// ADDED or MODIFIED of an object that does not decode.
    Undecodable(Box<Undecodable>),
    /// BOOKMARK: nothing else happened up to this version.
    Bookmark(ResourceVersion),
}

impl<T> fmt::Debug for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Updated(_) => f.write_str("Updated"),
            Self::Deleted { name, .. } => write!(f, "Deleted({name})"),
            Self::Undecodable(undecodable) => undecodable.fmt(f),
            Self::Bookmark(rv) => write!(f, "Bookmark({rv})"),
        }
    }
}

/// Where a reflector puts what it lists and watches: a delta queue.
///
/// # Contract
/// One reflector writes to a store, from one task.
///
/// # Upstream
/// `cache.ReflectorStore`, with `TransformingStore` and `ReflectorBookmarkStore`.
#[doc(alias = "TransformingStore")]
pub trait ReflectorStore<T>: Send + Sync {
    /// Begins to collect a list.
    fn begin_replace(&self) -> Replacement<T>;

    /// Makes a whole list, taken at `resource_version`, the new truth.
    ///
    /// # Errors
    /// If the store refuses: the reflector reports it, backs off and lists again.
    fn replace(
        &self,
        list: Replacement<T>,
        resource_version: Option<&ResourceVersion>,
    ) -> Result<(), StoreError>;

    /// Applies changes in order, leaving `changes` empty. What a transform refused
    /// goes on as undecodable, and is appended to `refused`.
    ///
    /// # Errors
    /// If the store refuses: the reflector ends the watch and lists again.
    fn apply(
        &self,
        changes: &mut Vec<Change<T>>,
        refused: &mut Vec<Arc<Undecodable>>,
    ) -> Result<(), StoreError>;

    /// Repeats every object without a pending change.
    ///
    /// # Errors
    /// If the store refuses: the reflector ends the watch and lists again.
    fn resync(&self) -> Result<(), StoreError>;

    /// Ready unless the store wants its producer to wait (back-pressure).
    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()>;
}

/// A store refused a change.
#[derive(Debug)]
pub struct StoreError(Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Wraps the cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store refused the change")
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
