//! [`Delta`]: one change of one object on its way from the watch to the store.

use std::fmt;
use std::sync::Arc;

use crate::{ObjectName, Undecodable};

/// One change of one object.
///
/// # Upstream
/// `cache.Delta`; the atomic kinds of its `RealFIFO` are variants of
/// [`Work`](crate::Work) here.
pub enum Delta<T> {
    /// The watch said ADDED.
    Added(Arc<T>),
    /// The watch said MODIFIED.
    Updated(Arc<T>),
    /// A relist found the object.
    Replaced(Arc<T>),
    /// A resync repeats the stored object.
    Sync(Arc<T>),
    /// The object is gone.
    Deleted(Deleted<T>),
    /// The object exists in a version that does not decode.
    Undecodable(Arc<Undecodable>),
}

impl<T> Delta<T> {
    /// The object this delta carries; `None` for an undecodable one, and for a
    /// delete without a last known state.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Added(obj) | Self::Updated(obj) | Self::Replaced(obj) | Self::Sync(obj) => {
                Some(obj)
            }
            Self::Deleted(deleted) => deleted.last_known.as_ref(),
            Self::Undecodable(_) => None,
        }
    }

    /// Whether this is a delete.
    pub fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }
}

/// An object that is gone, and how that was learnt.
///
/// # Upstream
/// The object of `OnDelete`, which may or may not be a `DeletedFinalStateUnknown`.
#[doc(alias = "DeletedFinalStateUnknown")]
pub struct Deleted<T> {
    /// The key of the object.
    pub name: ObjectName,
    /// The final state for [`DeleteReason::Observed`]; else the last state that was
    /// seen, which may be older than the deletion. `None` if there never was a
    /// version that decodes.
    pub last_known: Option<Arc<T>>,
    /// How the deletion was learnt.
    pub reason: DeleteReason,
}

/// How a deletion was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeleteReason {
    /// The watch delivered the DELETED event.
    Observed,
    /// The event was missed; a relist did not find the object any more.
    FinalStateUnknown,
}

impl<T> Deleted<T> {
    /// Whether the delete event was missed, so that `last_known` may be stale.
    pub fn is_final_state_unknown(&self) -> bool {
        self.reason == DeleteReason::FinalStateUnknown
    }
}

impl<T> Clone for Deleted<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            last_known: self.last_known.clone(),
            reason: self.reason,
        }
    }
}

impl<T> Clone for Delta<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(obj) => Self::Added(Arc::clone(obj)),
            Self::Updated(obj) => Self::Updated(Arc::clone(obj)),
            Self::Replaced(obj) => Self::Replaced(Arc::clone(obj)),
            Self::Sync(obj) => Self::Sync(Arc::clone(obj)),
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::Undecodable(undecodable) => Self::Undecodable(Arc::clone(undecodable)),
        }
    }
}

// By hand: neither shows the object, which may be a Secret, nor asks for `T: Debug`.
impl<T> fmt::Debug for Deleted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deleted")
            .field("name", &self.name)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Updated(_) => f.write_str("Updated"),
            Self::Replaced(_) => f.write_str("Replaced"),
            Self::Sync(_) => f.write_str("Sync"),
            Self::Deleted(deleted) => deleted.fmt(f),
            Self::Undecodable(undecodable) => undecodable.fmt(f),
        }
    }
}

/// The pending deltas of one key, oldest first; at least one.
///
/// # Memory
/// The usual single delta is stored inline.
pub struct Deltas<T> {
    first: Delta<T>,
    rest: Vec<Delta<T>>,
}

impl<T> Deltas<T> {
    /// An accumulator of one delta.
    pub fn new(first: Delta<T>) -> Self {
        Self {
            first,
            rest: Vec::new(),
        }
    }

    /// Appends the newest delta.
    pub fn push(&mut self, delta: Delta<T>) {
        self.rest.push(delta);
    }

    /// The oldest delta.
    pub fn oldest(&self) -> &Delta<T> {
        &self.first
    }

    /// The newest delta.
    pub fn newest(&self) -> &Delta<T> {
        self.rest.last().unwrap_or(&self.first)
    }

    /// The newest delta, to be exchanged.
    pub(crate) fn newest_mut(&mut self) -> &mut Delta<T> {
        self.rest.last_mut().unwrap_or(&mut self.first)
    }

    /// The newest object that any delta carries.
    pub fn newest_object(&self) -> Option<&Arc<T>> {
        self.iter().rev().find_map(Delta::object)
    }

    /// How many deltas there are: one at least.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// The deltas, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Delta<T>> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl<T> IntoIterator for Deltas<T> {
    type Item = Delta<T>;
    type IntoIter = std::iter::Chain<std::iter::Once<Delta<T>>, std::vec::IntoIter<Delta<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.first).chain(self.rest)
    }
}

impl<T> fmt::Debug for Deltas<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
