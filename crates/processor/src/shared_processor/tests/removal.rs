//! Handlers that leave.

use std::sync::OnceLock;

use super::*;

// Scenario: TestSharedInformerRemoveHandler
#[tokio::test(start_paused = true)]
async fn handlers_removed_one_by_one_leave_the_rest_alone() {
    let processor = inline();
    let (first, first_log) = record(&processor);
    let (second, second_log) = record(&processor);
    processor.start();
    assert_eq!(processor.registrations().len(), 2);
    assert!(processor.remove_listener(&second));
    assert_eq!(processor.registrations().len(), 1);
    processor.distribute(add("a", 1), false);
    settle().await;
    assert_eq!((first_log.len(), second_log.len()), (1, 0));
    assert!(processor.remove_listener(&first));
    assert!(processor.registrations().is_empty());
    settle().await;
    assert_eq!(tasks(), 0);
}

// Scenario: TestSharedInformerRemoveForeignHandler
#[tokio::test(start_paused = true)]
async fn handler_of_another_processor_is_left_alone() {
    let (one, other) = (inline(), inline());
    let (_, _) = record(&one);
    let (foreign, log) = record(&other);
    other.start();
    assert!(!one.remove_listener(&foreign));
    assert_eq!(one.registrations().len(), 1);
    assert!(!foreign.removed());
    assert_eq!(one.resync_period(&foreign), None);
    other.distribute(add("a", 1), false);
    settle().await;
    assert_eq!(log.len(), 1);
}

// Scenario: TestSharedInformerMultipleRegistration; S16
#[tokio::test(start_paused = true)]
async fn handler_added_twice_has_two_independent_handles() {
    let processor = inline();
    let log = Log::default();
    let add_it = || {
        processor
            .add_listener(
                Recorder(log.clone()),
                HandlerOptions::new(),
                Vec::new(),
                synced(),
            )
            .unwrap()
    };
    let (first, second) = (add_it(), add_it());
    assert_ne!(first.id(), second.id());
    processor.start();
    processor.distribute(add("a", 1), false);
    settle().await;
    assert_eq!(log.take().len(), 2);
    first.remove();
    assert!(!second.removed());
    processor.distribute(add("b", 1), false);
    settle().await;
    assert_eq!(log.lines(), ["add b 1"]);
}

// Scenario: TestRemovingRemovedSharedInformer
#[tokio::test(start_paused = true)]
async fn handler_removed_twice_is_removed() {
    let processor = inline();
    let (registration, _) = record(&processor);
    processor.start();
    assert!(processor.remove_listener(&registration));
    assert!(!processor.remove_listener(&registration));
    registration.remove();
    registration.remove_and_wait().await.unwrap();
    assert!(registration.removed());
}

// Scenario: TestRemoveOnStoppedSharedInformer
#[tokio::test(start_paused = true)]
async fn handler_removed_after_the_stop_is_harmless() {
    let processor = inline();
    let (registration, _) = record(&processor);
    processor.start();
    processor.shutdown(ShutdownMode::Drop, None).await;
    assert!(!processor.remove_listener(&registration));
    registration.remove_and_wait().await.unwrap();
}

// Scenario: TestRemoveWhileActive; S14
#[tokio::test(start_paused = true)]
async fn handler_removed_is_not_told_what_waits() {
    let processor = inline();
    let (registration, log) = record(&processor);
    processor.start();
    processor.distribute(add("a", 1), false);
    settle().await;
    processor.distribute(add("b", 1), false);
    registration.remove();
    assert_eq!(registration.stats().depth, 0, "what waits is dropped");
    processor.distribute(add("c", 1), false);
    settle().await;
    assert_eq!(log.lines(), ["add a 1"]);
}

