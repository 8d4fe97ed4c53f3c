//! What most programs need: `use informers::prelude::*`.

pub use crate::{
    Client, Config, Deleted, EventHandler, HandlerFuncs, HandlerOptions, HandlerRegistration,
    Indexers, InformerOptions, Lister, Notification, Object, ObjectName, Resource, Scope,
    SharedIndexInformer, SharedInformerFactory, Store,
};
