//! The locks and atomics of the loom-tested parts: std's, or loom's under
//! `--cfg informers_loom`.

#[cfg(informers_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
#[cfg(not(informers_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Locks, whatever happened to an earlier holder: no user code runs under a lock of
/// this crate, so a poisoned lock carries no information.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
