//! How long a reader waits while 100,000 objects are relisted, in both ways a queue
//! does that: as one list (`replace_all`), and as batches of 1,000 changes (`apply`).
//!
//! ```text
//! cargo run --release -p informers-indexer --example relist_latency
//! ```
//!
//! One thread calls `get` for one name after the other. Each row has percentiles of the
//! time a call took, and how many calls took longer than a millisecond. In the last two
//! rows another thread lists everything and a namespace all the while. The first row is
//! for comparison: nobody writes the store, but the writer's thread is as busy. With
//! fewer free cores than threads, the longest calls are the scheduler's.

#![expect(clippy::print_stdout, reason = "an example speaks to its user")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures real time, and there is no runtime whose clock could be paused"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use informers_cache_core::ObjectName;
use informers_indexer::{Indexers, Store, StoreChange, ThreadSafeStore};
use k8s_openapi::api::core::v1::{Pod, PodSpec};

const OBJECTS: usize = 100_000;
const BATCH: usize = 1_000;
const RELISTS: usize = 5;

type Named = Vec<(ObjectName, Arc<Pod>)>;

fn pods(revision: usize) -> Named {
    (0..OBJECTS)
        .map(|i| {
            let mut pod = Pod::default();
            pod.metadata.name = Some(format!("pod-{i}"));
            pod.metadata.namespace = Some(format!("namespace-{}", i % 100));
            pod.metadata.resource_version = Some(revision.to_string());
            pod.spec = Some(PodSpec {
                node_name: Some(format!("node-{}", (i + revision) % 1_000)),
                ..PodSpec::default()
            });
            (ObjectName::of(&pod), Arc::new(pod))
        })
        .collect()
}

/// Runs `write` while one thread measures `get`, and another lists if `listing`.
fn measure(what: &str, store: &ThreadSafeStore<Pod>, listing: bool, write: impl FnOnce()) {
    let names = store.list_keys();
    let done = AtomicBool::new(false);
    let (mut waits, wall) = thread::scope(|scope| {
        let reader = scope.spawn(|| waits(&store.reader(), &names, &done));
        if listing {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let listed = store.list().len() + store.namespace("namespace-1").len();
                    assert!(listed > 0);
                }
            });
        }
        let start = Instant::now();
        write();
        let wall = start.elapsed();
        done.store(true, Ordering::Relaxed);
        (reader.join().expect("the reader does not panic"), wall)
    });
    waits.sort_unstable();
    let percentile = |percent: usize| waits[(waits.len() - 1) * percent / 100];
    let long = waits.len() - waits.partition_point(|wait| *wait < Duration::from_millis(1));
    println!(
        "{what:<34} {:>9} gets  p50 {:>7.1?}  p99 {:>7.1?}  max {:>7.1?}  over 1 ms {long:>4}  \
         wall {wall:>7.1?}",
        waits.len(),
        percentile(50),
        percentile(99),
        percentile(100),
    );
}

fn waits(store: &Store<Pod>, names: &[ObjectName], done: &AtomicBool) -> Vec<Duration> {
    let mut waits = Vec::with_capacity(1 << 20);
    // A stride that visits all names, in an order no cache foresees.
    for i in (0_usize..).step_by(7_919) {
        let name = &names[i % names.len()];
        let start = Instant::now();
        let found = store.get(name);
        waits.push(start.elapsed());
        assert!(found.is_some());
        if done.load(Ordering::Relaxed) || waits.len() == 50_000_000 {
            break;
        }
    }
    waits
}

fn main() {
    let store = ThreadSafeStore::new(Indexers::new().with("byNode", |pod: &Pod| {
        pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
    }));
    store.replace_all(pods(0), Vec::new(), None);
    let lists: Vec<Named> = (1..=RELISTS).map(pods).collect();
    let replace_all = || {
        for list in &lists {
            store.replace_all(list.clone(), Vec::new(), None);
        }
    };
    let apply = || {
        for batch in lists.iter().flat_map(|list| list.chunks(BATCH)) {
            let changes = batch
                .iter()
                .map(|(name, pod)| (name.clone(), StoreChange::Put(Arc::clone(pod))));
            store.apply(changes.collect(), None);
        }
    };
    println!("{OBJECTS} objects, {RELISTS} relists each");
    let beside = || drop((0..RELISTS).map(pods).collect::<Vec<_>>());
    measure("store at rest, writer busy", &store, false, beside);
    measure("replace_all", &store, false, replace_all);
    measure("apply in batches", &store, false, apply);
    measure(
        "replace_all, another reader lists",
        &store,
        true,
        replace_all,
    );
    measure("apply, another reader lists", &store, true, apply);
}
