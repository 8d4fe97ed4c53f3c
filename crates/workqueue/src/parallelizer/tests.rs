//! Tests of the parallelizer.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::*;

fn workers(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("tests ask for workers")
}

// Scenario: TestParallelizeUntil
#[tokio::test(start_paused = true)]
async fn parallelize_until_visits_every_piece_once() {
    for (count, pieces) in [(10, 1_000), (10, 999), (10, 3), (1, 5), (3, 0)] {
        let seen = Arc::new(Mutex::new(vec![0; pieces]));
        let visits = Arc::clone(&seen);
        parallelize_until(workers(count), pieces, move |piece| {
            let visits = Arc::clone(&visits);
            async move {
                tokio::task::yield_now().await;
                visits.lock().expect("no piece panics")[piece] += 1;
            }
        })
        .await;
        assert_eq!(*seen.lock().expect("no piece panics"), vec![1; pieces]);
    }
}

#[tokio::test(start_paused = true)]
async fn parallelize_until_runs_as_many_pieces_at_once_as_it_has_workers() {
    let start = Instant::now();
    parallelize_until(workers(4), 8, |_| sleep(Duration::from_secs(1))).await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn parallelize_until_dropped_starts_no_further_piece() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let run = parallelize_until(workers(2), 100, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_secs(1))
    });
    let outcome = tokio::time::timeout(Duration::from_millis(1_500), run).await;
    assert!(outcome.is_err());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(started.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "piece 2 is broken")]
async fn parallelize_until_passes_on_the_panic_of_a_piece() {
    parallelize_until(workers(2), 4, |piece| async move {
        assert_ne!(piece, 2, "piece 2 is broken");
    })
    .await;
}
