#![doc = include_str!("../README.md")]

mod election;
mod leader_elector;

pub use election::{InvalidDurations, LeaderEvent, LeaseDurations};
pub use leader_elector::{
    LeaderElectionOptions, LeaderElector, LeaderMonitor, LostLeadership, NotRenewed,
};

/// The error of a request to the server.
#[doc(no_inline)]
pub use informers_reflector::Error;

/// Whether a write lost against another one.
pub(crate) fn is_conflict(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == 409 && status.reason != "AlreadyExists")
}
