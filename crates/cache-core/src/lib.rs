//! Delta queues, and the traits between the stages of a Kubernetes informer.
//!
//! This is the bottom of the [`informers`] stack: what an object is to it
//! ([`Object`], [`ObjectName`], [`ResourceVersion`]), what happens to objects
//! ([`Delta`]), the queues that keep changes in order ([`DeltaFifo`],
//! [`InOrderFifo`]), and the traits by which the stages meet ([`Queue`],
//! [`KnownObjects`], [`ReflectorStore`]). It knows no runtime, HTTP, JSON or clock.
//!
//! Use it alone to build another reflector or another store; else use [`informers`].
//!
//! [`informers`]: https://docs.rs/informers

mod sync;
#[cfg(test)]
mod testing;

mod object;
mod object_name;
mod resource_version;

mod delta;
mod transform;
mod undecodable;

mod known_objects;
mod reflector_store;
mod replacement;

mod delta_fifo;
mod in_order_fifo;
mod population;
mod queue;
mod shared_queue;

pub use delta::{DeleteReason, Deleted, Delta, Deltas};
pub use delta_fifo::DeltaFifo;
pub use in_order_fifo::InOrderFifo;
pub use known_objects::KnownObjects;
pub use object::{Object, different_identity, same_version};
pub use object_name::{ObjectName, ParseObjectNameError};
pub use queue::{Popped, Queue, ReplacedAll, Work};
pub use reflector_store::{Change, ReflectorStore, StoreError};
pub use replacement::{ListItem, Replacement};
pub use resource_version::{IncomparableVersions, ResourceVersion};
pub use shared_queue::{QueueClosed, SharedQueue};
pub use transform::Transform;
pub use undecodable::Undecodable;
