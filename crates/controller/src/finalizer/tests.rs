//! Finalizers against an API server.

use informers::{Api, Client, Config, DeleteOptions};
use informers_fake_apiserver::FakeApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::{add_finalizer, has_finalizer, is_being_deleted, remove_finalizer};

const OURS: &str = "example.com/cleanup";

async fn setup() -> (FakeApiServer, Api<ConfigMap>) {
    let server = FakeApiServer::start().await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "finalizers": ["example.com/other"]}});
    server.cluster().create(map).unwrap();
    let client = Client::new(Config::new(&server.url()).unwrap()).unwrap();
    (server, Api::in_namespace(client, "default"))
}

#[tokio::test]
async fn finalizer_is_added_once_and_removed_beside_another() {
    let (server, api) = setup().await;
    let map = api.get("a").await.unwrap();
    let map = add_finalizer(&api, &map.metadata, OURS)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(map.metadata.finalizers.as_ref().unwrap().len(), 2);
    assert!(has_finalizer(&map.metadata, OURS));
    let again = add_finalizer(&api, &map.metadata, OURS).await.unwrap();
    assert_eq!(again, None);

    api.delete("a", &DeleteOptions::default()).await.unwrap();
    let map = api.get("a").await.unwrap();
    assert!(is_being_deleted(&map.metadata));
    let refused = add_finalizer(&api, &map.metadata, "example.com/late").await;
    assert_eq!(refused.unwrap(), None);
    let map = remove_finalizer(&api, &map.metadata, OURS)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        map.metadata.finalizers.as_deref(),
        Some(&["example.com/other".to_owned()][..])
    );
    remove_finalizer(&api, &map.metadata, "example.com/other")
        .await
        .unwrap();
    assert_eq!(server.cluster().get("configmaps", "default/a"), None);
    // Gone: nothing to do.
    let gone = remove_finalizer(&api, &map.metadata, "example.com/other").await;
    assert_eq!(gone.unwrap(), None);
    server.shutdown().await;
}

#[tokio::test]
async fn stale_version_is_a_conflict_and_loses_nothing() {
    let (server, api) = setup().await;
    let stale = api.get("a").await.unwrap();
    add_finalizer(&api, &stale.metadata, "example.com/faster")
        .await
        .unwrap();
    let error = add_finalizer(&api, &stale.metadata, OURS)
        .await
        .unwrap_err();
    assert!(crate::is_conflict(&error), "{error:?}");
    let error = remove_finalizer(&api, &stale.metadata, "example.com/other").await;
    assert!(crate::is_conflict(&error.unwrap_err()));
    let map = api.get("a").await.unwrap();
    assert_eq!(map.metadata.finalizers.unwrap().len(), 2);
    server.shutdown().await;
}
