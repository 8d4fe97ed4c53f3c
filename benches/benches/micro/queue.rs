//! The delta queues: add and pop. The aim is two million a second for `DeltaFifo`.

use std::num::NonZeroUsize;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use informers_cache_core::{DeltaFifo, InOrderFifo, Queue};

use crate::thing::{Thing, things};

const COUNT: usize = 10_000;
/// As the informer does it.
const BATCH: NonZeroUsize = NonZeroUsize::new(1000).expect("it is not zero");

fn add_and_pop(bencher: Bencher<'_, '_>, queue: &mut dyn Queue<Thing>) {
    let things = things(COUNT, 1);
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        for part in things.chunks(BATCH.get()) {
            for thing in part {
                queue.update(std::sync::Arc::clone(thing));
            }
            while let Some(popped) = queue.pop(BATCH) {
                black_box(popped);
                queue.done();
            }
        }
    });
}

#[divan::bench]
fn delta_fifo_add_and_pop(bencher: Bencher<'_, '_>) {
    add_and_pop(bencher, &mut DeltaFifo::new(None));
}

#[divan::bench]
fn in_order_fifo_add_and_pop(bencher: Bencher<'_, '_>) {
    add_and_pop(bencher, &mut InOrderFifo::new());
}
