//! Tests of typed calls.

use std::sync::Arc;

use informers_objects::{ApiResource, DynamicDecoder, DynamicObject};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use serde_json::{Value, json};

use super::{Api, DeleteOptions, Patch, Propagation, Selection, WriteOptions};
use crate::client::Client;
use crate::testing::{Answer, Seen, TestServer, text_of};

fn config_map(name: &str) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": "5"}})
}

/// A server that answers everything with that body.
async fn server(code: u16, body: Value) -> (TestServer, Client) {
    let server = TestServer::plain(move |_| Answer::status(code, body.to_string())).await;
    let client = Client::new(server.config()).unwrap();
    (server, client)
}

fn last(server: &TestServer) -> (String, String, String, Value) {
    let seen: Seen = server.seen().pop().unwrap();
    let media_type = seen.header("content-type").to_owned();
    let body = serde_json::from_slice(&seen.body).unwrap_or(Value::Null);
    (seen.method, seen.target, media_type, body)
}

#[tokio::test]
async fn get_decodes_and_names_what_is_missing() {
    let (server, client) = server(200, config_map("a:b")).await;
    let maps = Api::<ConfigMap>::in_namespace(client.clone(), "shop");
    let map = maps.get("a:b").await.unwrap();
    assert_eq!(map.metadata.name.as_deref(), Some("a:b"));
    let (method, target, ..) = last(&server);
    assert_eq!(
        (method.as_str(), target.as_str()),
        ("GET", "/api/v1/namespaces/shop/configmaps/a%3Ab")
    );

    let error = Api::<ConfigMap>::all(client).get("a").await.unwrap_err();
    assert!(
        text_of(&error).contains("a namespace is needed"),
        "{error:?}"
    );
    let error = maps.get("").await.unwrap_err();
    assert!(text_of(&error).contains("a name is needed"), "{error:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn failure_is_the_servers_status() {
    let status = json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict"});
    let (_server, client) = server(409, status).await;
    let maps = Api::<ConfigMap>::in_namespace(client, "shop");
    let error = maps.get("a").await.unwrap_err();
    assert_eq!(error.status().unwrap().reason, "Conflict");
}

#[tokio::test]
async fn create_and_replace_go_to_the_objects_own_place() {
    let (server, client) = server(201, config_map("a")).await;
    let maps = Api::<ConfigMap>::all(client);
    let map: ConfigMap = serde_json::from_value(config_map("a")).unwrap();
    let options = WriteOptions {
        field_manager: Some("me".to_owned()),
        dry_run: true,
        field_validation: Some("Strict".to_owned()),
        ..WriteOptions::default()
    };
    maps.create(&map, &options).await.unwrap();
    let (method, target, media_type, body) = last(&server);
    assert_eq!(method, "POST");
    assert_eq!(
        target,
        "/api/v1/namespaces/shop/configmaps?fieldManager=me&fieldValidation=Strict&dryRun=All"
    );
    assert_eq!(media_type, "application/json");
    assert_eq!(body["metadata"]["name"], "a");
    assert_eq!(body["kind"], "ConfigMap");

    maps.replace(&map, &WriteOptions::default()).await.unwrap();
    let (method, target, ..) = last(&server);
    assert_eq!(
        (method.as_str(), target.as_str()),
        ("PUT", "/api/v1/namespaces/shop/configmaps/a")
    );
    maps.replace_status(&map, &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(
        last(&server).1,
        "/api/v1/namespaces/shop/configmaps/a/status"
    );
}

#[tokio::test]
async fn patch_has_the_media_type_of_its_form() {
    let (server, client) = server(200, json!({"metadata": {"name": "n"}})).await;
    let nodes = Api::<Node>::all(client);
    let options = WriteOptions {
        field_manager: Some("me".to_owned()),
        force: true,
        ..WriteOptions::default()
    };
    let change = json!({"metadata": {"labels": {"a": null}}});
    for (patch, media_type, query) in [
        (
            Patch::merge(&change),
            "application/merge-patch+json",
            "fieldManager=me",
        ),
        (
            Patch::strategic(&change),
            "application/strategic-merge-patch+json",
            "fieldManager=me",
        ),
        (
            Patch::json(&json!([])),
            "application/json-patch+json",
            "fieldManager=me",
        ),
        (
            Patch::apply(&change),
            "application/apply-patch+yaml",
            "fieldManager=me&force=true",
        ),
    ] {
        nodes.patch("n", &patch.unwrap(), &options).await.unwrap();
        let (method, target, found, _) = last(&server);
        assert_eq!(method, "PATCH");
        assert_eq!(target, format!("/api/v1/nodes/n?{query}"));
        assert_eq!(found, media_type);
    }
    let patch = Patch::merge(&change).unwrap();
    nodes
        .patch_status("n", &patch, &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(last(&server).1, "/api/v1/nodes/n/status");
}

#[tokio::test]
async fn delete_tells_whether_the_object_is_still_there() {
    let options = DeleteOptions {
        grace_period_seconds: Some(0),
        propagation: Some(Propagation::Foreground),
        uid: Some("u".to_owned()),
        resource_version: None,
        dry_run: true,
    };
    let (server_gone, client) = server(200, json!({"kind": "Status", "status": "Success"})).await;
    let maps = Api::<ConfigMap>::in_namespace(client, "shop");
    assert!(maps.delete("a", &options).await.unwrap().is_none());
    let (method, target, _, body) = last(&server_gone);
    assert_eq!(
        (method.as_str(), target.as_str()),
        ("DELETE", "/api/v1/namespaces/shop/configmaps/a")
    );
    let expected = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground", "preconditions": {"uid": "u"}, "dryRun": ["All"]});
    assert_eq!(body, expected);

    let (_server, client) = server(200, config_map("a")).await;
    let maps = Api::<ConfigMap>::in_namespace(client, "shop");
    assert!(
        maps.delete("a", &DeleteOptions::default())
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn delete_collection_carries_selectors() {
    let (server, client) = server(200, json!({"kind": "Status", "status": "Success"})).await;
    let maps = Api::<ConfigMap>::in_namespace(client, "shop");
    let selection = Selection {
        labels: "app=web".to_owned(),
        ..Selection::default()
    };
    maps.delete_collection(&selection, &DeleteOptions::default())
        .await
        .unwrap();
    let (method, target, ..) = last(&server);
    assert_eq!(method, "DELETE");
    assert_eq!(
        target,
        "/api/v1/namespaces/shop/configmaps?labelSelector=app%3Dweb"
    );
}

#[tokio::test]
async fn list_reads_all_pages_and_keeps_bad_objects_apart() {
    let server = TestServer::plain(|seen| {
        let second = seen.target.contains("continue=");
        let item = if second {
            json!({"metadata": {"name": "bad"}, "data": 5})
        } else {
            config_map("a")
        };
        let next = if second { "" } else { "more" };
        let list = json!({"kind": "ConfigMapList", "items": [item],
            "metadata": {"resourceVersion": "9", "continue": next}});
        Answer::ok(list.to_string())
    })
    .await;
    let maps = Api::<ConfigMap>::all(Client::new(server.config()).unwrap());
    let selection = Selection {
        page_size: Some(1),
        ..Selection::default()
    };
    let list = maps.list(&selection).await.unwrap();
    assert_eq!((list.items.len(), list.undecodable.len()), (1, 1));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn dynamic_objects_are_written_and_read() {
    let widget = json!({"kind": "Widget", "apiVersion": "example.com/v1",
        "metadata": {"name": "w", "namespace": "shop"}, "spec": {"size": 3}});
    let (server, client) = server(200, widget.clone()).await;
    let resource: ApiResource = "example.com/v1/widgets".parse().unwrap();
    let decoder = Arc::new(DynamicDecoder::new(resource.clone()));
    let widgets = Api::<DynamicObject>::new(client, resource, decoder).with_namespace("shop");
    let object = widgets.get("w").await.unwrap();
    assert_eq!(object.pointer("/spec/size"), Some(&json!(3)));
    widgets
        .replace(&object, &WriteOptions::default())
        .await
        .unwrap();
    let (_, target, _, body) = last(&server);
    assert_eq!(target, "/apis/example.com/v1/namespaces/shop/widgets/w");
    assert_eq!(body, widget);
}
