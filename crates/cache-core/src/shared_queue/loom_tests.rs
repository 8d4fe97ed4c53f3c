//! Every interleaving of a producer, a consumer and a close.

use std::num::NonZeroUsize;
use std::sync::Arc as StdArc;

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::SharedQueue;
use crate::testing::obj;
use crate::{Change, DeltaFifo, ReflectorStore};

/// No wake-up is lost between a change and a pop that is about to wait.
#[test]
fn loom_pop_sees_every_change() {
    loom::model(|| {
        let queue = Arc::new(SharedQueue::new(DeltaFifo::new(None), None, None));
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                for text in ["a@1", "b@2"] {
                    let mut changes = vec![Change::Added(obj(text))];
                    queue.apply(&mut changes, &mut Vec::new()).unwrap();
                }
            })
        };
        let seen = StdArc::new(std::sync::atomic::AtomicUsize::new(0));
        for _ in 0..2 {
            let seen = StdArc::clone(&seen);
            block_on(queue.pop(NonZeroUsize::MIN, move |_| {
                seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }))
            .unwrap();
        }
        producer.join().unwrap();
        assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 2);
        assert!(queue.has_synced() && queue.is_empty());
    });
}

/// A close is never missed by a pop that is about to wait.
#[test]
fn loom_close_ends_a_waiting_pop() {
    loom::model(|| {
        let queue = Arc::new(SharedQueue::<crate::testing::Obj>::new(
            DeltaFifo::new(None),
            None,
            None,
        ));
        let closer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.close())
        };
        assert!(block_on(queue.pop(NonZeroUsize::MIN, drop)).is_err());
        closer.join().unwrap();
    });
}
