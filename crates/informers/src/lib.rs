//! Kubernetes shared informers for Rust: one watch per resource feeds a delta queue, an
//! indexed in-memory store and any number of event handlers.
//!
//! This is the facade: it wires the crates of the workspace into
//! [`SharedIndexInformer`]s, keeps them in a [`SharedInformerFactory`], and re-exports what
//! programs need. Begin with the factory's example, or with `cargo run --example
//! quickstart`.
//!
//! # Which type for which purpose
//!
//! | `factory.informer::<T>()` with `T` = | held for each object | for |
//! |---|---|---|
//! | a `k8s-openapi` type | the decoded struct | small clusters, full access |
//! | [`Packed`] of a type | metadata, and compressed bytes decoded on demand | 10,000 objects and more |
//! | a struct of your own ([`wire_type!`]) | just its fields | agents, gateways |
//! | [`PartialObjectMetadata`] of a type | metadata, the server sends no more | labels, owners |
//! | [`DynamicObject`] ([`SharedInformerFactory::dynamic`]) | a JSON value | resources known at run time |
//!
//! # Features
//!
//! `ring` (default) or `aws-lc-rs` for TLS; the latter wins when both are on. `zstd`
//! (default) or `lz4` for packed objects; with neither they are kept as they came. The version
//! of `k8s-openapi`'s types is the program's choice: depend on `k8s-openapi` with the
//! feature for your cluster's version.

mod any_informer;
mod factory;
mod scope;

mod informer;
mod mutation_detector;
mod observed;
mod options;
mod sync_wait;
mod words;

mod controller;
mod handle_deltas;
#[cfg(test)]
mod testing;

pub mod prelude;

/// The queue between handlers and workers.
#[doc(no_inline)]
pub use informers_workqueue as workqueue;

pub use any_informer::AnyInformer;
pub use factory::{SharedInformerFactory, SharedInformerFactoryBuilder};
pub use informer::{AlreadyStarted, Lifecycle, SharedIndexInformer};
pub use mutation_detector::MutationDetector;
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
    ApiResource, Codec, Decode, DecodeError, DynamicDecoder, DynamicObject, FromWire, Identity,
    ObjectMetadata, Packed, PackedDecoder, PackedOptions, PackedStats, PartialObjectMetadata,
    Resource, StripManagedFields, Typed, wire_type,
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
pub use informers_rest::Identity as ClientIdentity;
pub use informers_rest::{
    Api, Client, Config, ConfigError, Connector, Credentials, DeleteOptions, Impersonation,
    Kubeconfig, ListWatch, Overrides, Patch, PemSource, Proxy, ProxyChoice, RateLimit, Request,
    Selection, Timeouts, TokenProvider, WarningHandler, WriteOptions,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
