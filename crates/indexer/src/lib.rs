//! Indexed in-memory object store and listers of a Kubernetes informer.
//!
#![doc = include_str!("../README.md")]

mod lock;

mod error;
mod index_values;
mod indexers;

mod index;
mod slab;
mod slot_table;

mod contents;
mod snapshot;
mod store;
mod thread_safe_store;

mod label_selector;
mod lister;

pub use error::{DuplicateIndexer, IndexError, IndexQueryError, UnknownIndex};
pub use index_values::IndexValues;
pub use indexers::{Indexers, NAMESPACE_INDEX, namespace_index_func};
pub use label_selector::{
    LabelSelector, LabelSelector as Selector, Operator, ParseSelectorError, Requirement,
    RequirementError,
};
pub use lister::{Lister, NamespaceLister};
pub use snapshot::Snapshot;
pub use store::Store;
pub use thread_safe_store::{ReplaceOutcome, StoreChange, ThreadSafeStore};

#[cfg(test)]
mod testing;

/// Whether so little of a table is in use that making a new one is worth it. Each time
/// at least three times as many removals went before, so the cost is spread.
fn is_sparse(used: usize, capacity: usize) -> bool {
    capacity > 1024 && used < capacity / 4
}

/// Bytes of a text behind an [`Arc`](std::sync::Arc), with its two counts.
fn shared_text_bytes(text: &str) -> usize {
    2 * size_of::<usize>() + text.len()
}
