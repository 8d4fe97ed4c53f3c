//! Writes, single reads, discovery and representations.

use serde_json::{Value, json};

use crate::client::{cm, start, started};
use informers_fake_apiserver::{FakeApiServer, ResourceType};

const CMS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn object_lives_through_create_update_patch_and_delete() {
    let (server, client) = start().await;
    let created = client.send_json("POST", CMS, &cm("a")).await;
    assert_eq!(created.status, 201);
    let mut object = created.json();
    assert!(
        object["metadata"]["uid"].is_string()
            && object["metadata"]["creationTimestamp"].is_string()
    );
    assert_eq!(
        object["metadata"]["resourceVersion"],
        json!(server.cluster().revision().to_string())
    );
    assert_eq!(
        client.send_json("POST", CMS, &cm("a")).await.json()["reason"],
        "AlreadyExists"
    );

    let stale = object.clone();
    object["data"]["k"] = json!("w");
    let updated = client.send_json("PUT", &format!("{CMS}/a"), &object).await;
    assert_eq!(
        (updated.status, &updated.json()["data"]["k"]),
        (200, &json!("w"))
    );
    let conflict = client.send_json("PUT", &format!("{CMS}/a"), &stale).await;
    assert_eq!(
        (conflict.status, &conflict.json()["reason"]),
        (409, &json!("Conflict"))
    );

    let path = format!("{CMS}/a");
    for (media_type, patch, wanted) in [
        (
            "application/merge-patch+json",
            json!({"data": {"m": "1"}}),
            json!({"k": "w", "m": "1"}),
        ),
        (
            "application/strategic-merge-patch+json",
            json!({"data": {"m": null}}),
            json!({"k": "w"}),
        ),
        (
            "application/json-patch+json",
            json!([{"op": "remove", "path": "/data/k"}]),
            json!({}),
        ),
        (
            "application/apply-patch+yaml",
            json!({"data": {"z": "1"}}),
            json!({"z": "1"}),
        ),
    ] {
        let reply = client
            .patch(&format!("{path}?fieldManager=test"), media_type, &patch)
            .await;
        assert_eq!(
            (reply.status, &reply.json()["data"]),
            (200, &wanted),
            "{media_type}"
        );
    }
    assert_eq!(
        client.patch(&path, "text/plain", &json!({})).await.status,
        415
    );

    let deleted = client.delete(&path).await;
    assert_eq!(deleted.json()["details"]["uid"], object["metadata"]["uid"]);
    let gone = client.get(&path).await;
    assert_eq!(
        (
            gone.status,
            &gone.json()["reason"],
            &gone.json()["details"]["name"]
        ),
        (404, &json!("NotFound"), &json!("a"))
    );
    server.shutdown().await;
}

#[tokio::test]
async fn apply_of_a_missing_object_creates_it() {
    let (server, client) = start().await;
    let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let path = format!("{CMS}/a");
    assert_eq!(
        client
            .patch(&path, "application/apply-patch+yaml", &patch)
            .await
            .status,
        400
    );
    let reply = client
        .patch(
            &format!("{path}?fieldManager=m"),
            "application/apply-patch+yaml",
            &patch,
        )
        .await;
    assert_eq!(reply.status, 201);
    assert!(server.cluster().get("configmaps", "default/a").is_some());
    server.shutdown().await;
}

#[tokio::test]
async fn writes_that_do_not_fit_their_path_are_refused() {
    let (server, client) = start().await;
    let post = async |path: &str, body: Value| client.send_json("POST", path, &body).await.status;
    assert_eq!(
        post(
            "/api/v1/namespaces/nope/configmaps",
            json!({"metadata": {"name": "a"}})
        )
        .await,
        404
    );
    assert_eq!(post("/api/v1/configmaps", cm("a")).await, 405);
    assert_eq!(
        post("/api/v1/namespaces/kube-system/configmaps", cm("a")).await,
        400
    );
    assert_eq!(
        post("/api/v1/namespaces/default/secrets", cm("a")).await,
        400
    );
    assert_eq!(
        post("/api/v1/namespaces/default/nothings", cm("a")).await,
        404
    );
    assert_eq!(
        client
            .request("POST", CMS, &[("content-type", "application/cbor")], "x")
            .await
            .status,
        415
    );
    assert_eq!(
        client
            .request("POST", CMS, &[("content-type", "application/json")], "{")
            .await
            .status,
        400
    );
    server.shutdown().await;
    let (lenient, client) = started(FakeApiServer::builder().lenient_namespaces()).await;
    let created = client
        .send_json(
            "POST",
            "/api/v1/namespaces/nope/configmaps",
            &json!({"metadata": {"name": "a"}}),
        )
        .await;
    assert_eq!(created.status, 201);
    lenient.shutdown().await;
}

