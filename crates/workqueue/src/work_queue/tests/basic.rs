//! Deduplication and the rules of dirty and processing, after upstream's queue tests.

use super::*;
use crate::order::{FifoQueue, Queue, Rank};
use crate::priority_queue::PriorityQueue;

/// How a scenario ends its queue.
#[derive(Clone, Copy, Debug)]
enum End {
    ShutDown,
    Drain,
}

impl End {
    async fn apply<T: Clone + Eq + Hash + Send + 'static>(self, queue: &WorkQueue<T>) {
        match self {
            Self::ShutDown => queue.shut_down(),
            Self::Drain => queue.shut_down_with_drain().await,
        }
    }
}

/// The items that workers hold, to prove that none is held twice.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<HashSet<u32>>>);

impl Held {
    fn take(&self, item: u32) {
        let new = self.0.lock().expect("no worker panics").insert(item);
        assert!(new, "{item} is with two workers");
    }

    fn release(&self, item: u32) {
        self.0.lock().expect("no worker panics").remove(&item);
    }
}

async fn join(mut tasks: JoinSet<()>) {
    while let Some(task) = tasks.join_next().await {
        task.expect("no task panics");
    }
}

// Scenario: TestBasic; Q3
#[tokio::test(start_paused = true)]
async fn many_producers_and_consumers_lose_nothing_and_share_nothing() {
    const ADDED_LATE: u32 = 1_000;
    for end in [End::ShutDown, End::Drain] {
        let queue = WorkQueue::new("basic");
        let held = Held::default();
        let mut producers = JoinSet::new();
        for item in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for _ in 0..50 {
                    queue.add(item);
                    sleep(ms(1)).await;
                }
            });
        }
        let seen = Arc::new(Mutex::new(HashSet::new()));
        let mut consumers = JoinSet::new();
        for _ in 0..10 {
            let (queue, held, seen) = (queue.clone(), held.clone(), Arc::clone(&seen));
            consumers.spawn(async move {
                while let Some(item) = queue.get().await {
                    assert_ne!(*item, ADDED_LATE);
                    held.take(*item);
                    sleep(ms(3)).await;
                    held.release(*item);
                    seen.lock().expect("no worker panics").insert(*item);
                }
            });
        }
        join(producers).await;
        end.apply(&queue).await;
        queue.add(ADDED_LATE);
        join(consumers).await;
        assert_eq!(queue.len(), 0, "{end:?}");
        assert_eq!(seen.lock().expect("no worker panics").len(), 50, "{end:?}");
    }
}

// Scenario: TestAddWhileProcessing
#[tokio::test(start_paused = true)]
async fn items_added_again_by_their_workers_are_all_drained() {
    for end in [End::ShutDown, End::Drain] {
        let queue = WorkQueue::new("again");
        let mut consumers = JoinSet::new();
        for _ in 0..10 {
            let queue = queue.clone();
            consumers.spawn(async move {
                let mut mine = HashSet::new();
                while let Some(item) = queue.get().await {
                    if mine.insert(*item) {
                        queue.add(*item);
                    }
                    yield_now().await;
                }
            });
        }
        for item in 0..50 {
            queue.add(item);
        }
        end.apply(&queue).await;
        join(consumers).await;
        assert_eq!(queue.len(), 0, "{end:?}");
        assert_eq!(queue.metrics().in_flight, 0, "{end:?}");
    }
}

// Several threads, so that a wake-up that gets lost between looking and sleeping shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_racing_for_items_miss_no_wake_up() {
    const ITEMS: u32 = 20_000;
    let queue = WorkQueue::new("race");
    let held = Held::default();
    let mut consumers = JoinSet::new();
    for _ in 0..8 {
        let (queue, held) = (queue.clone(), held.clone());
        consumers.spawn(async move {
            while let Some(item) = queue.get().await {
                held.take(*item);
                if item.is_multiple_of(7) {
                    yield_now().await;
                }
                held.release(*item);
            }
        });
    }
    let mut producers = JoinSet::new();
    for producer in 0..4 {
        let queue = queue.clone();
        producers.spawn(async move {
            for i in 0..ITEMS / 4 {
                queue.add(producer * ITEMS + i);
                if i % 100 == 0 {
                    yield_now().await;
                }
            }
        });
    }
    join(producers).await;
    queue.shut_down_with_drain().await;
    join(consumers).await;
    assert_eq!(queue.metrics().work_duration.count, u64::from(ITEMS));
}

