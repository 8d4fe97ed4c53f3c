//! Callbacks that block, on real threads. No test here waits for time to pass: each
//! waits for a condition.

use std::sync::mpsc;

use super::*;

/// A handler that says that its callback began, and waits to be released.
fn blocked(
    processor: &SharedProcessor<Thing>,
) -> (HandlerRegistration, mpsc::Sender<()>, SyncFlag, Log) {
    let (release, wait) = mpsc::channel();
    let (began, log) = (SyncFlag::new(), Log::default());
    let handler = {
        let (began, log) = (began.clone(), log.clone());
        HandlerFuncs::<Thing>::new().on_add(move |obj, _| {
            began.set();
            wait.recv().expect("the test releases each callback");
            log.push(&obj.name);
        })
    };
    let registration = processor
        .add_listener(
            handler,
            HandlerOptions::new().with_name("blocked"),
            Vec::new(),
            synced(),
        )
        .unwrap();
    (registration, release, began, log)
}

fn processor() -> SharedProcessor<Thing> {
    SharedProcessor::new(ProcessorOptions::default())
}

// B64, B22, S13; on a current-thread runtime.
#[tokio::test]
async fn handler_blocked_is_nobody_elses_problem_and_its_backlog_is_seen() {
    let processor = processor();
    let (registration, release, began, log) = blocked(&processor);
    let (fast_registration, fast) = record(&processor);
    processor.start();
    let batch: Vec<_> = (0..5000).map(|n| (add("a", n), false)).collect();
    processor.distribute_all(&batch);
    began.wait().await;
    processor.distribute(initial("last", 1), false);
    fast_registration.wait_for_sync().await.unwrap();
    assert_eq!(fast.len(), 5001);
    let stats = registration.stats();
    assert_eq!((stats.depth, stats.delivered), (5000, 0));
    assert!(stats.in_callback.is_some() && stats.oldest_age.is_some());
    for _ in 0..=5000 {
        release.send(()).unwrap();
    }
    registration.wait_for_sync().await.unwrap();
    assert_eq!(log.len(), 5001);
    assert!(
        processor
            .shutdown(ShutdownMode::Drop, None)
            .await
            .is_empty()
    );
}

// B23: a handler that waits for another handler to have synced.
#[tokio::test]
async fn handler_may_wait_in_its_callback_for_another_handlers_sync() {
    let processor = processor();
    let informer = SyncFlag::new();
    let other = processor
        .add_listener(
            Recorder(Log::default()),
            HandlerOptions::new(),
            vec![thing("a", 1)],
            informer.clone(),
        )
        .unwrap();
    let waiting = processor
        .add_listener(
            HandlerFuncs::<Thing>::new().on_add(move |_, _| {
                Handle::current().block_on(other.wait_for_sync()).unwrap();
            }),
            HandlerOptions::new(),
            vec![thing("a", 1)],
            informer.clone(),
        )
        .unwrap();
    processor.start();
    processor.distribute(initial("b", 1), false);
    informer.set();
    waiting.wait_for_sync().await.unwrap();
    assert_eq!(waiting.stats().panics, 0);
    processor.shutdown(ShutdownMode::Drop, None).await;
}

// Scenario: TestRemoveEventHandler_AsynchronousPanic; S14, B63
#[tokio::test]
async fn handler_removed_while_its_callback_runs_is_not_waited_for() {
    let processor = processor();
    let (registration, release, began, log) = blocked(&processor);
    processor.start();
    processor.distribute_all(&[(add("a", 1), false), (add("b", 1), false)]);
    began.wait().await;
    registration.remove();
    assert_eq!(log.len(), 0, "the callback still runs");
    assert!(registration.stats().in_callback.is_some());
    release.send(()).unwrap();
    registration.remove_and_wait().await.unwrap();
    assert_eq!(log.lines(), ["a"]);
}

