//! What starts an informer, what ends it, and in which order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use futures_util::FutureExt;
use informers_objects::ApiResource;
use informers_reflector::{ListOptions, ListStream, ListerWatcher, WatchOptions, WatchStart};
use informers_rest::{Client, Config};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::*;
use crate::{Scope, SharedInformerFactory};

/// A source that says when its watch was given up.
struct Watched {
    source: FakeSource,
    ended: Mutex<Option<oneshot::Sender<()>>>,
}

impl ListerWatcher<Obj> for Watched {
    fn list(&self, options: ListOptions) -> ListStream<Obj> {
        self.source.list(options)
    }

    fn watch(&self, options: WatchOptions) -> WatchStart<Obj> {
        let ended = self.ended.lock().unwrap().take();
        let watch = self.source.watch(options);
        Box::pin(async move {
            let events = watch.await?;
            // Dropped with the stream, which is what the receiver learns.
            let events = events.map(move |event| {
                let _ended = &ended;
                event
            });
            Ok(Box::pin(events) as _)
        })
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        self.source.description()
    }
}

// X4: what the process loop has in its hands when the stop comes is still told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_stops_only_after_the_controller() {
    let (entered, in_index) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let hold = Mutex::new((Some(entered), released));
    let indexers = Indexers::new().with("held", move |obj: &Obj| {
        if obj.name == "held" {
            let mut hold = hold.lock().unwrap();
            if let Some(entered) = hold.0.take() {
                entered.send(()).unwrap();
                // Leaves the worker to the tasks that gave way to this one.
                tokio::task::block_in_place(|| hold.1.recv().unwrap());
            }
        }
        Vec::<String>::new()
    });
    let source = seeded(&["a"]);
    let (ended, watch_ended) = oneshot::channel();
    let watched = Watched {
        source: source.clone(),
        ended: Mutex::new(Some(ended)),
    };
    let informer = SharedIndexInformer::new(Arc::new(watched), options().with_indexers(indexers));
    let told = Recorder::default();
    informer.add_event_handler(told.clone()).unwrap();
    let mut running = JoinSet::new();
    running.spawn(informer.run(CancellationToken::new()));
    informer.wait_for_cache_sync(LONG).await.unwrap();
    source.write("held");
    in_index.await.unwrap();
    informer.stop_with_drain();
    // The reflector has ended; the process loop has not, and so the handlers must not.
    watch_ended.await.unwrap_err();
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(!informer.shared.processor.is_stopped());
    }
    assert_eq!(informer.lifecycle(), Lifecycle::Running);
    release.send(()).unwrap();
    running.join_next().await.unwrap().unwrap().unwrap();
    assert!(informer.shared.processor.is_stopped());
    assert_eq!(told.lines(), ["add! a", "add held"]);
}

// F2: the period of a type's own options wins, zero included.
#[tokio::test]
async fn resync_period_of_a_type_wins_over_the_factorys() {
    let seconds = Duration::from_secs;
    let client = Client::new(Config::new("http://127.0.0.1:1").unwrap()).unwrap();
    let factory = SharedInformerFactory::builder(client)
        .with_resync_period(seconds(60))
        .with_options_for::<Pod>(move || InformerOptions::new().with_resync_period(seconds(7)))
        .with_options_for::<crate::DynamicObject>(|| {
            InformerOptions::new().with_resync_period(Duration::ZERO)
        })
        .build();
    let of_type = factory.informer::<Pod>();
    let of_factory = factory.informer::<ConfigMap>();
    let never = factory.dynamic(ApiResource::from_gvr("example.com", "v1", "widgets"));
    let scope = || Scope::default().in_namespace("other");
    let asked = InformerOptions::new().with_resync_period(seconds(3));
    let of_caller = factory.informer_with_options::<Pod>(scope(), asked);
    let silent = factory.informer_with_options::<ConfigMap>(scope(), InformerOptions::new());
    for (period, expected) in [
        (of_type.shared.processor.resync_check_period(), 7),
        (of_caller.shared.processor.resync_check_period(), 3),
        (of_factory.shared.processor.resync_check_period(), 60),
        (silent.shared.processor.resync_check_period(), 60),
        (never.shared.processor.resync_check_period(), 0),
    ] {
        assert_eq!(period, seconds(expected));
    }
}

// B90: whoever starts the informer from its error handler gets no second loop.
#[tokio::test(start_paused = true)]
async fn error_handler_that_starts_the_informer_again_is_refused() {
    let source = seeded(&["a"]);
    for _ in 0..5 {
        source.fail_list(500, "InternalError");
    }
    let informer = informer(&source, options());
    let itself = Arc::new(OnceLock::new());
    let refused = Arc::new(AtomicUsize::new(0));
    let (starting, count) = (Arc::clone(&itself), Arc::clone(&refused));
    informer
        .set_watch_error_handler(Arc::new(move |_| {
            let informer: &SharedIndexInformer<Obj> = starting.get().unwrap();
            let started = informer.run(CancellationToken::new()).now_or_never();
            started.unwrap().unwrap_err();
            count.fetch_add(1, Ordering::SeqCst);
        }))
        .unwrap();
    assert!(itself.set(informer.clone()).is_ok());
    let running = Running::of(source, informer);
    running.synced().await;
    until(|| running.source.watches() == 1).await;
    tokio::time::sleep(LONG).await;
    assert_eq!(refused.load(Ordering::SeqCst), 5);
    assert_eq!((running.source.lists(), running.source.watches()), (6, 1));
    running.stop().await;
}

// B91: nothing of an informer is registered anywhere, so nothing outlives it.
#[tokio::test(start_paused = true)]
async fn informers_that_come_and_go_leave_nothing_behind() {
    let before = Handle::current().metrics().num_alive_tasks();
    let source = seeded(&["a"]);
    for _ in 0..2_000 {
        let informer = informer(&source, options());
        let store = Arc::downgrade(&informer.shared.store);
        let told = Recorder::default();
        informer.add_event_handler(told.clone()).unwrap();
        let running = Running::of(source.clone(), informer);
        running.synced().await;
        running.stop().await;
        assert_eq!(told.lines(), ["add! a"]);
        assert!(store.upgrade().is_none(), "the store is still there");
        assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
    }
}
