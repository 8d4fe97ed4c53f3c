//! Order, initial lists, sync state.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::Job;

#[tokio::test(start_paused = true)]
async fn handlers_are_each_told_everything_in_order() {
    let processor = inline();
    let (_, early) = record(&processor);
    processor.start();
    let (_, late) = record(&processor);
    processor.distribute(initial("a", 1), false);
    processor.distribute_all(&[
        (update("a", 1, 2), false),
        (delete("a", 2), false),
        (add("a", 3), false),
        (tombstone("a", None), false),
    ]);
    settle().await;
    let told = [
        "initial a 1",
        "update a 1>2",
        "delete a 2",
        "add a 3",
        "tombstone a ?",
    ];
    assert_eq!(early.lines(), told);
    assert_eq!(late.lines(), told);
}

#[tokio::test(start_paused = true)]
async fn handler_before_start_waits_and_is_then_told() {
    let processor = inline();
    let (registration, log) = record(&processor);
    processor.distribute(add("a", 1), false);
    settle().await;
    assert_eq!(log.len(), 0);
    assert_eq!(registration.stats().depth, 1);
    processor.start();
    processor.start();
    settle().await;
    assert_eq!(log.lines(), ["add a 1"]);
}

// B66, S6
#[tokio::test(start_paused = true)]
async fn handler_late_is_told_the_snapshot_before_anything_later() {
    let processor = inline();
    processor.start();
    let log = Log::default();
    processor
        .add_listener(
            Recorder(log.clone()),
            HandlerOptions::new(),
            vec![thing("a", 1), thing("b", 1)],
            synced(),
        )
        .unwrap();
    processor.distribute(update("a", 1, 2), false);
    settle().await;
    assert_eq!(log.lines(), ["initial a 1", "initial b 1", "update a 1>2"]);
}

// B56, S3–S5
#[tokio::test(start_paused = true)]
async fn sync_notification_goes_only_to_those_who_asked_for_resync() {
    let processor = with_resync(600 * SECOND);
    let (without, with) = (Log::default(), Log::default());
    for (log, period) in [(&without, Duration::ZERO), (&with, 600 * SECOND)] {
        processor
            .add_listener(
                Recorder(log.clone()),
                HandlerOptions::new().with_resync_period(period),
                Vec::new(),
                synced(),
            )
            .unwrap();
    }
    processor.start();
    processor.distribute_all(&[(update("x", 1, 2), false), (update("y", 1, 1), true)]);
    settle().await;
    assert_eq!(without.lines(), ["update x 1>2"]);
    assert_eq!(with.lines(), ["update x 1>2", "update y 1>1"]);
}

// B67, S7, S8
#[tokio::test(start_paused = true)]
async fn handler_has_synced_once_the_informer_has_and_its_initial_adds_returned() {
    let processor = inline();
    processor.start();
    let informer = SyncFlag::new();
    let (step, wait) = tokio::sync::mpsc::channel::<()>(1);
    let wait = Arc::new(tokio::sync::Mutex::new(wait));
    let registration = processor
        .add_async_listener(
            move |_: Notification<Thing>| {
                let wait = Arc::clone(&wait);
                async move {
                    wait.lock().await.recv().await;
                }
            },
            HandlerOptions::new(),
            Vec::new(),
            informer.clone(),
        )
        .unwrap();
    processor.distribute_all(&[(initial("a", 1), false), (initial("b", 1), false)]);
    settle().await;
    informer.set();
    assert!(
        !registration.has_synced(),
        "the informer has, the handler has not"
    );
    assert_eq!(registration.stats().initial_outstanding, 2);

    step.send(()).await.unwrap();
    settle().await;
    assert!(!registration.has_synced(), "one of two returned");
    let mut waiting = tokio::task::JoinSet::from_iter([registration.wait_for_sync()]);
    step.send(()).await.unwrap();
    waiting.join_next().await.unwrap().unwrap().unwrap();
    assert!(registration.has_synced());

    processor.distribute(add("c", 1), false);
    settle().await;
    assert!(
        registration.has_synced(),
        "a later add is not of the initial list"
    );
}

// B67: an empty list.
#[tokio::test(start_paused = true)]
async fn handler_of_an_empty_list_has_synced_with_its_informer() {
    let processor = inline();
    let informer = SyncFlag::new();
    let registration = processor
        .add_listener(
            Recorder(Log::default()),
            HandlerOptions::new(),
            Vec::new(),
            informer.clone(),
        )
        .unwrap();
    assert!(!registration.has_synced());
    informer.set();
    assert!(registration.has_synced());
    registration.wait_for_sync().await.unwrap();
}

