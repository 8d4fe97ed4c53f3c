//! LIST: paging, resource versions, selectors, compression.

use std::io::Read;

use serde_json::json;

use crate::client::{Client, cm, start};
use informers_fake_apiserver::FakeApiServer;

const CMS: &str = "/api/v1/namespaces/default/configmaps";

async fn with_five() -> (FakeApiServer, Client) {
    let (server, client) = start().await;
    for name in ["a", "b", "c", "d", "e"] {
        server.cluster().create(cm(name)).unwrap();
    }
    (server, client)
}

#[tokio::test]
async fn pages_show_the_state_of_the_first_page() {
    let (server, client) = with_five().await;
    let first = client.get(&format!("{CMS}?limit=2")).await;
    assert_eq!(first.names(), ["a", "b"]);
    let metadata = first.json()["metadata"].clone();
    assert_eq!(metadata["remainingItemCount"], json!(3));
    server.cluster().delete("configmaps", "default/c").unwrap();
    server.cluster().create(cm("bb")).unwrap();
    let token = metadata["continue"].as_str().unwrap();
    let second = client.get(&format!("{CMS}?limit=2&continue={token}")).await;
    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(
        second.json()["metadata"]["resourceVersion"],
        metadata["resourceVersion"]
    );
    let token = second.json()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let last = client.get(&format!("{CMS}?limit=2&continue={token}")).await;
    assert_eq!(last.names(), ["e"]);
    assert!(last.json()["metadata"]["continue"].is_null());
    server.shutdown().await;
}

#[tokio::test]
async fn compacted_page_is_expired_and_offers_an_inconsistent_rest() {
    let (server, client) = with_five().await;
    let first = client.get(&format!("{CMS}?limit=2")).await.json();
    let token = first["metadata"]["continue"].as_str().unwrap();
    server.cluster().delete("configmaps", "default/c").unwrap();
    server.cluster().compact();
    let expired = client.get(&format!("{CMS}?limit=2&continue={token}")).await;
    assert_eq!(
        (expired.status, &expired.json()["reason"]),
        (410, &json!("Expired"))
    );
    let rest = expired.json()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let rest = client.get(&format!("{CMS}?limit=2&continue={rest}")).await;
    assert_eq!(rest.names(), ["d", "e"]);
    assert_eq!(
        rest.json()["metadata"]["resourceVersion"],
        json!(server.cluster().revision().to_string())
    );
    server.shutdown().await;
}

