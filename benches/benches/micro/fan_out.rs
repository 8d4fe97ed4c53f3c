//! The fan-out: 20 handlers should cost less than twice one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::Bencher;
use divan::counter::ItemsCount;
use informers_processor::{
    HandlerFuncs, HandlerOptions, Notification, ProcessorOptions, SharedProcessor, ShutdownMode,
    SyncFlag,
};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::thing::{Thing, things};

const COUNT: usize = 10_000;
/// As the informer pops them.
const BATCH: usize = 1000;

#[divan::bench(args = [1, 20])]
fn notifications(bencher: Bencher<'_, '_>, handlers: usize) {
    let runtime = Runtime::new().expect("there is a runtime");
    let things = things(COUNT, 1);
    let (told, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let processor = SharedProcessor::<Thing>::new(ProcessorOptions::default());
    for _ in 0..handlers {
        let (told, all) = (Arc::clone(&told), Arc::clone(&all));
        let handler = HandlerFuncs::new().on_update(move |_, _| {
            if told.fetch_add(1, Ordering::AcqRel) + 1 == COUNT * handlers {
                all.notify_one();
            }
        });
        processor
            .add_listener(handler, HandlerOptions::new(), Vec::new(), SyncFlag::new())
            .expect("it is not stopped");
    }
    runtime.block_on(async { processor.start() });
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        runtime.block_on(async {
            told.store(0, Ordering::Release);
            for part in things.chunks(BATCH) {
                let batch: Vec<_> = part
                    .iter()
                    .map(|thing| {
                        let (old, new) = (Arc::clone(thing), Arc::clone(thing));
                        (Notification::Update { old, new }, false)
                    })
                    .collect();
                processor.distribute_all(&batch);
            }
            all.notified().await;
        });
    });
    runtime.block_on(processor.shutdown(ShutdownMode::Drop, None));
}
