//! Whole informers over a fake source, with the paused clock and handlers run inline.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use informers_cache_core::{Deleted, Transform};
use informers_indexer::Indexers;
use informers_processor::{EventHandler, InlineExecutor, Notification};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{AlreadyStarted, Lifecycle, SharedIndexInformer};
use crate::options::{InformerOptions, QueueKind};
use crate::testing::{FakeSource, Obj};

mod abuse;
mod lifecycle;

const LONG: Duration = Duration::from_secs(60);

/// Writes down what it is told.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self, beginning: &str) -> usize {
        let lines = self.lines();
        lines
            .iter()
            .filter(|line| line.starts_with(beginning))
            .count()
    }
}

impl EventHandler<Obj> for Recorder {
    fn on_add(&mut self, obj: &Arc<Obj>, is_in_initial_list: bool) {
        let initial = if is_in_initial_list { "!" } else { "" };
        self.push(format!("add{initial} {}", obj.name));
    }

    fn on_update(&mut self, old: &Arc<Obj>, new: &Arc<Obj>) {
        let same = if old.rv == new.rv { "=" } else { "" };
        self.push(format!("update{same} {}", new.name));
    }

    fn on_delete(&mut self, deleted: &Deleted<Obj>) {
        let unknown = if deleted.is_final_state_unknown() {
            "?"
        } else {
            ""
        };
        self.push(format!("delete{unknown} {}", deleted.name));
    }
}

fn options() -> InformerOptions<Obj> {
    InformerOptions::new().with_executor(Arc::new(InlineExecutor))
}

/// An informer and the task that runs it.
struct Running {
    source: FakeSource,
    informer: SharedIndexInformer<Obj>,
    task: JoinHandle<Result<(), AlreadyStarted>>,
    cancel: CancellationToken,
}

impl Running {
    fn of(source: FakeSource, informer: SharedIndexInformer<Obj>) -> Self {
        let cancel = CancellationToken::new();
        #[expect(clippy::disallowed_methods, reason = "`stop` waits for it")]
        let task = tokio::spawn(informer.run(cancel.clone()));
        Self {
            source,
            informer,
            task,
            cancel,
        }
    }

    async fn synced(&self) {
        self.informer.wait_for_cache_sync(LONG).await.unwrap();
    }

    async fn stop(self) {
        self.cancel.cancel();
        self.task.await.unwrap().unwrap();
        assert_eq!(self.informer.lifecycle(), Lifecycle::Stopped);
    }
}

fn informer(source: &FakeSource, options: InformerOptions<Obj>) -> SharedIndexInformer<Obj> {
    SharedIndexInformer::new(Arc::new(source.clone()), options)
}

/// Lets virtual time pass until the condition holds; fails after an hour of it.
async fn until(condition: impl Fn() -> bool) {
    for _ in 0..360_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came true");
}

fn seeded(names: &[&str]) -> FakeSource {
    let source = FakeSource::new();
    for name in names {
        source.write(name);
    }
    source
}

// Scenario: TestAddWhileActive, TestShutdown, S6, S7, X2
#[tokio::test(start_paused = true)]
async fn handlers_before_and_after_start_are_told_of_everything_once() {
    for queue in [QueueKind::DeltaFifo, QueueKind::InOrder] {
        let source = seeded(&["a"]);
        let informer = informer(&source, options().with_queue(queue));
        let (early, late) = (Recorder::default(), Recorder::default());
        informer.add_event_handler(early.clone()).unwrap();
        let running = Running::of(source, informer);
        running.synced().await;
        running.source.write("b");
        until(|| early.lines().len() == 2).await;
        let registration = running.informer.add_event_handler(late.clone()).unwrap();
        registration.wait_for_sync().await.unwrap();
        running.source.write("c");
        until(|| early.lines().len() == 3 && late.lines().len() == 3).await;
        assert_eq!(early.lines(), ["add! a", "add b", "add c"]);
        let mut initial = late.lines()[..2].to_vec();
        initial.sort();
        assert_eq!(initial, ["add! a", "add! b"]);
        assert_eq!(late.lines()[2], "add c");
        running.stop().await;
    }
}

