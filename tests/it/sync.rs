//! The plain life of an informer: initial objects, live changes, indices, handlers that
//! join late, scopes side by side.

use std::sync::Arc;

use futures_util::StreamExt;
use informers::{
    InformerOptions, Initial, NamespaceLister, Notification, QueueKind, Scope, Selector,
};
use informers_fake_apiserver::{FakeApiServer, Verb};
use informers_tests::{History, Told, until};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;

use crate::support::{
    Mode, PATIENCE, by_value, client, config_map, converge, cut_off, factory, reads, reflector,
    stored, truth,
};

/// Objects of the initial list.
const OBJECTS: usize = 500;

async fn server_with_objects(tls: bool) -> FakeApiServer {
    let server = FakeApiServer::builder().tls(tls).start().await.unwrap();
    for n in 0..OBJECTS {
        let map = config_map(&format!("map-{n}"), &format!("value-{}", n % 10));
        server.cluster().create(map).unwrap();
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn initial_objects_and_live_changes_reach_store_index_and_handlers() {
    for tls in [false, true] {
        for mode in Mode::ALL {
            let server = server_with_objects(tls).await;
            let factory = factory(&server);
            let options = mode.options().with_indexers(by_value());
            let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), options);
            let (early, late) = (History::default(), History::default());
            maps.add_event_handler(early.clone()).unwrap();
            factory.start();
            factory.wait_for_cache_sync(PATIENCE).await.unwrap();
            assert_eq!(early.counts(), (OBJECTS, 0, 0), "{mode:?}");
            assert!(
                early
                    .told()
                    .iter()
                    .all(|told| matches!(told, Told::Add { initial: true, .. })),
                "{mode:?}"
            );

            let cluster = server.cluster();
            cluster.create(config_map("new", "value-new")).unwrap();
            let patch = json!({"data": {"value": "value-changed"}});
            cluster
                .patch_merge("configmaps", "default/map-7", patch)
                .unwrap();
            cluster.delete("configmaps", "default/map-8").unwrap();
            let deletion = cluster.revision();
            converge(&server, "configmaps", &maps, &early)
                .await
                .unwrap();
            assert_eq!(early.counts(), (OBJECTS + 1, 1, 1), "{mode:?}");
            let last = early.told().pop();
            let Some(Told::Delete { key, rv, unknown }) = last else {
                panic!("{mode:?}: {last:?}");
            };
            assert_eq!(
                (key.as_str(), unknown),
                ("default/map-8", false),
                "{mode:?}"
            );
            // The version of the deletion itself, which the DELETED event brought.
            assert_eq!(rv, Some(deletion.to_string()), "{mode:?}");

            let late_registration = maps.add_event_handler(late.clone()).unwrap();
            late_registration.wait_for_sync().await.unwrap();
            assert_eq!(late.counts(), (OBJECTS, 0, 0), "{mode:?}");
            late.check(&truth(&server, "configmaps")).unwrap();

            let store = maps.store();
            assert_eq!(store.by_index("byValue", "value-new").unwrap().len(), 1);
            assert_eq!(store.by_index("byValue", "value-3").unwrap().len(), 50);
            // One went to value-changed, of 50.
            assert_eq!(store.by_index("byValue", "value-7").unwrap().len(), 49);
            assert_eq!(
                store.index_keys("byValue", "value-changed").unwrap(),
                [crate::support::named("map-7")]
            );
            let lister = maps.lister();
            assert_eq!(lister.all(&Selector::everything()).len(), OBJECTS);
            let here: NamespaceLister<ConfigMap> = lister.namespace("default");
            assert!(here.get("map-8").is_none() && here.get("map-9").is_some());
            assert!(
                lister
                    .namespace("elsewhere")
                    .all(&Selector::everything())
                    .is_empty()
            );

            // Two handlers, one watch, and one way to list.
            let lists = usize::from(mode.initial == Initial::List);
            assert_eq!(reads(&server, "configmaps"), (lists, 1), "{mode:?}");
            factory.shutdown(PATIENCE).await.unwrap();
            server.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_carries_all_informers_over_one_connection() {
    let server = server_with_objects(true).await;
    let factory = factory(&server);
    let namespaces: Vec<String> = (0..20).map(|n| format!("ns-{n}")).collect();
    for namespace in &namespaces {
        factory.informer_in::<ConfigMap>(Scope::all().in_namespace(namespace));
    }
    let pods = factory.informer::<Pod>();
    let history = History::default();
    pods.add_event_handler(history.clone()).unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    server
        .wait_for_watches(namespaces.len() + 1, PATIENCE)
        .await
        .unwrap();
    server.cluster().seed_pods(5, 1);
    converge(&server, "pods", &pods, &history).await.unwrap();
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_of_a_factory_are_one_for_each_scope() {
    // B83
    let server = FakeApiServer::start().await.unwrap();
    let cluster = server.cluster();
    for (namespace, app) in [("a", "web"), ("a", "db"), ("b", "web")] {
        let labels = json!({"app": app});
        cluster
            .create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"value": app},
                "metadata": {"name": app, "namespace": namespace, "labels": labels},
            }))
            .unwrap();
    }
    let factory = factory(&server);
    let scopes = [
        (Scope::all(), vec!["a/db", "a/web", "b/web"]),
        (Scope::all().in_namespace("a"), vec!["a/db", "a/web"]),
        (Scope::all().in_namespace("b"), vec!["b/web"]),
        (
            Scope::all().in_namespaces(["a", "b"]),
            vec!["a/db", "a/web", "b/web"],
        ),
        (
            Scope::all().with_label_selector("app=web"),
            vec!["a/web", "b/web"],
        ),
        (
            Scope::all().with_label_selector("app in (db)"),
            vec!["a/db"],
        ),
        (
            Scope::all()
                .in_namespace("a")
                .with_field_selector("metadata.name=web"),
            vec!["a/web"],
        ),
    ];
    let informers: Vec<_> = scopes
        .iter()
        .map(|(scope, keys)| {
            let informer = factory.informer_in::<ConfigMap>(scope.clone());
            // Asked for twice, it is the same one.
            let again = factory.informer_in::<ConfigMap>(scope.clone());
            let history = History::default();
            again.add_event_handler(history.clone()).unwrap();
            assert_eq!(informer.handlers().len(), 1);
            (informer, history, keys)
        })
        .collect();
    assert_eq!(factory.informers().len(), scopes.len());
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    for (informer, history, keys) in &informers {
        assert_eq!(
            &stored(&informer.store()).into_keys().collect::<Vec<_>>(),
            *keys
        );
        history.check(&stored(&informer.store())).unwrap();
    }
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_are_on_every_request_and_their_values_encoded() {
    // B84
    for initial in [Initial::List, Initial::WatchList] {
        let server = FakeApiServer::start().await.unwrap();
        let matching = |name: &str| {
            let mut map = config_map(name, "x");
            map["metadata"]["labels"] = json!({"a": "x", "c": "1"});
            map
        };
        for n in 0..25 {
            server
                .cluster()
                .create(matching(&format!("in-{n:02}")))
                .unwrap();
            server
                .cluster()
                .create(config_map(&format!("out-{n}"), "x"))
                .unwrap();
        }
        let (labels, fields) = ("a in (x,y),!b,c!=2", "metadata.namespace=default");
        let factory = factory(&server);
        let scope = Scope::all()
            .with_label_selector(labels)
            .with_field_selector(fields);
        let options = InformerOptions::new().with_reflector(informers::ReflectorOptions {
            initial,
            page_size: std::num::NonZeroU32::new(10),
            ..reflector()
        });
        let maps = factory.informer_with_options::<ConfigMap>(scope, options);
        let history = History::default();
        maps.add_event_handler(history.clone()).unwrap();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        assert_eq!(maps.store().len(), 25);

        // A watch again, then a relist with its pages, then a watch once more.
        server.wait_for_watches(1, PATIENCE).await.unwrap();
        server.disconnect_all();
        let again = |server: &FakeApiServer| reads(server, "configmaps").1 >= 2;
        until("a second watch", PATIENCE, || again(&server))
            .await
            .unwrap();
        cut_off(&server).await;
        server.cluster().create(matching("in-99")).unwrap();
        server
            .cluster()
            .delete("configmaps", "default/in-03")
            .unwrap();
        server.cluster().compact();
        server.resume().unwrap();
        until("the relist", PATIENCE, || history.counts() == (26, 0, 1))
            .await
            .unwrap();
        server.wait_for_watches(1, PATIENCE).await.unwrap();

        let requests = server.requests();
        assert!(requests.len() >= 4, "{initial:?}: {requests:#?}");
        for request in &requests {
            assert_eq!(request.param("labelSelector"), Some(labels), "{request:?}");
            assert_eq!(request.param("fieldSelector"), Some(fields), "{request:?}");
        }
        let pages = requests
            .iter()
            .filter(|request| request.param("continue").is_some());
        let pages = pages.filter(|request| request.verb == Verb::List).count();
        match initial {
            // 25 objects in pages of 10.
            Initial::List => assert_eq!(pages, 2, "later pages: {requests:#?}"),
            Initial::WatchList | Initial::Auto => {
                assert!(
                    requests
                        .iter()
                        .any(|request| request.verb == Verb::WatchList)
                );
            }
        }
        factory.shutdown(PATIENCE).await.unwrap();
        server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_leaves_the_selector_is_deleted_and_comes_back() {
    let server = FakeApiServer::start().await.unwrap();
    let mut map = config_map("moving", "x");
    map["metadata"]["labels"] = json!({"tier": "front"});
    server.cluster().create(map).unwrap();
    let factory = factory(&server);
    let scope = Scope::all().with_label_selector("tier=front");
    let maps = factory.informer_in::<ConfigMap>(scope);
    let history = History::default();
    maps.add_event_handler(history.clone()).unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    for (tier, counts) in [("back", (1, 0, 1)), ("front", (2, 0, 1))] {
        let patch = json!({"metadata": {"labels": {"tier": tier}}});
        server
            .cluster()
            .patch_merge("configmaps", "default/moving", patch)
            .unwrap();
        until(tier, PATIENCE, || history.counts() == counts)
            .await
            .unwrap();
    }
    history.check(&truth(&server, "configmaps")).unwrap();
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_has_the_guarantees_of_a_handler() {
    let server = server_with_objects(false).await;
    let factory = factory(&server);
    let options = Mode {
        initial: Initial::Auto,
        queue: QueueKind::InOrder,
    }
    .options();
    let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), options);
    let mut stream = maps.subscribe().unwrap();
    factory.start();
    for _ in 0..OBJECTS {
        let told = stream.next().await.unwrap();
        assert!(told.is_in_initial_list(), "{told:?}");
    }
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    server
        .cluster()
        .delete("configmaps", "default/map-1")
        .unwrap();
    let told = tokio::time::timeout(PATIENCE, stream.next())
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(&told, Notification::Delete(deleted) if !deleted.is_final_state_unknown()));
    assert!(
        maps.store().get(&told.name()).is_none(),
        "the store is changed before"
    );
    factory.shutdown(PATIENCE).await.unwrap();
    assert!(
        stream.next().await.is_none(),
        "a stopped informer ends its streams"
    );
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_write_is_observed_by_its_version() {
    let server = FakeApiServer::start().await.unwrap();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let api = informers_tests::RawApi::new(client(&server));
    let path = "/api/v1/namespaces/default/configmaps";
    let written = api.create(path, &config_map("mine", "1")).await.unwrap();
    let rv = written["metadata"]["resourceVersion"].as_str().unwrap();
    let rv = informers::ResourceVersion::new(rv).unwrap();
    maps.wait_until_observed(&rv, PATIENCE).await.unwrap();
    let mine = maps.store().get(&crate::support::named("mine")).unwrap();
    assert_eq!(mine.metadata.resource_version.as_deref(), Some(rv.as_str()));
    assert_eq!(
        Arc::strong_count(&mine),
        2,
        "the store's and this one: not copied"
    );
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}
