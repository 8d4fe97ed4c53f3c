//! Waits against an API server that loses its history.

use std::time::Duration;

use informers::prelude::*;
use informers_fake_apiserver::FakeApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::{WaitError, wait_for};

const SOON: Duration = Duration::from_secs(20);

fn has_color(color: &str) -> impl Fn(Option<&ConfigMap>) -> bool {
    move |map| {
        let data = map.and_then(|map| map.data.as_ref());
        data.and_then(|data| data.get("color"))
            .is_some_and(|own| own == color)
    }
}

async fn setup() -> (
    FakeApiServer,
    SharedInformerFactory,
    SharedIndexInformer<ConfigMap>,
) {
    let server = FakeApiServer::start().await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"color": "blue"}});
    server.cluster().create(map).unwrap();
    let client = Client::new(Config::new(&server.url()).unwrap()).unwrap();
    let factory = SharedInformerFactory::new(client);
    let maps = factory.informer::<ConfigMap>();
    (server, factory, maps)
}

// Scenario: TestUntilWithSync, and an expired version in between.
#[tokio::test]
async fn wait_survives_an_expired_version() {
    let (server, factory, maps) = setup().await;
    let (name, cluster) = (ObjectName::new(Some("default"), "a"), server.cluster());
    factory.start();
    let blue = wait_for(&maps, &name, has_color("blue"), SOON)
        .await
        .unwrap();
    assert_eq!(blue.unwrap().metadata.name.as_deref(), Some("a"));
    let turning = async {
        while maps.handlers().is_empty() {
            tokio::task::yield_now().await;
        }
        server.pause();
        server.disconnect_all();
        let red = json!({"data": {"color": "red"}});
        cluster.patch_merge("configmaps", "default/a", red).unwrap();
        cluster.compact();
        server.resume().unwrap();
    };
    let (red, ()) = tokio::join!(wait_for(&maps, &name, has_color("red"), SOON), turning);
    assert!(red.unwrap().is_some());
    let deleting = async {
        cluster.delete("configmaps", "default/a").unwrap();
    };
    let (gone, ()) = tokio::join!(wait_for(&maps, &name, |map| map.is_none(), SOON), deleting);
    assert!(gone.unwrap().is_none());
    assert!(maps.handlers().is_empty());
    factory.shutdown(Duration::from_secs(5)).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn wait_ends_with_its_time_or_with_the_informer() {
    let (server, factory, maps) = setup().await;
    let name = ObjectName::new(Some("default"), "a");
    let within = Duration::from_millis(50);
    // Absent is not taken for gone before the initial list.
    let error = wait_for(&maps, &name, |map| map.is_none(), within)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "default/a was not as wanted within 50ms; the informer has not synced"
    );
    factory.start();
    maps.wait_for_cache_sync(SOON).await.unwrap();
    let error = wait_for(&maps, &name, has_color("red"), within)
        .await
        .unwrap_err();
    assert!(
        matches!(error, WaitError::TimedOut { synced: true, .. }),
        "{error}"
    );
    let (stopped, ()) = tokio::join!(wait_for(&maps, &name, has_color("red"), SOON), async {
        factory.shutdown(Duration::from_secs(5)).await.unwrap();
        // The wait is over when its time is, or when a new one finds no informer.
    });
    drop(stopped);
    let error = wait_for(&maps, &name, has_color("red"), within)
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::Stopped), "{error}");
    server.shutdown().await;
}