// Scenario: TestSharedInformerWatchDisruption, TestResetWatch, B56, B59
#[tokio::test(start_paused = true)]
async fn relist_after_lost_events_tells_changes_and_missed_deletes_only() {
    for queue in [QueueKind::DeltaFifo, QueueKind::InOrder] {
        let source = seeded(&["gone", "same", "changed"]);
        let informer = informer(&source, options().with_queue(queue));
        let told = Recorder::default();
        informer.add_event_handler(told.clone()).unwrap();
        let running = Running::of(source, informer);
        running.synced().await;
        until(|| running.source.watches() == 1).await;
        running.source.write_unseen("changed");
        running.source.write_unseen("new");
        running.source.delete_unseen("gone");
        running.source.reset_watch();
        until(|| told.lines().len() == 6).await;
        let mut lines = told.lines()[3..].to_vec();
        lines.sort();
        assert_eq!(lines, ["add new", "delete? gone", "update changed"]);
        assert_eq!(running.informer.store().len(), 3);
        running.stop().await;
    }
}

// Scenario: TestListenerResyncPeriods, Y1–Y5, B68
#[tokio::test(start_paused = true)]
async fn resync_reaches_each_handler_at_its_own_period() {
    let source = seeded(&["a", "b"]);
    let informer = informer(
        &source,
        options().with_resync_period(Duration::from_secs(1)),
    );
    let recorders = [
        Recorder::default(),
        Recorder::default(),
        Recorder::default(),
    ];
    for (recorder, seconds) in recorders.iter().zip([0, 2, 3]) {
        informer
            .add_event_handler_with_resync_period(recorder.clone(), Duration::from_secs(seconds))
            .unwrap();
    }
    let running = Running::of(source, informer);
    running.synced().await;
    let counts = || {
        recorders
            .each_ref()
            .map(|recorder| recorder.count("update= "))
    };
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(counts(), [0, 2, 0]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counts(), [0, 2, 2]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counts(), [0, 4, 2]);
    assert_eq!(running.source.lists(), 1, "a resync never asks the server");
    running.stop().await;
}

// Scenario: TestSharedInformerErrorHandling, B89
#[tokio::test(start_paused = true)]
async fn list_error_reaches_the_error_handler_and_the_wait() {
    let source = FakeSource::new();
    for _ in 0..100 {
        source.fail_list(403, "Forbidden");
    }
    let informer = informer(&source, options());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&seen);
    informer
        .set_watch_error_handler(Arc::new(move |failure| {
            let status = failure.error.status().map(|status| status.code);
            heard.lock().unwrap().push(status);
        }))
        .unwrap();
    let running = Running::of(source, informer);
    let late = running
        .informer
        .wait_for_cache_sync(Duration::from_secs(5))
        .await;
    let text = late.unwrap_err().to_string();
    assert!(text.starts_with("not synced within 5s: fakes ("), "{text}");
    assert!(text.contains("as the test wants"), "{text}");
    assert_eq!(seen.lock().unwrap()[0], Some(403));
    assert!(seen.lock().unwrap().len() < 10, "it backs off");
    running.stop().await;
}

// Scenario: TestIndexer, B76
#[tokio::test(start_paused = true)]
async fn index_added_after_start_knows_what_is_stored() {
    let source = seeded(&["a", "b"]);
    let running = Running::of(source.clone(), informer(&source, options()));
    running.synced().await;
    let first = |obj: &Obj| vec![obj.name.clone()];
    running
        .informer
        .add_indexers(Indexers::new().with("byName", first))
        .unwrap();
    let found = running.informer.store().by_index("byName", "b").unwrap();
    assert_eq!(found.len(), 1);
    assert!(
        running
            .informer
            .add_indexers(Indexers::new().with("byName", first))
            .is_err()
    );
    running.stop().await;
}

// Scenario: TestSharedInformerTransformer, TestTransformingInformer, B61
#[tokio::test(start_paused = true)]
async fn transform_runs_once_before_anyone_sees_the_object() {
    let source = seeded(&["a"]);
    let informer = informer(
        &source,
        options()
            .with_resync_period(Duration::from_secs(1))
            .with_transform(Transform::in_place(|obj: &mut Obj| obj.rv.push_str("-t"))),
    );
    let told = Recorder::default();
    informer.add_event_handler(told.clone()).unwrap();
    let running = Running::of(source, informer);
    running.synced().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(running.informer.store().get_by_key("a").unwrap().rv, "1-t");
    running.stop().await;
}

