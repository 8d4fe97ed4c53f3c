//! Stop: whatever an informer is doing, it ends at once and leaves no task.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use informers::{
    BackoffOptions, HandlerFuncs, HandlerOptions, InformerOptions, Initial, ReflectorOptions,
    ReflectorPhase, Scope, SharedIndexInformer, SharedInformerFactory,
};
use informers_fake_apiserver::{FakeApiServer, Fault};
use informers_tests::until;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::support::{PATIENCE, client, config_map, reflector};

/// Whatever an informer does, it stops within this time.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A server with objects, and a factory whose informer waits long before it tries again.
struct Setup {
    server: FakeApiServer,
    factory: SharedInformerFactory,
    maps: SharedIndexInformer<ConfigMap>,
    tasks: usize,
}

impl Setup {
    async fn new() -> Self {
        let server = FakeApiServer::start().await.unwrap();
        for n in 0..20 {
            server
                .cluster()
                .create(config_map(&format!("map-{n}"), "x"))
                .unwrap();
        }
        let tasks = alive();
        let factory = SharedInformerFactory::new(client(&server));
        let reflector = ReflectorOptions {
            initial: Initial::List,
            request_timeout: PATIENCE,
            backoff: BackoffOptions {
                initial: Duration::from_secs(60),
                cap: Duration::from_secs(60),
                ..BackoffOptions::default()
            },
            ..reflector()
        };
        let options = InformerOptions::new().with_reflector(reflector);
        let maps = factory.informer_with_options(Scope::all(), options);
        Self {
            server,
            factory,
            maps,
            tasks,
        }
    }

    fn phase(&self) -> ReflectorPhase {
        self.maps
            .reflector_state()
            .map(|state| state.phase)
            .unwrap_or_default()
    }

    /// Stops at once, and no task of client or informer is left.
    async fn stops_at_once(self) {
        let began = Instant::now();
        self.factory.shutdown(PATIENCE).await.unwrap();
        let took = began.elapsed();
        assert!(took < AT_ONCE, "{took:?}");
        self.leaves_no_task().await;
    }

    async fn leaves_no_task(self) {
        drop(self.maps);
        self.factory.client().close().await;
        drop(self.factory);
        // The server's tasks of its connections end as they notice the end of these.
        let tasks = self.tasks;
        until("no task is left", PATIENCE, || alive() <= tasks)
            .await
            .unwrap();
        self.server.shutdown().await;
    }
}

/// Tasks of this test's runtime.
fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

// B69, (a) to (e).

