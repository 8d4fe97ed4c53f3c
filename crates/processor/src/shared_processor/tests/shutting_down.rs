//! The end of a processor.

use super::*;

/// A handler whose callback takes a second of virtual time.
fn slow(processor: &SharedProcessor<Thing>, name: &str) -> (HandlerRegistration, Log) {
    let log = Log::default();
    let told = log.clone();
    let registration = processor
        .add_async_listener(
            move |notification: Notification<Thing>| {
                let told = told.clone();
                async move {
                    tokio::time::sleep(SECOND).await;
                    told.push(notification.name().name());
                }
            },
            HandlerOptions::new().with_name(name),
            Vec::new(),
            synced(),
        )
        .unwrap();
    (registration, log)
}

fn three() -> [(Notification<Thing>, bool); 3] {
    [
        (add("a", 1), false),
        (add("b", 1), false),
        (add("c", 1), false),
    ]
}

// Scenario: TestShutdown; decision 10, X2
#[tokio::test(start_paused = true)]
async fn shutdown_finishes_callbacks_in_flight_and_drops_the_rest() {
    let processor = inline();
    let (registration, log) = slow(&processor, "slow");
    processor.start();
    processor.distribute_all(&three());
    settle().await;
    let late = processor.shutdown(ShutdownMode::Drop, None).await;
    assert!(late.is_empty());
    assert_eq!(log.lines(), ["a"]);
    assert_eq!(tasks(), 0);
    assert!(registration.removed() && processor.is_stopped());
    processor.distribute(add("d", 1), false);
    assert_eq!(registration.stats().depth, 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_with_drain_delivers_what_waits() {
    let processor = inline();
    let (_, log) = slow(&processor, "slow");
    processor.start();
    processor.distribute_all(&three());
    let late = processor.shutdown(ShutdownMode::Drain, None).await;
    assert!(late.is_empty());
    assert_eq!(log.lines(), ["a", "b", "c"]);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_past_its_deadline_names_the_late() {
    let processor = inline();
    let (_, log) = slow(&processor, "slow");
    let (_, fast) = record(&processor);
    processor.start();
    processor.distribute_all(&three());
    let start = Instant::now();
    let deadline = start + SECOND + SECOND / 2;
    let late = processor
        .shutdown(ShutdownMode::Drain, Some(deadline))
        .await;
    assert_eq!(late, [Arc::from("slow")]);
    assert_eq!(log.lines(), ["a"], "b was in flight");
    assert_eq!(fast.len(), 3);
    assert!(start.elapsed() < 2 * SECOND);
    settle().await;
    assert_eq!(tasks(), 0, "none outlives it");
}

// Scenario: TestShutdown, never run
#[tokio::test(start_paused = true)]
async fn shutdown_of_a_processor_that_never_started_drops_its_handlers() {
    let processor = inline();
    let (registration, log) = record(&processor);
    processor.distribute(add("a", 1), false);
    let late = processor.shutdown(ShutdownMode::Drain, None).await;
    assert!(late.is_empty());
    processor.start();
    settle().await;
    assert_eq!((log.len(), tasks()), (0, 0));
    assert!(registration.removed());
}

// Scenario: TestAddOnStoppedSharedInformer; S15, B72
#[tokio::test(start_paused = true)]
async fn handler_added_after_the_stop_is_refused() {
    let processor = inline();
    processor.start();
    processor.shutdown(ShutdownMode::Drop, None).await;
    let options = || HandlerOptions::new().with_name("tardy");
    let error = processor
        .add_listener(Recorder(Log::default()), options(), Vec::new(), synced())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "handler tardy was not added to the shared informer because it has stopped already"
    );
    assert!(
        processor
            .subscribe(options(), Vec::new(), synced())
            .is_err()
    );
    assert!(
        processor
            .add_async_listener(
                |_: Notification<Thing>| async {},
                options(),
                Vec::new(),
                synced()
            )
            .is_err()
    );
}

// B71: concurrent double shutdown; the second cuts the first short.
#[tokio::test(start_paused = true)]
async fn shutdown_called_twice_at_once_ends_for_both() {
    let processor = inline();
    let (_, log) = slow(&processor, "slow");
    processor.start();
    processor.distribute_all(&three());
    let second = async {
        settle().await;
        processor.shutdown(ShutdownMode::Drop, None).await
    };
    let (first, second) = tokio::join!(processor.shutdown(ShutdownMode::Drain, None), second);
    assert!(first.is_empty() && second.is_empty());
    assert_eq!(log.lines(), ["a"]);
    assert!(
        processor
            .shutdown(ShutdownMode::Drop, None)
            .await
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_the_callback_of_a_handler_removed_before() {
    let processor = inline();
    let (registration, log) = slow(&processor, "slow");
    processor.start();
    processor.distribute_all(&three());
    settle().await;
    registration.remove();
    processor.shutdown(ShutdownMode::Drop, None).await;
    assert_eq!(log.lines(), ["a"]);
    assert_eq!(tasks(), 0);
}

// B71: a handler that stops its own informer.
#[tokio::test(start_paused = true)]
async fn shutdown_from_a_handlers_own_callback_names_it_late() {
    let processor = inline();
    let log = Log::default();
    {
        let (log, processor_) = (log.clone(), processor.clone());
        processor
            .add_async_listener(
                move |_: Notification<Thing>| {
                    let (log, processor) = (log.clone(), processor_.clone());
                    async move {
                        let late = processor.shutdown(ShutdownMode::Drop, None).await;
                        log.push(late.join(","));
                    }
                },
                HandlerOptions::new().with_name("abrupt"),
                vec![thing("a", 1), thing("b", 1)],
                synced(),
            )
            .unwrap();
    }
    processor.start();
    settle().await;
    assert_eq!(log.lines(), ["abrupt"]);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_given_up_can_be_taken_up_again() {
    let processor = inline();
    let (_, log) = slow(&processor, "slow");
    processor.start();
    processor.distribute_all(&three());
    settle().await;
    let shutdown = processor.shutdown(ShutdownMode::Drain, None);
    let given_up = tokio::time::timeout(SECOND / 2, shutdown).await;
    assert!(given_up.is_err());
    assert!(
        processor
            .shutdown(ShutdownMode::Drain, None)
            .await
            .is_empty()
    );
    assert_eq!(log.lines(), ["a", "b", "c"]);
}