// Scenario: TestSharedInformerStartRace, S15
#[tokio::test(start_paused = true)]
async fn setters_after_start_are_refused() {
    let source = seeded(&[]);
    let running = Running::of(source.clone(), informer(&source, options()));
    running.synced().await;
    let transform = Transform::in_place(|_: &mut Obj| {});
    let error = running.informer.set_transform(transform).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the informer of fakes has already started"
    );
    assert!(
        running
            .informer
            .set_watch_error_handler(Arc::new(|_| {}))
            .is_err()
    );
    // X1: a second run is refused, and does not disturb the first.
    assert!(
        running
            .informer
            .run(CancellationToken::new())
            .await
            .is_err()
    );
    running.source.write("a");
    until(|| running.informer.store().len() == 1).await;
    running.stop().await;
}

// Scenario: TestAddOnStoppedSharedInformer, TestRemoveOnStoppedSharedInformer,
// TestStateSharedInformer, B72, B86
#[tokio::test(start_paused = true)]
async fn stop_is_terminal_and_says_so() {
    let source = seeded(&["a"]);
    let informer = informer(&source, options());
    assert_eq!(informer.lifecycle(), Lifecycle::NotStarted);
    let registration = informer.add_event_handler(Recorder::default()).unwrap();
    let running = Running::of(source, informer.clone());
    running.synced().await;
    assert_eq!(informer.lifecycle(), Lifecycle::Running);
    running.stop().await;
    assert!(informer.add_event_handler(Recorder::default()).is_err());
    assert!(!informer.remove_event_handler(&registration));
    assert!(informer.run(CancellationToken::new()).await.is_err());
}

// X1, B70
#[tokio::test(start_paused = true)]
async fn stop_before_start_ends_the_run_at_once() {
    let source = seeded(&["a"]);
    let informer = informer(&source, options());
    informer.stop();
    informer.stop();
    let running = Running::of(source, informer.clone());
    running.task.await.unwrap().unwrap();
    let late = informer.wait_for_cache_sync(LONG).await.unwrap_err();
    assert!(late.to_string().contains("stopped"), "{late}");
}

// Scenario: TestRemoveWhileActive, TestSharedInformerRemoveHandler, B63
#[tokio::test(start_paused = true)]
async fn removed_handler_is_told_nothing_more_and_others_are() {
    let source = seeded(&["a"]);
    let informer = informer(&source, options());
    let (gone, stays) = (Recorder::default(), Recorder::default());
    let registration = informer.add_event_handler(gone.clone()).unwrap();
    informer.add_event_handler(stays.clone()).unwrap();
    let running = Running::of(source, informer);
    running.synced().await;
    assert!(running.informer.remove_event_handler(&registration));
    running.source.write("b");
    until(|| stays.lines().len() == 2).await;
    assert_eq!(gone.lines(), ["add! a"]);
    assert!(!running.informer.remove_event_handler(&registration));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn subscription_is_told_what_a_handler_is_told() {
    let source = seeded(&["a"]);
    let informer = informer(&source, options());
    let mut stream = informer.subscribe().unwrap();
    let running = Running::of(source, informer);
    let Some(Notification::Add { obj, .. }) = stream.next().await else {
        panic!("the first is the add");
    };
    assert_eq!(obj.name, "a");
    running.source.delete("a");
    let Some(Notification::Delete(deleted)) = stream.next().await else {
        panic!("the second is the delete");
    };
    assert_eq!(deleted.name.as_str(), "a");
    running.cancel.cancel();
    running.task.await.unwrap().unwrap();
    assert!(stream.next().await.is_none(), "it ends with the informer");
}

// V1
#[tokio::test(start_paused = true)]
async fn own_write_can_be_waited_for() {
    let source = seeded(&["a"]);
    let running = Running::of(source.clone(), informer(&source, options()));
    running.synced().await;
    let written = crate::testing::rv(running.source.write("b"));
    running
        .informer
        .wait_until_observed(&written, LONG)
        .await
        .unwrap();
    assert!(running.informer.store().get_by_key("b").is_some());
    let future = crate::testing::rv(1_000_000);
    let error = running
        .informer
        .wait_until_observed(&future, Duration::from_secs(3))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("resource version 1000000 was not observed within 3s; the store is at {written}")
    );
    running.stop().await;
}

