//! What a store of a million objects takes besides the objects and the text of their
//! names, by its own account.
//!
//! ```text
//! cargo run --release -p informers-indexer --example store_memory
//! ```
//!
//! Nodes, namespaces and objects are those of a large cluster: 5,000 nodes, 1,000
//! namespaces; `byUid` has a value of its own for each object.

#![expect(clippy::print_stdout, reason = "an example speaks to its user")]

use std::sync::Arc;

use informers_cache_core::{Object, ObjectName};
use informers_indexer::{Indexers, StoreChange, ThreadSafeStore};

const OBJECTS: usize = 1_000_000;

struct Light {
    number: usize,
}

/// Only what the index functions need: the store asks for the name nowhere else.
impl Object for Light {
    fn name(&self) -> &'static str {
        ""
    }

    fn namespace(&self) -> Option<&str> {
        None
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn resource_version(&self) -> Option<&str> {
        None
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }

    fn approximate_size(&self) -> usize {
        0
    }
}

fn measure(what: &str, objects: &[(ObjectName, Arc<Light>)], indexers: &Indexers<Light>) {
    let names: usize = objects
        .iter()
        .map(|(name, _)| 16 + name.as_str().len())
        .sum();
    for listed in [true, false] {
        let store = ThreadSafeStore::new(indexers.clone());
        if listed {
            store.replace_all(objects.to_vec(), Vec::new(), None);
        } else {
            for batch in objects.chunks(1_000) {
                let changes = batch.iter();
                let changes =
                    changes.map(|(name, obj)| (name.clone(), StoreChange::Put(Arc::clone(obj))));
                store.apply(changes.collect(), None);
            }
        }
        let per_object = (store.memory() - names) as f64 / OBJECTS as f64;
        let how = if listed { "one list" } else { "batches" };
        println!("{what:<30} {how:<9} {per_object:>6.1} bytes an object");
    }
}

fn main() {
    let objects: Vec<_> = (0..OBJECTS)
        .map(|number| {
            let namespace = format!("namespace-{}", number % 1_000);
            let name = ObjectName::new(Some(&namespace), &format!("pod-{number}"));
            (name, Arc::new(Light { number }))
        })
        .collect();
    measure("namespaces", &objects, &Indexers::new());
    let by_node = Indexers::new().with("byNode", |obj: &Light| {
        format!("node-{}", obj.number % 5_000)
    });
    measure("namespaces, nodes", &objects, &by_node);
    let by_uid = by_node.with("byUid", |obj: &Light| format!("{:036}", obj.number));
    measure("namespaces, nodes, UIDs", &objects, &by_uid);
}