// Scenario: TestRemoveEventHandler_SynchronousShutdown
#[tokio::test]
async fn handler_removed_with_waiting_has_returned() {
    let processor = processor();
    let (registration, release, began, log) = blocked(&processor);
    processor.start();
    processor.distribute(add("a", 1), false);
    began.wait().await;
    let mut removal = std::pin::pin!(registration.remove_and_wait());
    tokio::select! {
        biased;
        _ = &mut removal => panic!("the callback still runs"),
        () = tokio::task::yield_now() => {}
    }
    release.send(()).unwrap();
    removal.await.unwrap();
    assert_eq!(log.lines(), ["a"]);
    assert!(release.send(()).is_err(), "the handler is dropped");
}

// B63: from its own callback, on a thread where it could wait.
#[tokio::test]
async fn handler_waiting_for_its_own_removal_is_refused() {
    let processor = processor();
    let own = Arc::new(std::sync::OnceLock::<HandlerRegistration>::new());
    let (tx, rx) = tokio::sync::oneshot::channel();
    let registration = {
        let (own, mut tx) = (Arc::clone(&own), Some(tx));
        processor
            .add_listener(
                HandlerFuncs::<Thing>::new().on_add(move |_, _| {
                    let removal = own.get().unwrap().remove_and_wait();
                    let result = Handle::current().block_on(removal);
                    tx.take().unwrap().send(result).unwrap();
                }),
                HandlerOptions::new(),
                Vec::new(),
                synced(),
            )
            .unwrap()
    };
    own.set(registration.clone()).unwrap();
    processor.start();
    processor.distribute_all(&[(add("a", 1), false), (add("b", 1), false)]);
    assert!(rx.await.unwrap().is_err());
    registration.remove_and_wait().await.unwrap();
    assert_eq!(registration.stats().delivered, 1);
}

// Decision 10: a callback that blocks past the deadline.
#[tokio::test]
async fn shutdown_names_a_blocked_handler_and_its_callback_is_the_last() {
    let processor = processor();
    let (registration, release, began, log) = blocked(&processor);
    processor.start();
    processor.distribute_all(&[(add("a", 1), false), (add("b", 1), false)]);
    began.wait().await;
    let late = processor
        .shutdown(ShutdownMode::Drain, Some(Instant::now()))
        .await;
    assert_eq!(late, [Arc::from("blocked")]);
    assert_eq!(tasks(), 0, "its task is gone, its thread is not");
    release.send(()).unwrap();
    registration.remove_and_wait().await.unwrap();
    assert_eq!(log.lines(), ["a"]);
}

// B71: a handler that shuts its own processor down, and waits.
#[tokio::test]
async fn shutdown_from_a_blocking_callback_names_it_late() {
    let processor = processor();
    let (tx, rx) = tokio::sync::oneshot::channel();
    let registration = {
        let (processor_, mut tx) = (processor.clone(), Some(tx));
        processor
            .add_listener(
                HandlerFuncs::<Thing>::new().on_add(move |_, _| {
                    let shutdown = processor_.shutdown(ShutdownMode::Drop, None);
                    let late = Handle::current().block_on(shutdown);
                    tx.take().unwrap().send(late).unwrap();
                }),
                HandlerOptions::new().with_name("quitter"),
                vec![thing("a", 1)],
                synced(),
            )
            .unwrap()
    };
    processor.start();
    assert_eq!(rx.await.unwrap(), [Arc::from("quitter")]);
    registration.remove_and_wait().await.unwrap();
}

#[test]
fn runtime_gone_drops_the_handler_and_says_so() {
    let processor = processor();
    let (registration, _) = record(&processor);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async { processor.start() });
    drop(runtime);
    assert!(registration.removed());
    processor.distribute(add("a", 1), false);
    assert_eq!(registration.stats().depth, 0);
}

// No user code under a lock: the handler's drop calls back into the processor.
#[test]
fn handler_added_to_a_runtime_gone_may_call_back_when_dropped() {
    struct AsksWhenDropped(SharedProcessor<Thing>, Log);

    impl Drop for AsksWhenDropped {
        fn drop(&mut self) {
            self.1
                .push(format!("{} left", self.0.registrations().len()));
        }
    }

    let processor = processor();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async { processor.start() });
    drop(runtime);
    let log = Log::default();
    let guard = AsksWhenDropped(processor.clone(), log.clone());
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
    assert_eq!(log.lines(), ["1 left"]);
    assert!(registration.removed());
}