// As many additions as waiting workers at the same moment: each must be woken.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_that_begin_to_wait_while_items_are_added_all_get_one() {
    const WORKERS: u32 = 4;
    for round in 0..2_000 {
        let queue = WorkQueue::<u32>::new("rounds");
        let mut tasks = JoinSet::new();
        for item in 0..WORKERS {
            let getter = queue.clone();
            tasks.spawn(async move {
                let item = getter.get().await.expect("the queue is not shut down");
                item.detach();
            });
            let queue = queue.clone();
            tasks.spawn(async move { queue.add(item) });
        }
        timeout(ms(10_000), join(tasks))
            .await
            .unwrap_or_else(|_| panic!("a worker sleeps beside an item in round {round}"));
    }
}

// Scenario: TestLen; Q7
#[test]
fn len_counts_each_waiting_item_once_and_none_in_flight() {
    let queue = WorkQueue::new("len");
    assert!(queue.is_empty());
    queue.add("foo");
    assert_eq!(queue.len(), 1);
    queue.add("bar");
    queue.add("foo");
    assert_eq!(queue.len(), 2);
    let item = queue.try_get().expect("two are in line");
    queue.add(*item);
    assert_eq!(queue.len(), 1);
    drop(item);
    assert_eq!(queue.len(), 2);
}

// Scenario: TestReinsert; Q2
#[tokio::test(start_paused = true)]
async fn item_added_while_processing_comes_back_once() {
    let queue = WorkQueue::new("reinsert");
    queue.add("foo");
    let item = queue.get().await.expect("foo is in line");
    queue.add(*item);
    assert!(queue.try_get().is_none());
    item.done();
    assert_eq!(take(&queue), Some("foo"));
    assert_eq!(queue.len(), 0);
}

/// An order that notes what was touched.
struct Trace {
    line: FifoQueue<&'static str>,
    touched: Arc<Mutex<Vec<&'static str>>>,
}

impl Queue<&'static str> for Trace {
    fn push(&mut self, item: &'static str, rank: Rank) {
        self.line.push(item, rank);
    }

    fn touch(&mut self, item: &&'static str, from: Rank, to: Rank) {
        assert_eq!(from.sequence, to.sequence);
        self.touched.lock().expect("no test panics").push(item);
    }

    fn pop(&mut self) -> Option<&'static str> {
        self.line.pop()
    }

    fn len(&self) -> usize {
        self.line.len()
    }
}

fn traced() -> (WorkQueue<&'static str>, Arc<Mutex<Vec<&'static str>>>) {
    let touched = Arc::default();
    let queue = WorkQueue::builder("traced")
        .queue(Trace {
            line: FifoQueue::new(),
            touched: Arc::clone(&touched),
        })
        .build();
    (queue, touched)
}

// Scenario: TestCollapse; Q1
#[test]
fn item_added_twice_collapses_and_is_touched() {
    let (queue, touched) = traced();
    queue.add("bar");
    queue.add("bar");
    assert_eq!(take(&queue), Some("bar"));
    assert_eq!(queue.len(), 0);
    assert_eq!(*touched.lock().expect("no test panics"), ["bar"]);
}

// Scenario: TestCollapseWhileProcessing; B92
#[tokio::test(start_paused = true)]
async fn item_added_twice_while_processing_runs_once_more_after_done() {
    let (queue, touched) = traced();
    queue.add("foo");
    let first = queue.get().await.expect("foo is in line");
    queue.add("foo");
    queue.add("foo");
    let mut second = pin!(queue.get());
    assert!(poll_once(second.as_mut()).is_pending());
    drop(first);
    assert_eq!(second.await.as_deref(), Some(&"foo"));
    assert_eq!(queue.len(), 0);
    assert!(touched.lock().expect("no test panics").is_empty());
}