// B62: a panic of a handler disturbs neither the store nor the other handler, and the
// cache counts as synced.
#[tokio::test(start_paused = true)]
async fn panicking_handler_does_not_stop_the_informer() {
    struct Panics;
    impl EventHandler<Obj> for Panics {
        fn on_add(&mut self, obj: &Arc<Obj>, _: bool) {
            assert_ne!(obj.name, "b", "a bug of the handler");
        }
        fn on_update(&mut self, _: &Arc<Obj>, _: &Arc<Obj>) {}
        fn on_delete(&mut self, _: &Deleted<Obj>) {}
    }
    let source = seeded(&["a", "b", "c"]);
    let informer = informer(&source, options());
    let told = Recorder::default();
    let panics = informer.add_event_handler(Panics).unwrap();
    informer.add_event_handler(told.clone()).unwrap();
    let running = Running::of(source, informer);
    running.synced().await;
    assert_eq!(told.lines().len(), 3);
    assert_eq!(panics.stats().panics, 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stop_with_drain_delivers_what_waits() {
    let source = seeded(&["a", "b", "c"]);
    let informer = informer(&source, options());
    let told = Recorder::default();
    informer.add_event_handler(told.clone()).unwrap();
    let running = Running::of(source, informer.clone());
    until(|| informer.has_synced()).await;
    informer.stop_with_drain();
    running.task.await.unwrap().unwrap();
    assert_eq!(told.count("add! "), 3);
}

// Several namespaces in one informer: synced once all are, and a relist of one leaves the
// other alone.
#[tokio::test(start_paused = true)]
async fn informer_over_namespaces_is_one_store_and_relists_apart() {
    for queue in [QueueKind::DeltaFifo, QueueKind::InOrder] {
        let (x, y) = (seeded(&["x/a", "x/b"]), seeded(&["y/a"]));
        y.fail_list(500, "InternalError");
        let sources = [("x", &x), ("y", &y)].map(|(namespace, source)| {
            let source: Arc<dyn informers_reflector::ListerWatcher<Obj>> = Arc::new(source.clone());
            (namespace.to_owned(), source)
        });
        let informer = SharedIndexInformer::over_namespaces(sources, options().with_queue(queue));
        let told = Recorder::default();
        informer.add_event_handler(told.clone()).unwrap();
        let running = Running::of(x.clone(), informer);
        until(|| running.informer.store().len() == 2).await;
        assert!(!running.informer.has_synced(), "y is still missing");
        running.synced().await;
        assert_eq!(told.count("add! "), 3);
        until(|| x.watches() == 1 && y.watches() == 1).await;
        x.delete_unseen("x/a");
        x.reset_watch();
        until(|| told.lines().len() == 4).await;
        assert_eq!(told.lines()[3], "delete? x/a");
        y.write("y/c");
        until(|| told.lines().len() == 5).await;
        assert_eq!(told.lines()[4], "add y/c");
        assert_eq!(running.informer.store().namespace("y").len(), 2);
        running.stop().await;
    }
}

// Scenario: TestMutationDetector, B73
#[tokio::test(start_paused = true)]
async fn object_changed_in_place_is_detected() {
    use std::sync::atomic::{AtomicU64, Ordering};
    // Stands for interior mutability: what the fingerprint of every object says.
    let marks = Arc::new(AtomicU64::new(0));
    let found = Arc::new(Mutex::new(Vec::new()));
    let (read, tell) = (Arc::clone(&marks), Arc::clone(&found));
    let detector = crate::MutationDetector::new(move |_: &Obj| read.load(Ordering::SeqCst))
        .on_mutation(move |name| tell.lock().unwrap().push(name.to_string()));
    let source = seeded(&["a"]);
    let running = Running::of(
        source.clone(),
        informer(&source, options().with_mutation_detector(detector)),
    );
    running.synced().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(found.lock().unwrap().is_empty());
    marks.store(7, Ordering::SeqCst);
    until(|| *found.lock().unwrap() == ["a"]).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(found.lock().unwrap().len(), 1, "told once");
    running.stop().await;
}
