//! Many informers in trouble at once, callbacks that use the factory, and a resource that
//! goes and comes back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use informers::{ApiResource, HandlerFuncs, InformerOptions, Object, Scope, SharedInformerFactory};
use informers_fake_apiserver::{FakeApiServer, Fault};
use informers_tests::{History, Told, until};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use serde_json::{Value, json};

use crate::support::{PATIENCE, client, config_map, converge, factory, reads, reflector};

#[tokio::test(flavor = "multi_thread")]
async fn ninety_informers_that_all_get_401_all_recover() {
    // B71
    for tls in [false, true] {
        let server = FakeApiServer::builder().tls(tls).start().await.unwrap();
        for n in 0..90 {
            let mut map = config_map("one", "x");
            map["metadata"]["namespace"] = json!(format!("ns-{n}"));
            server.cluster().create(map).unwrap();
        }
        let factory = SharedInformerFactory::new(client(&server));
        let informers: Vec<_> = (0..90)
            .map(|n| {
                let scope = Scope::all().in_namespace(format!("ns-{n}"));
                let options = InformerOptions::new().with_reflector(reflector());
                factory.informer_with_options::<ConfigMap>(scope, options)
            })
            .collect();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        server.wait_for_watches(90, PATIENCE).await.unwrap();

        server.faults().inject(Fault::status(401));
        server.disconnect_all();
        let in_trouble = || {
            informers.iter().all(|informer| {
                let error = informer
                    .reflector_state()
                    .and_then(|state| state.last_error);
                error.is_some_and(|(_, error)| error.error.is_unauthorized())
            })
        };
        until("all are refused", PATIENCE, in_trouble)
            .await
            .unwrap();
        server.faults().clear();
        for n in 0..90 {
            let patch = json!({"data": {"value": "y"}});
            server
                .cluster()
                .patch_merge("configmaps", &format!("ns-{n}/one"), patch)
                .unwrap();
        }
        let current = || {
            informers.iter().all(|informer| {
                let maps = informer.store().list();
                let value = maps.first().and_then(|map| map.data.as_ref()?.get("value"));
                value.is_some_and(|value| value == "y")
            })
        };
        until("all have recovered", PATIENCE, current)
            .await
            .unwrap();
        factory.shutdown(PATIENCE).await.unwrap();
        server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callback_may_add_start_stop_and_list_other_informers() {
    // B71
    let server = FakeApiServer::start().await.unwrap();
    server.cluster().seed_pods(3, 1);
    server.cluster().create(config_map("a", "1")).unwrap();
    let factory = factory(&server);
    let pods = factory.informer::<Pod>();
    let maps = factory.informer::<ConfigMap>();
    let done = Arc::new(AtomicUsize::new(0));
    let (inside, counted, own) = (factory.clone(), Arc::clone(&done), maps.clone());
    let runtime = tokio::runtime::Handle::current();
    let handler = HandlerFuncs::new().on_add(move |_: &Arc<ConfigMap>, _| {
        let _runtime = runtime.enter();
        let secrets = inside.informer::<Secret>();
        secrets.add_event_handler(History::default()).unwrap();
        own.add_event_handler(History::default()).unwrap();
        inside.start();
        secrets.stop();
        assert!(inside.informer::<Pod>().store().list().len() <= 3);
        own.remove_event_handler(&own.handlers()[1]);
        counted.fetch_add(1, Ordering::SeqCst);
    });
    maps.add_event_handler(handler).unwrap();
    factory.start();
    until("the callback returned", PATIENCE, || {
        done.load(Ordering::SeqCst) == 1
    })
    .await
    .unwrap();
    pods.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert_eq!(maps.handlers().len(), 1);
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true}],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_that_is_removed_and_comes_back_with_others_is_followed() {
    // B88
    let server = FakeApiServer::start().await.unwrap();
    let cluster = server.cluster();
    cluster.create(definition()).unwrap();
    for name in ["old", "both"] {
        cluster.create(widget(name)).unwrap();
    }
    let factory = factory(&server);
    let resource: ApiResource = "example.com/v1/widgets".parse().unwrap();
    let options = InformerOptions::new().with_reflector(reflector());
    let widgets = factory.dynamic_with_options(resource, Scope::all(), options);
    let history = History::default();
    widgets.add_event_handler(history.clone()).unwrap();
    let not_found = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&not_found);
    widgets
        .set_watch_error_handler(Arc::new(move |error| {
            *counted.lock().unwrap() += usize::from(error.error.is_not_found());
        }))
        .unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    let first = widgets.store().get_by_key("default/both").unwrap();

    // Cut off first, so that the deletes are not told by the watch.
    server.pause();
    server.disconnect_all();
    until("the watch is gone", PATIENCE, || server.open_watches() == 0)
        .await
        .unwrap();
    cluster
        .delete("customresourcedefinitions", "widgets.example.com")
        .unwrap();
    server.resume().unwrap();
    until("404 is told", PATIENCE, || *not_found.lock().unwrap() >= 3)
        .await
        .unwrap();
    // It tries again and again, at its pace, and keeps what it knew.
    assert_eq!(widgets.store().len(), 2);
    let (lists, watches) = reads(&server, "widgets");
    assert!(lists + watches < 60, "{lists} lists, {watches} watches");

    cluster.create(definition()).unwrap();
    for name in ["both", "new"] {
        cluster.create(widget(name)).unwrap();
    }
    converge(&server, "widgets", &widgets, &history)
        .await
        .unwrap();
    let told = history.told();
    for key in ["default/old", "default/both"] {
        let gone = |told: &Told| matches!(told, Told::Delete { key: told, .. } if told == key);
        assert!(told.iter().any(gone), "{key}: {told:?}");
    }
    let second = widgets.store().get_by_key("default/both").unwrap();
    assert_ne!(first.uid(), second.uid(), "another object of the same name");
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}
