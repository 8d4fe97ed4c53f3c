//! Deletes that were missed while the way to the server was cut.

use informers::Scope;
use informers_fake_apiserver::FakeApiServer;
use informers_tests::{History, TcpProxy, Told, until};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use std::collections::BTreeMap;

use crate::support::{
    Mode, PATIENCE, by_value, config, config_map, converge, cut_off, factory, reads, truth,
};
use informers::{Client, SharedInformerFactory};

/// Deletes missed while disconnected, with the history still there: the watch goes on
/// from where it was, and the deletes are observed.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_during_a_short_disconnect_are_observed_without_a_relist() {
    for mode in Mode::ALL {
        let server = FakeApiServer::start().await.unwrap();
        for n in 0..20 {
            server
                .cluster()
                .create(config_map(&format!("map-{n}"), "x"))
                .unwrap();
        }
        let factory = factory(&server);
        let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), mode.options());
        let history = History::default();
        maps.add_event_handler(history.clone()).unwrap();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        server.wait_for_watches(1, PATIENCE).await.unwrap();
        let (lists, watches) = reads(&server, "configmaps");

        cut_off(&server).await;
        for n in 0..5 {
            server
                .cluster()
                .delete("configmaps", &format!("default/map-{n}"))
                .unwrap();
        }
        server.resume().unwrap();
        converge(&server, "configmaps", &maps, &history)
            .await
            .unwrap();
        assert_eq!(history.counts(), (20, 0, 5));
        let unknown = |told: &Told| matches!(told, Told::Delete { unknown: true, .. });
        assert!(!history.told().iter().any(unknown), "{mode:?}");
        let (lists_after, watches_after) = reads(&server, "configmaps");
        assert_eq!(lists_after, lists, "{mode:?}: no relist");
        assert!(watches_after > watches);
        factory.shutdown(PATIENCE).await.unwrap();
        server.shutdown().await;
    }
}

/// Deletes missed while disconnected, and the history compacted: tombstones with the last
/// known state.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_before_a_compaction_arrive_as_tombstones_with_the_last_known_state() {
    for mode in Mode::ALL {
        let server = FakeApiServer::start().await.unwrap();
        for n in 0..50 {
            let map = config_map(&format!("map-{n}"), &format!("value-{}", n % 5));
            server.cluster().create(map).unwrap();
        }
        let proxy = TcpProxy::start(server.address()).await.unwrap();
        let config = config(&server).with_connector(proxy.connector());
        let factory = SharedInformerFactory::new(Client::new(config).unwrap());
        let options = mode.options().with_indexers(by_value());
        let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), options);
        let (one, two) = (History::default(), History::default());
        maps.add_event_handler(one.clone()).unwrap();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        let before = truth(&server, "configmaps");

        proxy.cut();
        until("the watch is gone", PATIENCE, || server.open_watches() == 0)
            .await
            .unwrap();
        let cluster = server.cluster();
        for n in 0..10 {
            cluster
                .delete("configmaps", &format!("default/map-{n}"))
                .unwrap();
        }
        // Deleted and made anew: another object of the same name.
        cluster.create(config_map("map-0", "again")).unwrap();
        let patch = json!({"data": {"value": "changed"}});
        cluster
            .patch_merge("configmaps", "default/map-20", patch)
            .unwrap();
        cluster.create(config_map("new", "value-new")).unwrap();
        cluster.compact();
        // A handler that joins while cut off is told of what is stored, and of the rest.
        maps.add_event_handler(two.clone()).unwrap();
        proxy.open();

        for history in [&one, &two] {
            converge(&server, "configmaps", &maps, history)
                .await
                .unwrap();
            let tombstones: BTreeMap<String, Option<String>> = history
                .told()
                .into_iter()
                .filter_map(|told| match told {
                    Told::Delete {
                        key,
                        rv,
                        unknown: true,
                    } => Some((key, rv)),
                    Told::Add { .. } | Told::Update { .. } | Told::Delete { .. } => None,
                })
                .collect();
            let expected: BTreeMap<String, Option<String>> = (0..10)
                .map(|n| format!("default/map-{n}"))
                .map(|key| (key.clone(), before.get(&key).cloned()))
                .collect();
            assert_eq!(tombstones, expected, "{mode:?}");
            // 50 at first; map-0 again and the new one; the changed one.
            assert_eq!(history.counts(), (52, 1, 10), "{mode:?}");
        }
        let store = maps.store();
        assert_eq!(
            store.by_index("byValue", "value-0").unwrap().len(),
            7,
            "of 10, without map-0, map-5 and map-20"
        );
        assert_eq!(store.by_index("byValue", "again").unwrap().len(), 1);
        factory.shutdown(PATIENCE).await.unwrap();
        proxy.shutdown().await;
        server.shutdown().await;
    }
}
