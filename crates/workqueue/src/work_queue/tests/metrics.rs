//! The metrics of a queue, after upstream's, in virtual time.

use super::*;
use crate::metrics::MetricsSink;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Notes all it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, note: String) {
        self.0.lock().expect("no test panics").push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no test panics"))
    }
}

impl MetricsSink for Notes {
    fn add(&self) {
        self.note("add".to_owned());
    }

    fn depth(&self, items: usize) {
        self.note(format!("depth {items}"));
    }

    fn queue_latency(&self, latency: Duration) {
        self.note(format!("latency {latency:?}"));
    }

    fn work_duration(&self, duration: Duration) {
        self.note(format!("work {duration:?}"));
    }

    fn retry(&self) {
        self.note("retry".to_owned());
    }
}

// Scenario: TestMetrics
#[tokio::test(start_paused = true)]
async fn snapshot_tells_upstreams_numbers_along_an_items_way() {
    let queue = WorkQueue::new("test");
    queue.add("foo");
    let metrics = queue.metrics();
    assert_eq!(&*metrics.name, "test");
    assert_eq!((metrics.adds, metrics.depth), (1, 1));

    advance(us(50)).await;
    let item = queue.get().await.expect("foo is in line");
    let metrics = queue.metrics();
    assert_eq!(metrics.queue_latency.max, us(50));
    assert_eq!(metrics.queue_latency.count, 1);
    assert_eq!((metrics.depth, metrics.in_flight), (0, 1));

    for _ in 0..5 {
        queue.add("foo");
    }
    let metrics = queue.metrics();
    assert_eq!((metrics.adds, metrics.depth), (2, 1));

    advance(us(25)).await;
    drop(item);
    let metrics = queue.metrics();
    assert_eq!(metrics.work_duration.sum, us(25));
    assert_eq!(metrics.work_duration.count, 1);
    assert_eq!((metrics.depth, metrics.in_flight), (1, 0));

    let item = queue.get().await.expect("foo is in line again");
    let metrics = queue.metrics();
    // 50 µs the first time, 25 µs (its worker was busy with it) the second.
    assert_eq!(metrics.queue_latency.sum, us(75));
    assert_eq!(metrics.queue_latency.count, 2);

    advance(ms(1)).await;
    let metrics = queue.metrics();
    assert_eq!(metrics.unfinished_work, ms(1));
    assert_eq!(metrics.longest_running_processor, ms(1));

    drop(item);
    let metrics = queue.metrics();
    assert_eq!(metrics.work_duration.sum, us(25) + ms(1));
    assert_eq!(metrics.work_duration.count, 2);
    assert_eq!(metrics.unfinished_work, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn unfinished_work_sums_and_longest_running_is_the_oldest() {
    let queue = WorkQueue::new("stuck");
    queue.add(1);
    queue.add(2);
    let _one = queue.try_get();
    advance(ms(2)).await;
    let _two = queue.try_get();
    advance(ms(1)).await;
    let metrics = queue.metrics();
    assert_eq!(metrics.unfinished_work, ms(4));
    assert_eq!(metrics.longest_running_processor, ms(3));
    assert_eq!(metrics.in_flight, 2);
}

#[tokio::test(start_paused = true)]
async fn retries_count_delayed_and_rate_limited_adds_until_shutdown() {
    let queue = WorkQueue::new("retries");
    queue.add("a");
    queue.add_after("a", ms(5));
    queue.add_after("b", Duration::ZERO);
    queue.add_rate_limited("c");
    let metrics = queue.metrics();
    assert_eq!((metrics.retries, metrics.delayed), (3, 2));
    queue.shut_down();
    queue.add_after("d", ms(5));
    assert_eq!(queue.metrics().retries, 3);
}

// Scenario: TestMetricShutdown
#[tokio::test(start_paused = true)]
async fn sink_hears_each_measurement_once_and_none_by_itself_after_shutdown() {
    let notes = Arc::new(Notes::default());
    let queue = WorkQueue::builder("sink")
        .metrics_sink(Arc::clone(&notes) as Arc<dyn MetricsSink>)
        .build();
    queue.add("a");
    queue.add("a");
    assert_eq!(notes.take(), ["add", "depth 1"]);
    advance(ms(2)).await;
    let item = queue.get().await.expect("a is in line");
    assert_eq!(notes.take(), ["depth 0", "latency 2ms"]);
    queue.add_after("b", ms(1));
    assert_eq!(notes.take(), ["retry"]);
    advance(ms(3)).await;
    drop(item);
    // The delay has passed meanwhile: noticed now, counted from its time.
    assert_eq!(notes.take(), ["add", "depth 1", "work 3ms"]);
    let item = queue.get().await.expect("b is in line");
    assert_eq!(notes.take(), ["depth 0", "latency 2ms"]);
    queue.shut_down();
    sleep(ms(3_600_000)).await;
    assert!(notes.take().is_empty());
    drop(item);
    assert_eq!(notes.take(), ["work 3600s"]);
}
