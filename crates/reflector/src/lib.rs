//! The list-and-watch state machine of a Kubernetes informer.
//!
//! A [`Reflector`] lists a resource and watches it for ever, through a
//! [`ListerWatcher`] (which sends the requests) and into a
//! [`ReflectorStore`](informers_cache_core::ReflectorStore) (which keeps the objects).
//! It knows neither HTTP nor handlers. Most users meet it inside an informer of the
//! [`informers`] crate; use it alone to feed a store of your own.
//!
//! What it promises:
//! - a list reaches the store whole or not at all, and the events of a watch in order;
//! - a watch that ends goes on from its last event; only an answer that says so (or
//!   cannot be read) makes it list again;
//! - every way to a new request passes a backoff or a proof of progress: no answer of a
//!   server makes a hot loop;
//! - every wait has an end, and ends at once when the reflector is to stop;
//! - every failed request and ERROR event reaches the error handler, and what it is
//!   doing can be read at any time ([`ReflectorHandle`]).
//!
//! Which request comes next is decided by a plain value without IO or clock (module
//! `machine`); the reflector is its driver.
//!
//! # Differences from client-go
//! - Watches that end early, connections that end, refused connections and 429 never
//!   relist. An early end backs off from the second on.
//! - The backoff stays at its cap through an outage, instead of starting anew every 2
//!   minutes. A `Retry-After` is honoured everywhere.
//! - A relist in pages asks for the newest state: a limit beside a version would ask
//!   for exactly that version.
//! - A list that answers with the very version a watch was refused as expired is asked
//!   for again without a version.
//! - An event without name or version ends the watch instead of being skipped.
//! - A list without a version is polled, and never watched from nowhere.
//! - A WatchList keeps the server's order, has deadlines, retries an early close three
//!   times with backoff, and its refusal is remembered for ten minutes.
//! - Mid-stream ERROR events and 410 reach the error handler.
//!
//! [`informers`]: https://docs.rs/informers

mod error;
mod status_error;
mod watch_error;

mod lister_watcher;

mod backoff;
mod machine;
mod paging;
mod retry_with_deadline;

mod options;
mod pager;
mod reflector;
mod reporter;
mod state;
mod waiter;

#[cfg(test)]
mod testing;

pub use backoff::{Backoff, BackoffOptions};
pub use error::{ContractError, Error, TransportKind};
pub use lister_watcher::{
    ListMeta, ListOptions, ListPart, ListStream, ListerWatcher, VersionMatch, WatchEvent,
    WatchOptions, WatchStart, WatchStream,
};
pub use options::{Initial, ReflectorOptions, ResyncHook};
pub use pager::Pager;
pub use reflector::Reflector;
pub use state::{ReflectorCounters, ReflectorHandle, ReflectorPhase, ReflectorState, RelistCause};
pub use status_error::{StatusCause, StatusError};
pub use watch_error::{Operation, WatchError, WatchErrorHandler};
