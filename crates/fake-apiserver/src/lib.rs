#![doc = include_str!("../README.md")]
//!
//! # Architecture
//!
//! [`FakeApiServer`] owns the listener and the tasks of its connections. A request's faults are
//! looked up first ([`Faults`]); the answer is computed from one value, the store, under one
//! lock ([`Cluster`] does the same without HTTP). Objects are kept as their JSON bytes, so that
//! lists and watches copy bytes and encode nothing. A watch is a position in the event
//! history: it holds no buffer of its own and no writer waits for it.

mod admin;
mod body;
mod builder;
mod cluster;
mod connection;
mod discovery;
mod encode;
mod fault;
mod list;
mod object;
mod options;
mod patch;
mod protobuf;
mod request;
mod resource;
mod seed;
mod selector;
mod server;
mod service;
mod status;
mod store;
mod tls;
mod watch;

pub use builder::FakeApiServerBuilder;
pub use cluster::Cluster;
pub use fault::{ActiveFault, Fault, FaultId, Faults};
pub use request::{RequestRecord, Verb, WaitTimeout};
pub use resource::ResourceType;
pub use server::{ExpiredWatch, FakeApiServer};
pub use status::ApiError;
