//! The indexed store: reads, one batch of changes, a relist.

use std::sync::Arc;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use informers_cache_core::ObjectName;
use informers_indexer::{Indexers, StoreChange, ThreadSafeStore};

use crate::thing::{Thing, named};

const COUNT: usize = 50_000;
const BATCH: usize = 1000;

fn store() -> (ThreadSafeStore<Thing>, Vec<ObjectName>) {
    let store = ThreadSafeStore::new(Indexers::new());
    let objects = named(COUNT, 1);
    let names = objects.iter().map(|(name, _)| name.clone()).collect();
    store.replace_all(objects, Vec::new(), None);
    (store, names)
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let (store, names) = store();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        // A stride that no cache foresees.
        for index in 0..BATCH {
            black_box(store.get(&names[index * 7919 % COUNT]));
        }
    });
}

#[divan::bench]
fn by_index(bencher: Bencher<'_, '_>) {
    let (store, _) = store();
    bencher
        .counter(ItemsCount::new(COUNT / 200))
        .bench_local(|| black_box(store.namespace("team-007")));
}

#[divan::bench]
fn apply_updates(bencher: Bencher<'_, '_>) {
    let (store, _) = store();
    let updates = named(COUNT, 2);
    let mut at = 0;
    bencher
        .counter(ItemsCount::new(BATCH))
        .with_inputs(|| {
            let part = &updates[at..at + BATCH];
            at = (at + BATCH) % COUNT;
            part.iter()
                .map(|(name, thing)| (name.clone(), StoreChange::Put(Arc::clone(thing))))
                .collect::<Vec<_>>()
        })
        .bench_local_values(|changes| black_box(store.apply(changes, None)));
}

#[divan::bench(sample_count = 20)]
fn relist(bencher: Bencher<'_, '_>) {
    let (store, _) = store();
    let list = named(COUNT, 2);
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| list.clone())
        .bench_local_values(|list| black_box(store.replace_all(list, Vec::new(), None)));
}
