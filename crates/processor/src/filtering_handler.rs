//! [`FilteringHandler`]: a handler that sees only some of the objects.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use informers_cache_core::{DeleteReason, Deleted, Object, ObjectName};

use crate::EventHandler;

/// Shows a handler only the objects that pass a filter.
///
/// # Contract
/// - An update by which an object comes to pass is an add (not of the initial list); one
///   by which it ceases to pass is a delete with the last state that passed, whose
///   reason is [`DeleteReason::Observed`]: nothing was missed.
/// - A delete is filtered by the last known state, stale or not. One without a last known
///   state is passed on: the handler may have seen the object, and must be able to
///   ignore a name that it does not know.
/// - The filter must answer the same for the same object whenever it is asked.
///
/// # Upstream
/// `FilteringResourceEventHandler`; there the filter of the untyped one is handed the
/// tombstone itself.
#[doc(alias = "FilteringResourceEventHandler")]
pub struct FilteringHandler<T, F, H> {
    filter: F,
    handler: H,
    object: PhantomData<fn(&T)>,
}

impl<T, F, H> FilteringHandler<T, F, H>
where
    F: FnMut(&T) -> bool + Send + 'static,
    H: EventHandler<T>,
{
    /// Shows `handler` the objects for which `filter` answers true.
    pub fn new(filter: F, handler: H) -> Self {
        Self {
            filter,
            handler,
            object: PhantomData,
        }
    }
}

impl<T, F, H> EventHandler<T> for FilteringHandler<T, F, H>
where
    T: Object,
    F: FnMut(&T) -> bool + Send + 'static,
    H: EventHandler<T>,
{
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool) {
        if (self.filter)(obj) {
            self.handler.on_add(obj, is_in_initial_list);
        }
    }

    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        match ((self.filter)(old), (self.filter)(new)) {
            (true, true) => self.handler.on_update(old, new),
            (false, true) => self.handler.on_add(new, false),
            (true, false) => self.handler.on_delete(&Deleted {
                name: ObjectName::of(&**old),
                last_known: Some(Arc::clone(old)),
                reason: DeleteReason::Observed,
            }),
            (false, false) => {}
        }
    }

    fn on_delete(&mut self, deleted: &Deleted<T>) {
        let passes = match &deleted.last_known {
            Some(obj) => (self.filter)(obj),
            None => true,
        };
        if passes {
            self.handler.on_delete(deleted);
        }
    }

    /// The name of the handler behind the filter.
    fn name(&self) -> Cow<'static, str> {
        self.handler.name()
    }
}

impl<T, F, H: std::fmt::Debug> std::fmt::Debug for FilteringHandler<T, F, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilteringHandler")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}