#[tokio::test]
async fn resource_version_rules_are_those_of_the_conventions() {
    let (server, client) = with_five().await;
    let old = server.cluster().revision();
    server.cluster().delete("configmaps", "default/e").unwrap();
    let (now, future) = (old + 1, old + 100);
    let table = [
        (String::new(), 200, 4, now),
        ("resourceVersion=0".to_owned(), 200, 4, now),
        ("resourceVersion=0&limit=2".to_owned(), 200, 4, now),
        (format!("resourceVersion={old}"), 200, 4, now),
        (
            format!("resourceVersion={old}&resourceVersionMatch=NotOlderThan"),
            200,
            4,
            now,
        ),
        (
            format!("resourceVersion={old}&resourceVersionMatch=Exact"),
            200,
            5,
            old,
        ),
        (format!("resourceVersion={old}&limit=500"), 200, 5, old),
        (format!("resourceVersion={future}"), 504, 0, 0),
        (
            format!("resourceVersion={future}&resourceVersionMatch=Exact"),
            504,
            0,
            0,
        ),
        ("resourceVersion=abc".to_owned(), 400, 0, 0),
        ("resourceVersionMatch=Exact".to_owned(), 422, 0, 0),
        (
            "resourceVersion=0&resourceVersionMatch=Exact".to_owned(),
            422,
            0,
            0,
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Nonsense".to_owned(),
            422,
            0,
            0,
        ),
        ("sendInitialEvents=true".to_owned(), 422, 0, 0),
        ("continue=nonsense".to_owned(), 400, 0, 0),
        ("limit=x".to_owned(), 400, 0, 0),
        ("labelSelector=a%20in".to_owned(), 400, 0, 0),
        ("fieldSelector=spec.x%3D1".to_owned(), 400, 0, 0),
    ];
    for (query, status, count, revision) in table {
        let reply = client.get(&format!("{CMS}?{query}")).await;
        assert_eq!(reply.status, status, "{query}");
        if status == 200 {
            assert_eq!(reply.names().len(), count, "{query}");
            assert_eq!(
                reply.json()["metadata"]["resourceVersion"],
                json!(revision.to_string()),
                "{query}"
            );
        }
    }
    let too_large = client.get(&format!("{CMS}?resourceVersion={future}")).await;
    assert_eq!(
        too_large.json()["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    assert_eq!(too_large.headers["retry-after"], "1");
    server.cluster().compact();
    assert_eq!(
        client
            .get(&format!(
                "{CMS}?resourceVersion={old}&resourceVersionMatch=Exact"
            ))
            .await
            .status,
        410
    );
    server.shutdown().await;
}

#[tokio::test]
async fn selectors_and_namespaces_narrow_the_list() {
    // B97
    let (server, client) = start().await;
    let cluster = server.cluster();
    cluster.seed_pods(6, 3);
    let mut other = cluster.get("pods", "default/pod-0").unwrap();
    other["metadata"] = json!({"name": "x", "namespace": "kube-system", "labels": {"app": "web"}});
    cluster.create(other).unwrap();
    let names = async |path: &str| client.get(path).await.names();
    assert_eq!(names("/api/v1/pods").await.len(), 7);
    assert_eq!(names("/api/v1/namespaces/kube-system/pods").await, ["x"]);
    assert_eq!(
        names("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1").await,
        ["pod-1", "pod-4"]
    );
    assert_eq!(
        names("/api/v1/pods?fieldSelector=metadata.namespace!%3Ddefault").await,
        ["x"]
    );
    assert_eq!(
        names("/api/v1/pods?labelSelector=app%20in%20(web,api)&limit=2").await,
        ["pod-0", "pod-1"]
    );
    cluster
        .patch_merge(
            "pods",
            "default/pod-5",
            json!({"status": {"phase": "Failed"}}),
        )
        .unwrap();
    assert_eq!(
        names("/api/v1/pods?fieldSelector=status.phase%3DFailed").await,
        ["pod-5"]
    );
    server.shutdown().await;
}

#[tokio::test]
async fn event_field_selectors_reach_into_the_involved_object() {
    let (server, client) = start().await;
    for (name, kind) in [("e1", "Pod"), ("e2", "Node")] {
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
                           "involvedObject": {"kind": kind, "name": "x"}, "source": {"component": "test"}});
        server.cluster().create(event).unwrap();
    }
    let reply = client
        .get("/api/v1/events?fieldSelector=involvedObject.kind%3DPod,source%3Dtest")
        .await;
    assert_eq!(reply.names(), ["e1"]);
    server.shutdown().await;
}

#[tokio::test]
async fn large_list_is_streamed_and_compressed_where_accepted() {
    let (server, client) = start().await;
    server.cluster().seed_pods(300, 3);
    let plain = client.get("/api/v1/pods").await;
    assert!(plain.headers.get("content-encoding").is_none());
    assert_eq!(plain.names().len(), 300);
    let zipped = client
        .request("GET", "/api/v1/pods", &[("accept-encoding", "gzip")], "")
        .await;
    assert_eq!(zipped.headers["content-encoding"], "gzip");
    assert!(zipped.bytes.len() * 4 < plain.bytes.len());
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&zipped.bytes[..])
        .read_to_end(&mut text)
        .unwrap();
    assert_eq!(text, plain.bytes);
    let small = client
        .request(
            "GET",
            "/api/v1/pods?limit=1",
            &[("accept-encoding", "gzip")],
            "",
        )
        .await;
    assert!(small.headers.get("content-encoding").is_none());
    server.shutdown().await;
}