// B63: from inside its own callback.
#[tokio::test(start_paused = true)]
async fn handler_removes_itself_in_its_callback() {
    let processor = inline();
    let own = Arc::new(OnceLock::<HandlerRegistration>::new());
    let log = Log::default();
    let handler = {
        let (own, log) = (Arc::clone(&own), log.clone());
        HandlerFuncs::<Thing>::new().on_add(move |obj, _| {
            log.push(&obj.name);
            let own = own.get().unwrap();
            own.remove();
            // Waiting is refused at the first poll, so that nothing blocks here.
            let mut wait = std::pin::pin!(own.remove_and_wait());
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            match wait.as_mut().poll(&mut cx) {
                std::task::Poll::Ready(Err(_)) => log.push("refused"),
                other => panic!("{other:?}"),
            }
        })
    };
    let registration = processor
        .add_listener(handler, HandlerOptions::new(), Vec::new(), synced())
        .unwrap();
    own.set(registration.clone()).unwrap();
    processor.distribute_all(&[(add("a", 1), false), (add("b", 1), false)]);
    processor.start();
    settle().await;
    assert_eq!(log.lines(), ["a", "refused"]);
    registration.remove_and_wait().await.unwrap();
    assert_eq!(tasks(), 0);
}

// The same for an async handler, whose marker is set at every poll.
#[tokio::test(start_paused = true)]
async fn async_handler_waiting_for_its_own_removal_is_refused() {
    let processor = inline();
    let own = Arc::new(OnceLock::<HandlerRegistration>::new());
    let log = Log::default();
    let registration = {
        let (own, log) = (Arc::clone(&own), log.clone());
        processor
            .add_async_listener(
                move |_: Notification<Thing>| {
                    let (own, log) = (Arc::clone(&own), log.clone());
                    async move {
                        tokio::task::yield_now().await;
                        let own = own.get().unwrap();
                        let error = own.remove_and_wait().await.unwrap_err();
                        log.push(error.to_string());
                    }
                },
                HandlerOptions::new().with_name("me"),
                Vec::new(),
                synced(),
            )
            .unwrap()
    };
    own.set(registration.clone()).unwrap();
    processor.start();
    processor.distribute(add("a", 1), false);
    settle().await;
    assert_eq!(
        log.lines(),
        ["handler me is removed, but cannot wait for its own callback to end"]
    );
    registration.remove_and_wait().await.unwrap();
}

/// Sets a flag when it is dropped.
struct DropFlag(SyncFlag);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Adds a handler that tells by the flag when it is dropped.
fn add_dropping(processor: &SharedProcessor<Thing>) -> (HandlerRegistration, SyncFlag) {
    let dropped = SyncFlag::new();
    let guard = DropFlag(dropped.clone());
    let registration = processor
        .add_listener(
            HandlerFuncs::<Thing>::new().on_add(move |_, _| {
                let _ = &guard;
            }),
            HandlerOptions::new(),
            Vec::new(),
            synced(),
        )
        .unwrap();
    (registration, dropped)
}

// Scenario: TestShutDownEventHandler_Lifecycles
#[tokio::test(start_paused = true)]
async fn handler_removed_with_waiting_is_dropped_at_each_stage_of_life() {
    let processor = inline();
    let (never_started, dropped) = add_dropping(&processor);
    never_started.remove_and_wait().await.unwrap();
    assert!(dropped.is_set());

    let (before_start, dropped) = add_dropping(&processor);
    processor.start();
    before_start.remove_and_wait().await.unwrap();
    assert!(dropped.is_set());

    let (after_start, dropped) = add_dropping(&processor);
    processor.distribute(add("a", 1), false);
    settle().await;
    after_start.remove_and_wait().await.unwrap();
    assert!(dropped.is_set());
}

// B63: add, receive, remove, a thousand times.
#[tokio::test(start_paused = true)]
async fn handlers_coming_and_going_leave_nothing_behind() {
    let processor = inline();
    processor.start();
    for _ in 0..1000 {
        let log = Log::default();
        let registration = processor
            .add_listener(
                Recorder(log.clone()),
                HandlerOptions::new(),
                vec![thing("a", 1)],
                synced(),
            )
            .unwrap();
        registration.wait_for_sync().await.unwrap();
        assert_eq!(log.len(), 1);
        registration.remove();
    }
    settle().await;
    assert_eq!(tasks(), 0);
    let mut state = processor.inner.lock();
    state.prune();
    assert_eq!((state.listeners.len(), state.leaving.len()), (0, 0));
    assert_eq!(processor.inner.tasks.len(), 0);
}
