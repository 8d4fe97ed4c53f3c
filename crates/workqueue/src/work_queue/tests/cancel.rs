//! Waits that are given up: no item and no deadline may get lost with them.

use super::*;

#[tokio::test(start_paused = true)]
async fn get_dropped_while_waiting_passes_its_wake_up_on() {
    let queue = WorkQueue::new("cancel");
    let mut second = pin!(queue.get());
    {
        let mut first = pin!(queue.get());
        assert!(poll_once(first.as_mut()).is_pending());
        assert!(poll_once(second.as_mut()).is_pending());
        // Wakes the first, which is dropped before it looks.
        queue.add("a");
    }
    let item = timeout(ms(1), second).await.expect("second is woken");
    assert_eq!(item.as_deref(), Some(&"a"));
}

#[tokio::test(start_paused = true)]
async fn get_dropped_by_select_loses_no_item() {
    let queue = WorkQueue::new("cancel");
    for round in 0..10 {
        let tick = sleep(ms(1));
        tokio::select! {
            item = queue.get() => panic!("{item:?} out of an empty queue"),
            () = tick => queue.add(round),
        }
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.get().await.as_deref(), Some(&round));
    }
}

#[tokio::test(start_paused = true)]
async fn worker_future_dropped_while_working_lets_go_of_its_item() {
    let queue = WorkQueue::new("cancel");
    queue.add("a");
    let work = async {
        let _item = queue.get().await;
        sleep(ms(1_000)).await;
    };
    assert!(timeout(ms(10), work).await.is_err());
    queue.add("a");
    assert_eq!(take(&queue), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn leader_dropped_hands_the_deadline_to_another_worker() {
    let queue = WorkQueue::new("lead");
    queue.add_after("a", ms(100));
    let mut leader = Box::pin(queue.get());
    assert!(poll_once(leader.as_mut()).is_pending());
    let mut workers = JoinSet::new();
    for _ in 0..2 {
        let queue = queue.clone();
        workers.spawn(async move { queue.get().await.map(|item| *item) });
    }
    yield_now().await;
    drop(leader);
    let start = Instant::now();
    let first = timeout(ms(1_000), workers.join_next())
        .await
        .expect("a worker watches the deadline")
        .expect("two workers wait");
    assert_eq!(first.expect("no worker panics"), Some("a"));
    assert_eq!(start.elapsed(), ms(100));
    queue.shut_down();
    let second = workers.join_next().await.expect("one worker waits");
    assert_eq!(second.expect("no worker panics"), None);
}

#[tokio::test(start_paused = true)]
async fn leader_that_leaves_with_an_item_hands_the_deadline_on() {
    let queue = WorkQueue::new("lead");
    queue.add_after("late", ms(100));
    let mut workers = JoinSet::new();
    for _ in 0..2 {
        let queue = queue.clone();
        workers.spawn(async move {
            let start = Instant::now();
            let item = queue.get().await.map(|item| *item);
            (item, start.elapsed())
        });
    }
    yield_now().await;
    queue.add("now");
    let order = timeout(ms(1_000), workers.join_all())
        .await
        .expect("a worker watches the deadline");
    assert_eq!(order, [(Some("now"), ms(0)), (Some("late"), ms(100))]);
}