#[tokio::test(flavor = "multi_thread")]
async fn stop_during_a_stalled_list_is_immediate_and_leaves_no_task() {
    let setup = Setup::new().await;
    setup
        .server
        .faults()
        .inject(Fault::stall().after_bytes(500).on_list());
    setup.factory.start();
    let asked = setup
        .server
        .wait_for_request(|request| request.status == Some(200), PATIENCE);
    asked.await.unwrap();
    until("it lists", PATIENCE, || {
        setup.phase() == ReflectorPhase::Listing
    })
    .await
    .unwrap();
    setup.stops_at_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_during_a_backoff_is_immediate_and_leaves_no_task() {
    let setup = Setup::new().await;
    setup.server.faults().inject(Fault::status(500));
    setup.factory.start();
    until("it waits", PATIENCE, || {
        setup.phase() == ReflectorPhase::Waiting
    })
    .await
    .unwrap();
    setup.stops_at_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_of_an_idle_watch_is_immediate_and_leaves_no_task() {
    let setup = Setup::new().await;
    setup.factory.start();
    setup.factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    setup.server.wait_for_watches(1, PATIENCE).await.unwrap();
    setup.stops_at_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_during_a_wait_that_the_server_asked_for_is_immediate_and_leaves_no_task() {
    let setup = Setup::new().await;
    setup
        .server
        .faults()
        .inject(Fault::status(429).retry_after(60));
    setup.factory.start();
    let asked = setup
        .server
        .wait_for_request(|request| request.status == Some(429), PATIENCE);
    asked.await.unwrap();
    until("it waits", PATIENCE, || {
        setup.phase() == ReflectorPhase::Waiting
    })
    .await
    .unwrap();
    setup.stops_at_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_names_a_handler_that_is_at_work_and_waits_for_it_when_asked_again() {
    let setup = Setup::new().await;
    let (release, released) = mpsc::channel::<()>();
    let (entered, has_entered) = mpsc::channel();
    let slow = HandlerFuncs::new().on_add(move |_, _| {
        entered.send(()).unwrap();
        // An error is the end of the test, after the release.
        let _ = released.recv();
    });
    let options = HandlerOptions::new().with_name("slow");
    setup
        .maps
        .add_event_handler_with_options(slow, options)
        .unwrap();
    setup.factory.start();
    until("it is in the callback", PATIENCE, || {
        has_entered.try_recv().is_ok()
    })
    .await
    .unwrap();
    let late = setup
        .factory
        .shutdown(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(late.late().len(), 1, "{late}");
    assert!(late.late()[0].ends_with("slow"), "{late}");
    release.send(()).unwrap();
    drop(release);
    setup.factory.shutdown(PATIENCE).await.unwrap();
    assert!(
        has_entered.try_recv().is_err(),
        "no callback after the one in flight"
    );
    setup.leaves_no_task().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drain_delivers_what_waits_for_a_handler() {
    let setup = Setup::new().await;
    let (told, was_told) = mpsc::channel();
    let handler = HandlerFuncs::new().on_add(move |_, _| told.send(()).unwrap());
    setup.maps.add_event_handler(handler).unwrap();
    setup.factory.start();
    until("it has synced", PATIENCE, || setup.maps.has_synced())
        .await
        .unwrap();
    setup.factory.shutdown_with_drain(PATIENCE).await.unwrap();
    assert_eq!(was_told.try_iter().count(), 20);
    setup.leaves_no_task().await;
}

// B70

/// Ten informers of a factory, in namespaces of their own.
fn ten(factory: &SharedInformerFactory) -> Vec<SharedIndexInformer<ConfigMap>> {
    let scopes = (0..10).map(|n| Scope::all().in_namespace(format!("ns-{n}")));
    scopes.map(|scope| factory.informer_in(scope)).collect()
}

async fn ten_informers<F: Future<Output = ()>>(
    end: impl FnOnce(SharedInformerFactory, Vec<SharedIndexInformer<ConfigMap>>) -> F,
) {
    let server = FakeApiServer::start().await.unwrap();
    let tasks = alive();
    let client = client(&server);
    let factory = SharedInformerFactory::new(client.clone());
    let informers = ten(&factory);
    let began = Instant::now();
    end(factory, informers).await;
    let took = began.elapsed();
    assert!(took < AT_ONCE, "{took:?}");
    client.close().await;
    until("no task is left", PATIENCE, || alive() <= tasks)
        .await
        .unwrap();
    assert_eq!(server.open_watches(), 0);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_right_after_start_ends_all_informers() {
    ten_informers(|factory, _informers| async move {
        factory.start();
        factory.shutdown(PATIENCE).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_before_start_is_no_error_and_nothing_starts_afterwards() {
    ten_informers(|factory, informers| async move {
        factory.shutdown(PATIENCE).await.unwrap();
        factory.start();
        assert!(informers.iter().all(|it| it.reflector_state().is_none()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_twice_at_once_ends_all_informers() {
    // B71: a concurrent double shutdown.
    ten_informers(|factory, _informers| async move {
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        let (one, two) = tokio::join!(factory.shutdown(PATIENCE), factory.shutdown(PATIENCE));
        one.unwrap();
        two.unwrap();
        factory.shutdown(PATIENCE).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drop_of_the_factory_stops_what_it_started() {
    ten_informers(|factory, informers| async move {
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        drop((factory, informers));
    })
    .await;
}
