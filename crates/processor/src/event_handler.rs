//! [`EventHandler`]: what users implement to be told of changes.

use std::borrow::Cow;
use std::sync::Arc;

use informers_cache_core::Deleted;

/// Is told of every add, update and delete of an informer's objects.
///
/// # Contract
/// - Calls are strictly one after another, in the order in which the informer's store
///   changed; handlers know nothing of each other.
/// - The store already holds the change (or a later one) when the call is made.
/// - Each object's first call is [`on_add`](Self::on_add), its last is
///   [`on_delete`](Self::on_delete); what the informer holds when a handler is added is
///   told as adds with `is_in_initial_list`.
/// - A call may block: no watch, no store and no other handler waits for it. Calls are
///   made on threads where blocking is allowed, under no lock of ours, so that a handler
///   may read the store, wait for another informer, add handlers, or remove itself with
///   [`HandlerRegistration::remove`](crate::HandlerRegistration::remove).
/// - Objects are shared: clone before you change one.
///
/// # Panics
/// A handler may panic: that is logged with the handler's name and the object's key and
/// counted, the notification counts as delivered, and the next one follows a second
/// later. Other handlers do not notice. In programs built with `panic = "abort"` none of
/// this holds: the process ends.
///
/// # Upstream
/// `cache.ResourceEventHandler`; deletes are typed ([`Deleted`]).
#[doc(alias = "ResourceEventHandler")]
pub trait EventHandler<T>: Send + 'static {
    /// An object is new. `is_in_initial_list` says that it is no news: it was there
    /// before the informer had synced, or before this handler was added.
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool);

    /// An object changed. For a resync, and for an object that a relist found
    /// unchanged, `old` and `new` are of one version.
    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>);

    /// An object is gone.
    fn on_delete(&mut self, deleted: &Deleted<T>);

    /// What logs and metrics call this handler, unless
    /// [`HandlerOptions::name`](crate::HandlerOptions::name) says otherwise.
    ///
    /// The default is the type's name.
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(std::any::type_name::<Self>())
    }
}

impl<T: 'static, H: EventHandler<T> + ?Sized> EventHandler<T> for Box<H> {
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool) {
        (**self).on_add(obj, is_in_initial_list);
    }

    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        (**self).on_update(old, new);
    }

    fn on_delete(&mut self, deleted: &Deleted<T>) {
        (**self).on_delete(deleted);
    }

    fn name(&self) -> Cow<'static, str> {
        (**self).name()
    }
}
