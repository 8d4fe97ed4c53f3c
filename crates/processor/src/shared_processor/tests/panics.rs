//! Handlers that panic.

use std::io;

use super::*;

/// A log in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Sends what this thread logs here.
    fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let lines = self.clone();
        tracing::subscriber::set_default(
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(move || lines.clone())
                .finish(),
        )
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// Scenario: TestEventPanics; decision 2
#[tokio::test(start_paused = true)]
async fn panic_is_logged_with_handler_and_object_and_the_next_comes_a_second_later() {
    let lines = Lines::default();
    let _guard = lines.capture();
    let processor = inline();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let calls = Arc::clone(&calls);
        HandlerFuncs::<Thing>::new().on_add(move |obj, _| {
            calls.lock().unwrap().push(Instant::now());
            panic!("no {}", obj.name);
        })
    };
    let registration = processor
        .add_listener(
            handler,
            HandlerOptions::new().with_name("clumsy"),
            vec![thing("a", 1), thing("b", 1), thing("c", 1)],
            synced(),
        )
        .unwrap();
    processor.start();
    registration.wait_for_sync().await.unwrap();

    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 3, "each notification is attempted once");
    for pair in calls.windows(2) {
        assert!(pair[1] - pair[0] >= SECOND);
        assert!(pair[1] - pair[0] < SECOND + Duration::from_millis(100));
    }
    let stats = registration.stats();
    assert_eq!((stats.delivered, stats.panics), (3, 3));
    let text = lines.text();
    for object in ["ns/a", "ns/b", "ns/c"] {
        let told = text
            .lines()
            .filter(|line| {
                line.contains("handler=clumsy") && line.contains(&format!("object={object} "))
            })
            .count();
        assert_eq!(told, 1, "{text}");
    }
    assert!(text.contains("panic=\"no a\""), "{text}");
}

// B62
#[tokio::test(start_paused = true)]
async fn panic_hides_nothing_from_anyone() {
    let processor = inline();
    let log = Log::default();
    let clumsy = {
        let log = log.clone();
        HandlerFuncs::<Thing>::new().on_update(move |_, new| {
            assert!(new.version != "4", "I do not like four");
            log.push(&new.version);
        })
    };
    let registration = processor
        .add_listener(clumsy, HandlerOptions::new(), Vec::new(), synced())
        .unwrap();
    let (_, other) = record(&processor);
    processor.start();
    for version in 1..=10 {
        processor.distribute(update("a", version, version + 1), false);
    }
    settle().await;
    assert_eq!(other.len(), 10, "the other does not wait");
    assert_eq!(log.len(), 2);
    tokio::time::sleep(SECOND).await;
    assert_eq!(log.lines(), ["2", "3", "5", "6", "7", "8", "9", "10", "11"]);
    assert_eq!(registration.stats().panics, 1);
}

#[tokio::test(start_paused = true)]
async fn panic_of_an_async_handler_is_as_any_other() {
    let processor = inline();
    let log = Log::default();
    let registration = {
        let log = log.clone();
        processor
            .add_async_listener(
                move |notification: Notification<Thing>| {
                    let log = log.clone();
                    async move {
                        tokio::task::yield_now().await;
                        assert!(notification.name().name() != "a", "not this one");
                        log.push(notification.name().name());
                    }
                },
                HandlerOptions::new(),
                vec![thing("a", 1), thing("b", 1)],
                synced(),
            )
            .unwrap()
    };
    let start = Instant::now();
    processor.start();
    registration.wait_for_sync().await.unwrap();
    assert!(start.elapsed() >= SECOND);
    assert_eq!(log.lines(), ["b"]);
    assert_eq!(registration.stats().panics, 1);
}

#[tokio::test(start_paused = true)]
async fn handler_removed_during_the_pause_ends_at_once() {
    let processor = inline();
    let registration = processor
        .add_listener(
            HandlerFuncs::<Thing>::new().on_add(|_, _| panic!("always")),
            HandlerOptions::new(),
            vec![thing("a", 1), thing("b", 1)],
            synced(),
        )
        .unwrap();
    processor.start();
    settle().await;
    let start = Instant::now();
    registration.remove_and_wait().await.unwrap();
    assert!(start.elapsed() < SECOND / 2);
    assert_eq!(registration.stats().panics, 1);
    assert!(!registration.has_synced(), "b was never told");
}

// B68: what cannot be had is reported.
#[tokio::test(start_paused = true)]
async fn resync_that_cannot_be_had_is_logged_with_the_handlers_name() {
    let lines = Lines::default();
    let _guard = lines.capture();
    let processor = inline();
    processor
        .add_listener(
            Recorder(Log::default()),
            HandlerOptions::new()
                .with_name("hopeful")
                .with_resync_period(2 * SECOND),
            Vec::new(),
            synced(),
        )
        .unwrap();
    let text = lines.text();
    assert!(
        text.contains("hopeful") && text.contains("no resync"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn slow_handler_is_logged_with_name_depth_and_age() {
    let lines = Lines::default();
    let _guard = lines.capture();
    let processor = inline();
    processor
        .add_async_listener(
            |_: Notification<Thing>| tokio::time::sleep(Duration::from_millis(150)),
            HandlerOptions::new().with_name("sloth"),
            Vec::new(),
            synced(),
        )
        .unwrap();
    processor.start();
    let batch: Vec<_> = (0..1100).map(|n| (add("a", n), false)).collect();
    processor.distribute_all(&batch);
    tokio::time::sleep(SECOND).await;
    let text = lines.text();
    let reports: Vec<_> = text.lines().filter(|line| line.contains("slow")).collect();
    assert_eq!(reports.len(), 1, "{text}");
    for part in [
        "handler=sloth",
        "depth=1099",
        "oldest_age=150ms",
        "took=150ms",
    ] {
        assert!(reports[0].contains(part), "{text}");
    }
}
