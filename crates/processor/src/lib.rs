//! Fan-out of informer notifications to event handlers.
//!
//! A [`SharedProcessor`] hands each [`Notification`] to every handler that was added to
//! it: to an [`EventHandler`] (or [`HandlerFuncs`] made of closures), whose callbacks may
//! block, to an [`AsyncHandler`], or to a [`Subscription`], which is a stream. Each has a
//! line of its own, so that a slow one is nobody else's problem; each tells by its
//! [`HandlerRegistration`] whether it has seen its whole initial list.
//!
//! This crate does not know where objects come from. It needs a tokio runtime with time
//! enabled. Most users want the [`informers`] facade.
//!
//! [`informers`]: https://docs.rs/informers

mod sync;

mod sync_flag;
mod sync_tracker;
mod wakers;

mod async_handler;
mod event_handler;
mod filtering_handler;
mod handler_funcs;
mod notification;

mod options;
mod stats;

mod listener_core;
mod mailbox;
mod pending;

mod callback;
mod executor;
mod processor_listener;
mod registration;
mod subscription;

mod resync_schedule;
mod shared_processor;

#[cfg(test)]
mod loom_tests;
#[cfg(test)]
mod test_objects;

pub use async_handler::AsyncHandler;
pub use event_handler::EventHandler;
pub use executor::{BlockingExecutor, HandlerExecutor, InlineExecutor, Job};
pub use filtering_handler::FilteringHandler;
pub use handler_funcs::HandlerFuncs;
pub use notification::Notification;
pub use options::{Buffer, HandlerOptions};
pub use registration::{CalledFromOwnHandler, HandlerGone, HandlerRegistration};
pub use resync_schedule::{MINIMUM_RESYNC_PERIOD, ResyncGrant, ResyncSchedule};
pub use shared_processor::{ProcessorOptions, ProcessorStopped, SharedProcessor, ShutdownMode};
pub use stats::HandlerStats;
pub use subscription::Subscription;
pub use sync_flag::{SyncFlag, SyncFlagWait};