// B67: removed before sync; its informer stopped before sync (S9).
#[tokio::test(start_paused = true)]
async fn wait_for_sync_of_a_handler_that_is_gone_fails() {
    let processor = inline();
    processor.start();
    let add = |name: &str| {
        processor
            .add_listener(
                Recorder(Log::default()),
                HandlerOptions::new().with_name(name),
                Vec::new(),
                SyncFlag::new(),
            )
            .unwrap()
    };
    let (removed, stopped) = (add("removed"), add("stopped"));
    let (gone, ()) = tokio::join!(removed.wait_for_sync(), async { removed.remove() });
    assert_eq!(gone.unwrap_err().handler(), "removed");
    let (gone, _) = tokio::join!(
        stopped.wait_for_sync(),
        processor.shutdown(ShutdownMode::Drop, None)
    );
    assert_eq!(gone.unwrap_err().handler(), "stopped");
    assert!(!removed.has_synced() && !stopped.has_synced());
}

/// Counts jobs.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl HandlerExecutor for Counting {
    fn execute(&self, job: Job) {
        self.0.fetch_add(1, Ordering::Relaxed);
        job();
    }
}

// Decision 3
#[tokio::test(start_paused = true)]
async fn handler_idle_has_no_job_and_a_burst_is_one() {
    let jobs = Counting::default();
    let processor = SharedProcessor::new(ProcessorOptions {
        executor: Arc::new(jobs.clone()),
        ..ProcessorOptions::default()
    });
    let (_, log) = record(&processor);
    processor.start();
    settle().await;
    assert_eq!(jobs.0.load(Ordering::Relaxed), 0);
    let batch: Vec<_> = (0..500).map(|n| (add("a", n), false)).collect();
    processor.distribute_all(&batch);
    settle().await;
    assert_eq!(log.len(), 500);
    assert_eq!(jobs.0.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn handler_with_a_full_coalescing_buffer_is_told_the_last_state() {
    let processor = inline();
    let log = Log::default();
    let registration = processor
        .add_listener(
            Recorder(log.clone()),
            HandlerOptions::new().with_buffer(Buffer::Coalescing {
                max: std::num::NonZeroUsize::MIN,
            }),
            vec![thing("a", 1)],
            synced(),
        )
        .unwrap();
    for version in 1..100 {
        processor.distribute(update("a", version, version + 1), false);
    }
    assert_eq!(registration.stats().depth, 1);
    assert_eq!(registration.stats().coalesced, 99);
    processor.start();
    settle().await;
    assert_eq!(log.lines(), ["initial a 100"]);
    assert!(registration.has_synced());
}

#[tokio::test(start_paused = true)]
async fn processor_dropped_ends_its_tasks() {
    let before = tasks();
    let processor = inline();
    let (registration, _) = record(&processor);
    processor.start();
    settle().await;
    assert_eq!(tasks(), before + 1);
    drop(processor);
    settle().await;
    assert_eq!(tasks(), before);
    assert!(registration.removed());
}

// S11, B60
#[tokio::test(start_paused = true)]
async fn filtering_handler_turns_updates_into_adds_and_deletes() {
    let processor = inline();
    let log = Log::default();
    let even = |obj: &Thing| obj.version.parse::<u32>().unwrap().is_multiple_of(2);
    processor
        .add_listener(
            FilteringHandler::new(even, Recorder(log.clone())),
            HandlerOptions::new(),
            vec![thing("a", 1), thing("b", 2)],
            synced(),
        )
        .unwrap();
    processor.start();
    processor.distribute_all(&[
        (update("a", 1, 2), false),
        (update("a", 2, 4), false),
        (update("a", 4, 5), false),
        (update("a", 5, 7), false),
        (delete("a", 7), false),
        (tombstone("b", Some(2)), false),
        (tombstone("c", Some(3)), false),
        (tombstone("d", None), false),
    ]);
    settle().await;
    assert_eq!(
        log.lines(),
        [
            "initial b 2",
            "add a 2",
            "update a 2>4",
            "delete a 4",
            "tombstone b 2",
            "tombstone d ?"
        ]
    );
}
