//! The work queue: add, get and done.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use informers_workqueue::WorkQueue;

const COUNT: usize = 10_000;

#[divan::bench]
fn add_get_done(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("there is a runtime");
    let _context = runtime.enter();
    let queue = WorkQueue::<usize>::new("bench");
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        for item in 0..COUNT {
            queue.add(item);
        }
        while let Some(item) = queue.try_get() {
            black_box(*item);
        }
    });
}
