#![doc = include_str!("../README.md")]

mod controller;
mod election;
mod finalizer;
mod leader_elector;
mod retry;
mod wait;

pub use controller::{
    Action, BoxError, Controller, ControllerBuilder, ControllerError, ControllerMetrics,
    ControllerMonitor,
};
pub use election::{InvalidDurations, LeaderEvent, LeaseDurations};
pub use finalizer::{add_finalizer, has_finalizer, is_being_deleted, remove_finalizer};
pub use leader_elector::{
    LeaderElectionOptions, LeaderElector, LeaderMonitor, LostLeadership, NotRenewed,
};

pub use retry::{ConflictBackoff, retry_on_conflict};
pub use wait::{WaitError, wait_for};

/// The error of a request to the server.
#[doc(no_inline)]
pub use informers_reflector::Error;

/// Whether a write lost against another one.
pub(crate) fn is_conflict(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == 409 && status.reason != "AlreadyExists")
}
