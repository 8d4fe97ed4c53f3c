//! Kubernetes shared informers for Rust: one watch per resource feeds a delta queue, an
//! indexed in-memory store and any number of event handlers.

mod any_informer;
mod factory;
mod scope;

mod informer;
mod observed;
mod options;
mod sync_wait;
mod words;

mod controller;
mod handle_deltas;
#[cfg(test)]
mod testing;

pub mod prelude;

pub use any_informer::AnyInformer;
pub use factory::{SharedInformerFactory, SharedInformerFactoryBuilder};
pub use informer::{AlreadyStarted, Lifecycle, SharedIndexInformer};
pub use observed::NotObserved;
pub use options::{InformerOptions, QueueKind};
pub use scope::Scope;
pub use sync_wait::{LateInformer, NotSynced, ShutdownTimedOut};

pub use informers_cache_core::{
    DeleteReason, Deleted, Object, ObjectName, ResourceVersion, Transform, Undecodable,
};
pub use informers_indexer::{
    DuplicateIndexer, IndexValues, Indexers, Lister, NamespaceLister, Selector, Snapshot, Store,
    UnknownIndex,
};
pub use informers_objects::{
    ApiResource, Decode, DecodeError, DynamicObject, FromWire, PartialObjectMetadata, Resource,
    wire_type,
};
pub use informers_processor::{
    AsyncHandler, Buffer, EventHandler, FilteringHandler, HandlerExecutor, HandlerFuncs,
    HandlerOptions, HandlerRegistration, HandlerStats, InlineExecutor, Notification,
    ProcessorStopped, Subscription,
};
pub use informers_reflector::{
    BackoffOptions, Initial, ListerWatcher, ReflectorOptions, ReflectorPhase, ReflectorState,
    WatchError, WatchErrorHandler,
};
pub use informers_rest::{
    Client, Config, ConfigError, Credentials, Kubeconfig, ListWatch, Overrides, TokenProvider,
};
