//! [`Notification`]: what a handler is told.

use std::fmt;
use std::sync::Arc;

use informers_cache_core::{Deleted, Object, ObjectName};

/// One thing that a handler is told: an add, an update or a delete.
///
/// # Memory
/// A clone copies references; all handlers share the objects.
///
/// # Upstream
/// `addNotification`, `updateNotification`, `deleteNotification`.
pub enum Notification<T> {
    /// The object is new to the cache.
    Add {
        /// The object.
        obj: Arc<T>,
        /// Whether it was there before the informer had synced, or before this
        /// handler was added.
        is_in_initial_list: bool,
    },
    /// The object changed, or a resync repeats it (`old` and `new` are then the same).
    Update {
        /// The state before.
        old: Arc<T>,
        /// The state now.
        new: Arc<T>,
    },
    /// The object is gone.
    Delete(Deleted<T>),
}

impl<T> Notification<T> {
    /// Whether this is an add of the initial list.
    pub fn is_in_initial_list(&self) -> bool {
        matches!(
            self,
            Self::Add {
                is_in_initial_list: true,
                ..
            }
        )
    }

    /// The newest state that this carries; `None` for a delete without a last known
    /// state.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Add { obj, .. } => Some(obj),
            Self::Update { new, .. } => Some(new),
            Self::Delete(deleted) => deleted.last_known.as_ref(),
        }
    }
}

impl<T: Object> Notification<T> {
    /// The key of the object.
    pub fn name(&self) -> ObjectName {
        match self {
            Self::Add { obj, .. } => ObjectName::of(&**obj),
            Self::Update { new, .. } => ObjectName::of(&**new),
            Self::Delete(deleted) => deleted.name.clone(),
        }
    }
}

impl<T> Clone for Notification<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Add {
                obj,
                is_in_initial_list,
            } => Self::Add {
                obj: Arc::clone(obj),
                is_in_initial_list: *is_in_initial_list,
            },
            Self::Update { old, new } => Self::Update {
                old: Arc::clone(old),
                new: Arc::clone(new),
            },
            Self::Delete(deleted) => Self::Delete(deleted.clone()),
        }
    }
}

// By hand: neither shows the object, which may be a Secret, nor asks for `T: Debug`.
impl<T: Object> fmt::Debug for Notification<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add {
                obj,
                is_in_initial_list,
            } => f
                .debug_struct("Add")
                .field("name", &ObjectName::of(&**obj))
                .field("is_in_initial_list", is_in_initial_list)
                .finish_non_exhaustive(),
            Self::Update { new, .. } => f
                .debug_struct("Update")
                .field("name", &ObjectName::of(&**new))
                .finish_non_exhaustive(),
            Self::Delete(deleted) => f.debug_tuple("Delete").field(deleted).finish(),
        }
    }
}
