//! [`HandlerFuncs`]: a handler made of closures.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use informers_cache_core::Deleted;

use crate::EventHandler;

type OnAdd<T> = Box<dyn FnMut(&Arc<T>, bool) + Send>;
type OnUpdate<T> = Box<dyn FnMut(&Arc<T>, &Arc<T>) + Send>;
type OnDelete<T> = Box<dyn FnMut(&Deleted<T>) + Send>;

/// A handler made of closures; what has no closure is ignored.
///
/// Its default name is the place in the source where [`new`](Self::new) was called.
///
/// # Examples
/// ```
/// use informers_processor::HandlerFuncs;
/// # struct Pod;
///
/// let handler = HandlerFuncs::<Pod>::new()
///     .on_add(|_pod, is_in_initial_list| println!("added, initial: {is_in_initial_list}"))
///     .on_update(|_old, _new| println!("updated"))
///     .on_delete(|deleted| println!("{} is gone", deleted.name));
/// ```
///
/// # Upstream
/// `ResourceEventHandlerFuncs` and `ResourceEventHandlerDetailedFuncs` in one.
#[doc(alias = "ResourceEventHandlerFuncs")]
#[doc(alias = "ResourceEventHandlerDetailedFuncs")]
pub struct HandlerFuncs<T> {
    on_add: Option<OnAdd<T>>,
    on_update: Option<OnUpdate<T>>,
    on_delete: Option<OnDelete<T>>,
    location: &'static Location<'static>,
}

impl<T> HandlerFuncs<T> {
    /// A handler that ignores everything.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            on_add: None,
            on_update: None,
            on_delete: None,
            location: Location::caller(),
        }
    }

    /// Calls `f` with each new object and whether it is of the initial list.
    #[must_use]
    pub fn on_add(mut self, f: impl FnMut(&Arc<T>, bool) + Send + 'static) -> Self {
        self.on_add = Some(Box::new(f));
        self
    }

    /// Calls `f` with the old and the new state.
    #[must_use]
    pub fn on_update(mut self, f: impl FnMut(&Arc<T>, &Arc<T>) + Send + 'static) -> Self {
        self.on_update = Some(Box::new(f));
        self
    }

    /// Calls `f` with each object that is gone.
    #[must_use]
    pub fn on_delete(mut self, f: impl FnMut(&Deleted<T>) + Send + 'static) -> Self {
        self.on_delete = Some(Box::new(f));
        self
    }
}

impl<T> Default for HandlerFuncs<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> EventHandler<T> for HandlerFuncs<T> {
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool) {
        if let Some(f) = &mut self.on_add {
            f(obj, is_in_initial_list);
        }
    }

    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        if let Some(f) = &mut self.on_update {
            f(old, new);
        }
    }

    fn on_delete(&mut self, deleted: &Deleted<T>) {
        if let Some(f) = &mut self.on_delete {
            f(deleted);
        }
    }

    fn name(&self) -> Cow<'static, str> {
        Cow::Owned(format!(
            "closures at {}:{}",
            self.location.file(),
            self.location.line()
        ))
    }
}

impl<T> std::fmt::Debug for HandlerFuncs<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandlerFuncs")
            .field("on_add", &self.on_add.is_some())
            .field("on_update", &self.on_update.is_some())
            .field("on_delete", &self.on_delete.is_some())
            .field("location", &format_args!("{}", self.location))
            .finish()
    }
}
