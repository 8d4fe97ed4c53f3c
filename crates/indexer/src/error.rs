//! What can go wrong with an index.

use std::fmt;
use std::sync::Arc;

use informers_cache_core::ObjectName;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An index function failed or panicked for one object.
///
/// The object is stored all the same; that index holds nothing for it until a
/// version arrives for which the function succeeds.
pub struct IndexError {
    pub(crate) index: Arc<str>,
    pub(crate) object: ObjectName,
    pub(crate) failure: IndexFailure,
}

pub(crate) enum IndexFailure {
    Error(BoxError),
    Panic(String),
}

impl IndexError {
    /// The name of the index.
    pub fn index(&self) -> &str {
        &self.index
    }

    /// The object the function was called for.
    pub fn object(&self) -> &ObjectName {
        &self.object
    }

    /// Whether the function panicked, rather than returned an error.
    pub fn is_panic(&self) -> bool {
        matches!(self.failure, IndexFailure::Panic(_))
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, object) = (&self.index, &self.object);
        match &self.failure {
            IndexFailure::Error(_) => write!(f, "index function {index:?} failed for {object}"),
            IndexFailure::Panic(message) => {
                write!(
                    f,
                    "index function {index:?} panicked for {object}: {message}"
                )
            }
        }
    }
}

impl fmt::Debug for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("IndexError");
        f.field("index", &self.index).field("object", &self.object);
        match &self.failure {
            IndexFailure::Error(error) => f.field("error", error),
            IndexFailure::Panic(message) => f.field("panic", message),
        };
        f.finish()
    }
}

impl std::error::Error for IndexError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.failure {
            IndexFailure::Error(error) => Some(&**error),
            IndexFailure::Panic(_) => None,
        }
    }
}

/// The store has no index of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownIndex {
    pub(crate) name: String,
}

impl UnknownIndex {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "index {:?} does not exist", self.name)
    }
}

impl std::error::Error for UnknownIndex {}

/// The store has an index of that name already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateIndexer {
    pub(crate) name: String,
}

impl DuplicateIndexer {
    /// The name that is taken.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for DuplicateIndexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "index {:?} exists already", self.name)
    }
}

impl std::error::Error for DuplicateIndexer {}

/// [`Store::index`](crate::Store::index) has no answer.
#[derive(Debug)]
pub enum IndexQueryError {
    /// There is no index of that name: create it.
    Unknown(UnknownIndex),
    /// The index function fails for the object given.
    Function(IndexError),
}

impl fmt::Display for IndexQueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Function(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for IndexQueryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unknown(error) => error.source(),
            Self::Function(error) => error.source(),
        }
    }
}
