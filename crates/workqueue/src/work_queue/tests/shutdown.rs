//! Shutting down, with and without a drain, after upstream's drain tests.

use super::*;

fn two_in_flight() -> (WorkQueue<&'static str>, [ItemGuard<&'static str>; 2]) {
    let queue = WorkQueue::new("drain");
    queue.add("foo");
    queue.add("bar");
    let guards = [(); 2].map(|()| queue.try_get().expect("two are in line"));
    (queue, guards)
}

// Scenario: TestQueueDrainageUsingShutDownWithDrain; Q6
#[tokio::test(start_paused = true)]
async fn drain_waits_for_every_item_in_flight() {
    let (queue, [foo, bar]) = two_in_flight();
    let mut drain = pin!(queue.shut_down_with_drain());
    assert!(poll_once(drain.as_mut()).is_pending());
    assert!(queue.get().await.is_none());
    drop(foo);
    assert!(poll_once(drain.as_mut()).is_pending());
    drop(bar);
    assert!(poll_once(drain.as_mut()).is_ready());
}

// Scenario: TestNoQueueDrainageUsingShutDown
#[tokio::test(start_paused = true)]
async fn shut_down_does_not_wait_for_items_in_flight() {
    let (queue, _guards) = two_in_flight();
    queue.shut_down();
    assert!(queue.is_shutting_down());
    assert!(queue.get().await.is_none());
    assert_eq!(queue.metrics().in_flight, 2);
}

// Scenario: TestForceQueueShutdownUsingShutDown
#[tokio::test(start_paused = true)]
async fn shut_down_ends_a_drain_that_would_wait() {
    let (queue, _guards) = two_in_flight();
    let mut drain = pin!(queue.shut_down_with_drain());
    assert!(poll_once(drain.as_mut()).is_pending());
    queue.shut_down();
    assert!(poll_once(drain.as_mut()).is_ready());
}

// Scenario: TestQueueDrainageUsingShutDownWithDrainWithDirtyItem; Q5
#[tokio::test(start_paused = true)]
async fn drain_waits_for_the_second_run_of_a_dirty_item() {
    let queue = WorkQueue::new("dirty");
    queue.add("foo");
    let first = queue.get().await.expect("foo is in line");
    queue.add("foo");
    let mut drain = pin!(queue.shut_down_with_drain());
    assert!(poll_once(drain.as_mut()).is_pending());
    assert!(queue.get().await.is_none());
    drop(first);
    assert!(poll_once(drain.as_mut()).is_pending());
    let again = queue.get().await.expect("foo is in line again");
    assert!(poll_once(drain.as_mut()).is_pending());
    drop(again);
    assert!(queue.get().await.is_none());
    assert!(poll_once(drain.as_mut()).is_ready());
}

// Upstream's drain may end here after the first item.
#[tokio::test(start_paused = true)]
async fn drain_waits_for_items_in_line_while_the_worker_is_between_two() {
    let queue = WorkQueue::new("backlog");
    for item in 0..10 {
        queue.add(item);
    }
    let mut drain = pin!(queue.shut_down_with_drain());
    for _ in 0..10 {
        assert!(poll_once(drain.as_mut()).is_pending());
        assert!(take(&queue).is_some());
    }
    assert!(poll_once(drain.as_mut()).is_ready());
}

#[tokio::test(start_paused = true)]
async fn drain_of_an_idle_queue_returns_at_once() {
    let queue = WorkQueue::<u8>::new("idle");
    let mut drain = pin!(queue.shut_down_with_drain());
    assert!(poll_once(drain.as_mut()).is_ready());
}

#[tokio::test(start_paused = true)]
async fn drain_that_is_dropped_leaves_the_queue_shutting_down() {
    let (queue, guards) = two_in_flight();
    assert!(timeout(ms(10), queue.shut_down_with_drain()).await.is_err());
    assert!(queue.is_shutting_down());
    drop(guards);
    timeout(ms(10), queue.shut_down_with_drain())
        .await
        .expect("nothing is left to wait for");
}

#[tokio::test(start_paused = true)]
async fn shut_down_wakes_every_waiting_worker_and_drain() {
    let (queue, guards) = two_in_flight();
    queue.add_after("late", ms(60_000));
    let mut waiting = JoinSet::new();
    for _ in 0..20 {
        let queue = queue.clone();
        waiting.spawn(async move { assert!(queue.get().await.is_none()) });
    }
    yield_now().await;
    for _ in 0..3 {
        let queue = queue.clone();
        waiting.spawn(async move { queue.shut_down_with_drain().await });
    }
    yield_now().await;
    let start = Instant::now();
    drop(guards);
    while let Some(task) = waiting.join_next().await {
        task.expect("no task panics");
    }
    assert_eq!(start.elapsed(), ms(0));
}

// Q4, Q5
#[tokio::test(start_paused = true)]
async fn shut_down_hands_out_what_is_in_line_and_refuses_the_rest() {
    let queue = WorkQueue::new("rest");
    queue.add("in line");
    queue.add_after("delayed", ms(10));
    queue.shut_down();
    queue.add("late");
    queue.add_after("late", ms(1));
    queue.add_rate_limited("late");
    assert_eq!(queue.num_requeues(&"late"), 0);
    assert_eq!(queue.get().await.as_deref(), Some(&"in line"));
    advance(ms(100)).await;
    assert!(queue.get().await.is_none());
    assert_eq!(queue.metrics().delayed, 0);
}

#[test]
fn queue_dropped_frees_what_it_holds() {
    let item = Arc::new(1);
    let queue = WorkQueue::new("dropped");
    queue.add(Arc::clone(&item));
    queue.add_after(Arc::clone(&item), ms(1_000));
    drop(queue.clone());
    assert!(Arc::strong_count(&item) > 1);
    drop(queue);
    assert_eq!(Arc::strong_count(&item), 1);
}
