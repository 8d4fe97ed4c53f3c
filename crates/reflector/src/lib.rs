//! The list-and-watch state machine of a Kubernetes informer.

mod error;
mod status_error;

mod lister_watcher;

pub use error::{ContractError, Error, TransportKind};
pub use lister_watcher::{
    ListMeta, ListOptions, ListPart, ListStream, ListerWatcher, VersionMatch, WatchEvent,
    WatchOptions, WatchStart, WatchStream,
};
pub use status_error::{StatusCause, StatusError};