// B92
#[test]
fn done_called_too_often_changes_nothing() {
    let queue = WorkQueue::new("misuse");
    queue.add("a");
    for _ in 0..3 {
        queue.done(&"a");
    }
    assert_eq!(queue.len(), 1);
    assert_eq!(take(&queue), Some("a"));
    assert_eq!(take(&queue), None);
}

// B92
#[test]
fn guard_dropped_after_done_does_not_end_the_next_hand_out() {
    let queue = WorkQueue::new("misuse");
    queue.add("a");
    let stale = queue.try_get().expect("a is in line");
    queue.done(&stale);
    queue.add("a");
    let current = queue.try_get().expect("a is in line again");
    queue.add("a");
    drop(stale);
    assert!(queue.try_get().is_none(), "a is with a worker");
    drop(current);
    assert_eq!(take(&queue), Some("a"));
}

#[test]
fn detached_item_stays_with_its_worker_until_done() {
    let queue = WorkQueue::new("detach");
    queue.add("a");
    let item = queue.try_get().expect("a is in line").detach();
    queue.add("a");
    assert!(queue.try_get().is_none());
    queue.done(&item);
    assert_eq!(take(&queue), Some("a"));
}

#[test]
fn worker_that_panics_lets_go_of_its_item() {
    let queue = WorkQueue::new("panic");
    queue.add("a");
    let worker = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _item = queue.try_get().expect("a is in line");
        queue.add("a");
        panic!("the worker fails");
    }));
    assert!(worker.is_err());
    assert_eq!(take(&queue), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn priority_of_a_delayed_item_and_of_a_raised_one_are_kept() {
    let queue = WorkQueue::builder("priority")
        .queue(PriorityQueue::new())
        .build();
    queue.add("plain");
    queue.add_with("resync", AddOptions::new().priority(-100));
    queue.add_with("late", AddOptions::new().priority(5).after(ms(10)));
    queue.add_with("retry", AddOptions::new().priority(4).rate_limited());
    queue.add("raised");
    queue.add_with("raised", AddOptions::new().priority(1));
    advance(ms(20)).await;
    let order: Vec<_> = std::iter::from_fn(|| {
        let item = queue.try_get()?;
        Some((*item, item.priority()))
    })
    .collect();
    assert_eq!(
        order,
        [
            ("late", 5),
            ("retry", 4),
            ("raised", 1),
            ("plain", 0),
            ("resync", -100)
        ]
    );
}

// Scenario: TestGarbageCollection
#[test]
fn item_that_is_done_is_not_kept_alive() {
    let queue = WorkQueue::new("garbage");
    let item = Arc::new("hello".to_owned());
    let watched = Arc::downgrade(&item);
    queue.add(item);
    assert!(take(&queue).is_some());
    assert_eq!(watched.strong_count(), 0);
}

// B94
#[test]
fn burst_that_is_done_leaves_no_item_behind() {
    let queue = WorkQueue::new("burst");
    let witness = Arc::new(());
    for i in 0..100_000 {
        queue.add((i, Key(Arc::clone(&witness))));
    }
    assert!(Arc::strong_count(&witness) > 100_000);
    while take(&queue).is_some() {}
    assert_eq!(Arc::strong_count(&witness), 1);
}

/// A key whose copies can be counted.
#[derive(Clone)]
struct Key(#[expect(dead_code, reason = "kept for its reference count")] Arc<()>);

impl PartialEq for Key {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, _state: &mut H) {}
}

// A worker that always finds an item must not starve the other tasks of its thread.
#[tokio::test(start_paused = true)]
async fn worker_with_endless_work_gives_way() {
    const ENDLESS: u64 = 50_000;
    let queue = WorkQueue::new("endless");
    queue.add(0_u64);
    let mut workers = JoinSet::new();
    let busy = queue.clone();
    workers.spawn(async move {
        while let Some(item) = busy.get().await {
            if *item < ENDLESS {
                busy.add(*item + 1);
            }
        }
    });
    yield_now().await;
    let done = queue.metrics().work_duration.count;
    assert!(done > 0 && done < ENDLESS, "{done} items in a row");
    workers.shutdown().await;
}
