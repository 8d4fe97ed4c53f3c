//! Start and wait.

use informers::{Lifecycle, Scope};
use informers_fake_apiserver::{FakeApiServer, Fault};
use informers_tests::{History, until};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENCE, config_map, converge, factory, reads, truth};

#[tokio::test(flavor = "multi_thread")]
async fn start_may_be_called_again_after_more_were_asked_for() {
    let server = FakeApiServer::start().await.unwrap();
    server.cluster().seed_pods(10, 2);
    server.cluster().seed_nodes(2);
    let factory = factory(&server);
    let pods = factory.informer::<Pod>();
    factory.start();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let nodes = factory.informer::<Node>();
    let history = History::default();
    nodes.add_event_handler(history.clone()).unwrap();
    // B87: asked for and not started: visible as such, and not waited for.
    assert_eq!(nodes.lifecycle(), Lifecycle::NotStarted);
    assert!(!nodes.has_synced());
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert!(!nodes.has_synced());
    assert_eq!(reads(&server, "nodes"), (0, 0));

    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert_eq!(history.counts(), (2, 0, 0));
    assert_eq!(pods.store().len(), 10);
    server.wait_for_watches(2, PATIENCE).await.unwrap();
    let (lists, watches) = reads(&server, "pods");
    assert_eq!(
        lists + watches,
        1,
        "one WatchList, which goes on as the watch"
    );
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_cache_sync_names_the_late_ones_with_their_last_error() {
    // B89
    let server = FakeApiServer::start().await.unwrap();
    let message = r#"pods is forbidden: User "jane" cannot list resource "pods""#;
    server
        .faults()
        .inject(Fault::forbidden().message(message).on_resource("pods"));
    let factory = factory(&server);
    let pods = factory.informer::<Pod>();
    let maps = factory.informer::<ConfigMap>();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    pods.set_watch_error_handler(Arc::new(move |error| {
        told.lock()
            .unwrap()
            .push((error.error.is_forbidden(), error.resource.to_string()));
    }))
    .unwrap();
    factory.start();
    maps.wait_for_cache_sync(PATIENCE).await.unwrap();
    until("a failure", PATIENCE, || !errors.lock().unwrap().is_empty())
        .await
        .unwrap();
    let error = factory
        .wait_for_cache_sync(Duration::from_millis(50))
        .await
        .unwrap_err();
    let [late] = error.late() else {
        panic!("{error}");
    };
    assert!(
        late.informer.contains("pods") && !late.informer_has_synced,
        "{late:?}"
    );
    assert!(
        late.last_error
            .as_ref()
            .is_some_and(|error| error.contains(message)),
        "{late:?}"
    );
    assert!(error.to_string().contains("forbidden"), "{error}");
    assert!(
        errors
            .lock()
            .unwrap()
            .iter()
            .all(|told| *told == (true, late.informer.clone()))
    );

    server.faults().clear();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn informer_outlives_whoever_asked_for_it_first() {
    // B85
    let server = FakeApiServer::start().await.unwrap();
    let factory = factory(&server);
    let (one, two) = (History::default(), History::default());
    let first = factory.informer::<ConfigMap>();
    let registration = first.add_event_handler(one.clone()).unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let second = factory.informer::<ConfigMap>();
    second.add_event_handler(two.clone()).unwrap();
    registration.remove_and_wait().await.unwrap();
    drop((registration, first));
    server.cluster().create(config_map("a", "1")).unwrap();
    converge(&server, "configmaps", &second, &two)
        .await
        .unwrap();
    assert!(one.told().is_empty(), "a removed handler is told nothing");
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_informer_never_runs_again_and_is_replaced_by_a_new_one() {
    // B86
    let server = FakeApiServer::start().await.unwrap();
    server.cluster().create(config_map("a", "1")).unwrap();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let pods = factory.informer::<Pod>();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let again = maps.run(CancellationToken::new()).await.unwrap_err();
    assert!(again.to_string().contains("already started"), "{again}");

    maps.stop();
    until("it has stopped", PATIENCE, || {
        maps.lifecycle() == Lifecycle::Stopped
    })
    .await
    .unwrap();
    assert!(maps.run(CancellationToken::new()).await.is_err());
    assert!(maps.add_event_handler(History::default()).is_err());
    assert_eq!(maps.store().len(), 1, "what it knew stays readable");
    assert_eq!(pods.lifecycle(), Lifecycle::Running, "the others go on");

    let fresh = factory.informer::<ConfigMap>();
    assert_eq!(fresh.lifecycle(), Lifecycle::NotStarted);
    let history = History::default();
    fresh.add_event_handler(history.clone()).unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    history.check(&truth(&server, "configmaps")).unwrap();

    factory.shutdown(PATIENCE).await.unwrap();
    factory.start();
    let after = factory.informer_in::<ConfigMap>(Scope::all().in_namespace("default"));
    factory.start();
    assert_eq!(
        after.lifecycle(),
        Lifecycle::NotStarted,
        "nothing starts after a shutdown"
    );
    let error = fresh.wait_for_cache_sync(Duration::ZERO).await;
    assert!(error.is_ok(), "it had synced");
    let error = after
        .wait_for_cache_sync(Duration::from_millis(20))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not started"), "{error}");
    server.shutdown().await;
}
