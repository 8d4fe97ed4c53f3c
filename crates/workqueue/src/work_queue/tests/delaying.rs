//! Delays and rate limits, after upstream's delaying and rate limiting queue tests.

use super::*;
use crate::rate_limiter::{BucketRateLimiter, ItemExponentialFailureRateLimiter};

/// The items in the order in which a worker gets them, with the time of each.
async fn arrivals(queue: &WorkQueue<&'static str>, count: usize) -> Vec<(&'static str, Duration)> {
    let start = Instant::now();
    let mut arrivals = Vec::new();
    while arrivals.len() < count {
        let item = queue.get().await.expect("the queue is not shut down");
        arrivals.push((*item, start.elapsed()));
    }
    arrivals
}

// Scenario: TestSimpleQueue
#[tokio::test(start_paused = true)]
async fn delayed_item_is_added_once_when_its_time_has_come() {
    let queue = WorkQueue::new("simple");
    queue.add_after("foo", ms(50));
    assert_eq!(queue.len(), 0);
    advance(ms(49)).await;
    assert_eq!(queue.len(), 0);
    advance(ms(11)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(take(&queue), Some("foo"));
    advance(ms(10_000)).await;
    assert_eq!(queue.len(), 0);
}

// Scenario: TestDeduping; Q8, B93
#[tokio::test(start_paused = true)]
async fn delayed_item_added_again_keeps_the_earlier_time() {
    let queue = WorkQueue::new("dedup");
    queue.add_after("foo", ms(50));
    queue.add_after("foo", ms(70));
    advance(ms(60)).await;
    assert_eq!(take(&queue), Some("foo"));
    advance(ms(20)).await;
    assert_eq!(queue.len(), 0);

    queue.add_after("foo", ms(50));
    queue.add_after("foo", ms(30));
    assert_eq!(queue.len(), 0);
    advance(ms(40)).await;
    assert_eq!(take(&queue), Some("foo"));
    advance(ms(20)).await;
    assert_eq!(queue.len(), 0);
}

// Scenario: TestAddTwoFireEarly
#[tokio::test(start_paused = true)]
async fn delayed_items_come_by_time_not_by_order_of_adding() {
    let queue = WorkQueue::new("early");
    queue.add_after("first", ms(1_000));
    queue.add_after("second", ms(50));
    assert_eq!(arrivals(&queue, 1).await, [("second", ms(50))]);
    queue.add_after("third", ms(2_000));
    assert_eq!(
        arrivals(&queue, 2).await,
        [("first", ms(950)), ("third", ms(2_000))]
    );
}

// Scenario: TestCopyShifting
#[tokio::test(start_paused = true)]
async fn delayed_items_due_together_come_in_order_of_their_times() {
    let queue = WorkQueue::new("shifting");
    queue.add_after("first", ms(1_000));
    queue.add_after("second", ms(500));
    queue.add_after("third", ms(250));
    advance(ms(2_000)).await;
    assert_eq!(queue.len(), 3);
    let order: Vec<_> = std::iter::from_fn(|| take(&queue)).collect();
    assert_eq!(order, ["third", "second", "first"]);
}

#[tokio::test(start_paused = true)]
async fn delay_of_zero_is_at_once() {
    let queue = WorkQueue::new("zero");
    queue.add_after("foo", Duration::ZERO);
    assert_eq!(take(&queue), Some("foo"));
}

#[tokio::test(start_paused = true)]
async fn waiting_worker_wakes_exactly_at_a_deadline_set_earlier_meanwhile() {
    let queue = WorkQueue::new("rearm");
    let mut workers = JoinSet::new();
    let worker = queue.clone();
    workers.spawn(async move { arrivals(&worker, 3).await });
    yield_now().await;
    // The worker waits without any deadline, then with a far one, then with a near one.
    queue.add_after("far", ms(60_000));
    yield_now().await;
    queue.add_after("near", ms(20));
    yield_now().await;
    queue.add_after("nearer", ms(10));
    let order = workers.join_next().await.expect("one worker runs");
    assert_eq!(
        order.expect("no worker panics"),
        [("nearer", ms(10)), ("near", ms(20)), ("far", ms(60_000))]
    );
}

#[tokio::test(start_paused = true)]
async fn items_due_together_reach_every_waiting_worker_at_once() {
    let queue = WorkQueue::new("together");
    let mut workers = JoinSet::new();
    for _ in 0..5 {
        let queue = queue.clone();
        workers.spawn(async move {
            let start = Instant::now();
            let item = queue.get().await.expect("the queue is not shut down");
            let waited = start.elapsed();
            // Held, so that no worker takes two.
            sleep(ms(100)).await;
            (*item, waited)
        });
    }
    yield_now().await;
    for item in 0..5 {
        queue.add_after(item, ms(10));
    }
    let mut items = Vec::new();
    while let Some(worker) = workers.join_next().await {
        let (item, waited) = worker.expect("no worker panics");
        assert_eq!(waited, ms(10));
        items.push(item);
    }
    items.sort_unstable();
    assert_eq!(items, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn plain_add_does_not_cancel_a_delay() {
    let queue = WorkQueue::new("both");
    queue.add_after("foo", ms(10));
    queue.add("foo");
    assert_eq!(arrivals(&queue, 2).await, [("foo", ms(0)), ("foo", ms(10))]);
}

#[tokio::test(start_paused = true)]
async fn delay_that_passes_while_its_item_is_processed_means_one_more_run() {
    let queue = WorkQueue::new("busy");
    queue.add("foo");
    let item = queue.get().await.expect("foo is in line");
    queue.add_after("foo", ms(5));
    advance(ms(10)).await;
    assert!(queue.try_get().is_none());
    drop(item);
    assert_eq!(take(&queue), Some("foo"));
    assert_eq!(take(&queue), None);
}

// B94
#[tokio::test(start_paused = true)]
async fn delayed_burst_that_is_done_leaves_no_item_behind() {
    let queue = WorkQueue::new("burst");
    let items: Vec<_> = (0..10_000).map(Arc::new).collect();
    for item in &items {
        queue.add_after(Arc::clone(item), ms(**item % 50));
    }
    advance(ms(100)).await;
    while take(&queue).is_some() {}
    assert!(items.iter().all(|item| Arc::strong_count(item) == 1));
    assert_eq!(queue.metrics().work_duration.count, 10_000);
}

#[test]
fn queue_outside_of_a_runtime_takes_delayed_items() {
    let queue = WorkQueue::new("no runtime");
    queue.add_after("foo", ms(3_600_000));
    queue.add("bar");
    assert_eq!(take(&queue), Some("bar"));
    assert_eq!(queue.metrics().delayed, 1);
}

#[test]
fn get_outside_of_a_runtime_needs_none_while_no_delay_is_in_use() {
    let queue = WorkQueue::new("no runtime");
    let mut get = pin!(queue.get());
    assert!(poll_once(get.as_mut()).is_pending());
    queue.add("foo");
    match poll_once(get.as_mut()) {
        Poll::Ready(item) => assert_eq!(item.as_deref(), Some(&"foo")),
        Poll::Pending => panic!("the added item is in line"),
    }
}

// Scenario: TestRateLimitingQueue; Q9
#[tokio::test(start_paused = true)]
async fn rate_limited_item_waits_longer_each_time_until_forgotten() {
    let queue = WorkQueue::builder("limited")
        .rate_limiter(ItemExponentialFailureRateLimiter::new(ms(1), ms(1_000)))
        .build();
    for (item, delay) in [("one", 1), ("one", 2), ("two", 1), ("two", 2), ("one", 4)] {
        queue.add_rate_limited(item);
        assert_eq!(arrivals(&queue, 1).await, [(item, ms(delay))]);
    }
    assert_eq!(queue.num_requeues(&"one"), 3);
    queue.forget(&"one");
    assert_eq!(queue.num_requeues(&"one"), 0);
    queue.add_rate_limited("one");
    assert_eq!(arrivals(&queue, 1).await, [("one", ms(1))]);
}

// Q9
#[test]
fn forget_does_not_replace_done() {
    let queue = WorkQueue::new("forget");
    queue.add("a");
    let item = queue.try_get().expect("a is in line");
    queue.forget(&item);
    queue.add("a");
    assert!(queue.try_get().is_none());
    drop(item);
    assert_eq!(take(&queue), Some("a"));
}

// B93
#[tokio::test(start_paused = true)]
async fn two_queues_count_failures_apart() {
    let (one, two) = (WorkQueue::new("one"), WorkQueue::new("two"));
    one.add_rate_limited("a");
    one.add_rate_limited("a");
    assert_eq!(one.num_requeues(&"a"), 2);
    assert_eq!(two.num_requeues(&"a"), 0);
    two.add_rate_limited("a");
    assert_eq!(arrivals(&two, 1).await, [("a", ms(5))]);
    two.forget(&"a");
    assert_eq!(one.num_requeues(&"a"), 2);
}

#[tokio::test(start_paused = true)]
async fn token_bucket_follows_the_paused_clock() {
    let queue = WorkQueue::builder("bucket")
        .rate_limiter(BucketRateLimiter::new(10.0, 1))
        .build();
    queue.add_rate_limited("a");
    queue.add_rate_limited("b");
    assert_eq!(arrivals(&queue, 2).await, [("a", ms(0)), ("b", ms(100))]);
    advance(ms(100)).await;
    queue.add_rate_limited("c");
    assert_eq!(arrivals(&queue, 1).await, [("c", ms(0))]);
}
