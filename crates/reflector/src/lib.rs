//! The list-and-watch state machine of a Kubernetes informer.

mod error;
mod status_error;
mod watch_error;

mod lister_watcher;

mod backoff;
mod machine;
mod paging;
mod retry_with_deadline;

mod options;
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
pub use reflector::Reflector;
pub use state::{ReflectorCounters, ReflectorHandle, ReflectorPhase, ReflectorState, RelistCause};
pub use status_error::{StatusCause, StatusError};
pub use watch_error::{Operation, WatchError, WatchErrorHandler};