#[tokio::test]
async fn delete_waits_for_finalizers_and_obeys_preconditions() {
    let (server, client) = start().await;
    let mut object = cm("a");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    client.send_json("POST", CMS, &object).await;
    let path = format!("{CMS}/a");
    let other = json!({"preconditions": {"uid": "other"}});
    assert_eq!(client.send_json("DELETE", &path, &other).await.status, 409);
    let marked = client
        .send_json("DELETE", &path, &json!({"gracePeriodSeconds": 0}))
        .await
        .json();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(client.get(&path).await.status, 200);
    client
        .patch(
            &path,
            "application/merge-patch+json",
            &json!({"metadata": {"finalizers": null}}),
        )
        .await;
    assert_eq!(client.get(&path).await.status, 404);
    server.shutdown().await;
}

#[tokio::test]
async fn delete_collection_takes_what_the_selector_selects() {
    let (server, client) = start().await;
    server.cluster().seed_pods(10, 2);
    let reply = client
        .delete("/api/v1/namespaces/default/pods?labelSelector=tier%3Dfront")
        .await;
    assert_eq!((reply.status, reply.names().len()), (200, 5));
    assert_eq!(server.cluster().count("pods"), 5);
    server.shutdown().await;
}

#[tokio::test]
async fn dry_run_answers_and_changes_nothing() {
    let (server, client) = start().await;
    let before = server.cluster().revision();
    assert_eq!(
        client
            .send_json("POST", &format!("{CMS}?dryRun=All"), &cm("a"))
            .await
            .status,
        201
    );
    assert_eq!(server.cluster().revision(), before);
    server.shutdown().await;
}

#[tokio::test]
async fn status_subresource_changes_the_status_alone() {
    let (server, client) = start().await;
    server.cluster().seed_pods(1, 1);
    let path = "/api/v1/namespaces/default/pods/pod-0";
    let merge = "application/merge-patch+json";
    let change = json!({"status": {"phase": "Failed"}, "metadata": {"labels": {"x": "y"}}});
    assert_eq!(
        client.patch(path, merge, &change).await.json()["status"]["phase"],
        "Running"
    );
    let reply = client
        .patch(
            &format!("{path}/status"),
            merge,
            &json!({"status": {"phase": "Failed"}, "spec": {"nodeName": "z"}}),
        )
        .await;
    assert_eq!(
        (
            &reply.json()["status"]["phase"],
            &reply.json()["spec"]["nodeName"]
        ),
        (&json!("Failed"), &json!("node-0"))
    );
    server.shutdown().await;
}

#[tokio::test]
async fn representations_follow_the_accept_header() {
    let (server, client) = start().await;
    server.cluster().seed_pods(1, 1);
    let path = "/api/v1/namespaces/default/pods";
    let ask = async |path: &str, accept: &str| {
        client.request("GET", path, &[("accept", accept)], "").await
    };
    let meta = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = ask(path, meta).await.json();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert!(
        list["items"][0]["metadata"]["labels"].is_object() && list["items"][0]["spec"].is_null()
    );
    let one = ask(
        &format!("{path}/pod-0"),
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    )
    .await
    .json();
    assert_eq!(
        (&one["kind"], &one["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("pod-0"))
    );
    let table = ask(
        path,
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    )
    .await
    .json();
    assert_eq!(
        (&table["kind"], &table["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("pod-0"))
    );
    assert_eq!(
        ask(path, "application/vnd.kubernetes.protobuf")
            .await
            .status,
        406
    );
    let either = ask(path, "application/vnd.kubernetes.protobuf,application/json")
        .await
        .json();
    assert!(
        either["items"][0]["kind"].is_null(),
        "items of built-in lists carry no type"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn definition_adds_a_resource_with_discovery_and_its_deletion_removes_it() {
    let (server, client) = start().await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true}]},
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(client.get(widgets).await.status, 404);
    assert_eq!(client.send_json("POST", crds, &crd).await.status, 201);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"n": 1}});
    assert_eq!(client.send_json("POST", widgets, &widget).await.status, 201);
    assert_eq!(
        client.get("/apis/example.com/v1").await.json()["resources"][0]["name"],
        "widgets"
    );
    assert_eq!(
        client.get(widgets).await.json()["items"][0]["kind"],
        "Widget"
    );
    let mut watch = client
        .stream(&format!(
            "{widgets}?watch=true&resourceVersion={}",
            server.cluster().revision()
        ))
        .await;
    client.delete(&format!("{crds}/widgets.example.com")).await;
    assert_eq!(watch.event().await, "DELETED w");
    assert_eq!(watch.event().await, "End");
    assert_eq!(client.get(widgets).await.status, 404);
    assert_eq!(client.get("/apis/example.com/v1").await.status, 404);
    server.shutdown().await;
}

