//! [`AnyInformer`]: an informer whatever its type, as a factory holds it.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use informers_cache_core::Object;
use informers_reflector::ReflectorState;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::informer::{AlreadyStarted, Lifecycle, SharedIndexInformer};
use crate::sync_wait::LateInformer;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An informer whatever its type: what a factory, a health check or a status page asks.
///
/// Sealed: [`SharedIndexInformer`] is the one implementation.
pub trait AnyInformer: sealed::Sealed + Send + Sync {
    /// See [`SharedIndexInformer::name`].
    fn name(&self) -> &str;

    /// See [`SharedIndexInformer::lifecycle`].
    fn lifecycle(&self) -> Lifecycle;

    /// See [`SharedIndexInformer::has_synced`].
    fn has_synced(&self) -> bool;

    /// See [`SharedIndexInformer::has_synced_with_handlers`].
    fn has_synced_with_handlers(&self) -> bool;

    /// See [`SharedIndexInformer::reflector_state`].
    fn reflector_state(&self) -> Option<ReflectorState>;

    /// How many objects the store holds.
    fn store_len(&self) -> usize;

    /// See [`SharedIndexInformer::stop`].
    fn stop(&self);

    /// The informer as what it is, to be downcast to a `SharedIndexInformer<T>`.
    fn as_any(&self) -> &dyn Any;

    #[doc(hidden)]
    fn run_boxed(&self, cancel: CancellationToken) -> Boxed<'static, Result<(), AlreadyStarted>>;

    #[doc(hidden)]
    fn wait_for_sync_boxed(&self, deadline: Instant) -> Boxed<'_, Result<(), LateInformer>>;

    #[doc(hidden)]
    fn wait_for_stop_boxed(&self, deadline: Instant) -> Boxed<'_, Result<(), Vec<String>>>;

    #[doc(hidden)]
    fn stop_with_drain_any(&self);
}

mod sealed {
    pub trait Sealed {}
    impl<T: informers_cache_core::Object> Sealed for super::SharedIndexInformer<T> {}
}

impl<T: Object> AnyInformer for SharedIndexInformer<T> {
    fn name(&self) -> &str {
        SharedIndexInformer::name(self)
    }

    fn lifecycle(&self) -> Lifecycle {
        SharedIndexInformer::lifecycle(self)
    }

    fn has_synced(&self) -> bool {
        SharedIndexInformer::has_synced(self)
    }

    fn has_synced_with_handlers(&self) -> bool {
        SharedIndexInformer::has_synced_with_handlers(self)
    }

    fn reflector_state(&self) -> Option<ReflectorState> {
        SharedIndexInformer::reflector_state(self)
    }

    fn store_len(&self) -> usize {
        self.store().len()
    }

    fn stop(&self) {
        SharedIndexInformer::stop(self);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn run_boxed(&self, cancel: CancellationToken) -> Boxed<'static, Result<(), AlreadyStarted>> {
        Box::pin(self.run(cancel))
    }

    fn wait_for_sync_boxed(&self, deadline: Instant) -> Boxed<'_, Result<(), LateInformer>> {
        Box::pin(self.wait_for_sync_until(deadline))
    }

    fn wait_for_stop_boxed(&self, deadline: Instant) -> Boxed<'_, Result<(), Vec<String>>> {
        Box::pin(self.wait_for_stop(deadline))
    }

    fn stop_with_drain_any(&self) {
        self.stop_with_drain();
    }
}
