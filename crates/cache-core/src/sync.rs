//! The locks of this crate: std's, or loom's under `--cfg informers_loom`.

#[cfg(informers_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(informers_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks, whatever happened to an earlier holder: every critical section of this
/// crate leaves its state whole, so a poisoned lock carries no information.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