#[tokio::test]
async fn builder_resource_is_served_with_any_field_selector() {
    let ty = ResourceType::new("example.com", "v1", "gadgets", "Gadget").cluster_scoped();
    let (server, client) = started(FakeApiServer::builder().resource(ty)).await;
    for (name, color) in [("a", "red"), ("b", "blue")] {
        let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"color": color}});
        server.cluster().create(gadget).unwrap();
    }
    let reply = client
        .get("/apis/example.com/v1/gadgets?fieldSelector=spec.color%3Dblue")
        .await;
    assert_eq!(reply.names(), ["b"]);
    server.shutdown().await;
}

#[tokio::test]
async fn discovery_version_and_health_answer() {
    let (server, client) = start().await;
    assert_eq!(client.get("/version").await.json()["minor"], "37");
    assert_eq!(client.get("/healthz").await.bytes, "ok");
    assert_eq!(client.get("/api").await.json()["versions"], json!(["v1"]));
    let core = client.get("/api/v1").await.json();
    let names: Vec<_> = core["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"pods")
            && names.contains(&"pods/status")
            && !names.contains(&"configmaps/status")
    );
    let groups = client.get("/apis").await.json();
    assert!(
        groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|g| g["name"] == "apps")
    );
    assert_eq!(client.get("/apis/apps").await.json()["kind"], "APIGroup");
    let index = client.get("/openapi/v3").await.json();
    let apps = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(client.get(&apps).await.json()["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"].is_object());
    assert_eq!(client.get("/nothing").await.status, 404);
    assert_eq!(client.get("/apis/apps/v9").await.status, 404);
    server.shutdown().await;
}

#[tokio::test]
async fn scale_reads_and_changes_the_replicas_alone() {
    let (server, client) = start().await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}}});
    server.cluster().create(deployment).unwrap();
    let path = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    let mut scale = client.get(path).await.json();
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["selector"]),
        (&json!(2), &json!("app=d"))
    );
    scale["spec"]["replicas"] = json!(4);
    assert_eq!(
        client.send_json("PUT", path, &scale).await.json()["spec"]["replicas"],
        4
    );
    assert_eq!(
        client.send_json("PUT", path, &scale).await.status,
        409,
        "the version is a former one"
    );
    let patch = json!({"spec": {"replicas": 5}});
    assert_eq!(
        client
            .patch(path, "application/merge-patch+json", &patch)
            .await
            .status,
        200
    );
    let patch = json!({"spec": {"replicas": -1}});
    assert_eq!(
        client
            .patch(path, "application/merge-patch+json", &patch)
            .await
            .status,
        422
    );
    let deployment = server.cluster().get("deployments", "default/d").unwrap();
    assert_eq!(
        (
            &deployment["spec"]["replicas"],
            &deployment["metadata"]["generation"]
        ),
        (&json!(5), &json!(3))
    );
    assert_eq!(
        client
            .get("/api/v1/namespaces/default/configmaps/x/scale")
            .await
            .status,
        404
    );
    server.shutdown().await;
}

#[tokio::test]
async fn protobuf_body_creates_an_object() {
    let (server, client) = start().await;
    // apiVersion v1, kind Namespace, metadata.name "team".
    let body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x08\x0a\x06\x0a\x04team";
    let media_type = [("content-type", "application/vnd.kubernetes.protobuf")];
    let reply = client
        .request("POST", "/api/v1/namespaces", &media_type, &body[..])
        .await;
    assert_eq!(
        (reply.status, &reply.json()["metadata"]["name"]),
        (201, &json!("team"))
    );
    server.shutdown().await;
}
