//! WATCH: events, selectors, bookmarks, WatchList, and no loss between LIST and WATCH.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Line, PATIENCE, cm, labelled, start, started};
use informers_fake_apiserver::{ExpiredWatch, FakeApiServer, Verb};

const CMS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn watch_starts_after_the_list_and_loses_nothing() {
    // B95
    let (server, client) = start().await;
    let cluster = server.cluster();
    let listed = client.get(CMS).await.json()["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    cluster.create(cm("between")).unwrap();
    let mut watch = client
        .stream(&format!("{CMS}?watch=true&resourceVersion={listed}"))
        .await;
    cluster
        .patch_merge("configmaps", "default/between", json!({"data": {"k": "w"}}))
        .unwrap();
    cluster.delete("configmaps", "default/between").unwrap();
    assert_eq!(watch.events(2).await, ["ADDED between", "MODIFIED between"]);
    let Line::Event(deleted) = watch.next().await else {
        panic!("no event")
    };
    assert_eq!(
        deleted["object"]["metadata"]["resourceVersion"],
        json!(cluster.revision().to_string())
    );
    assert_eq!(deleted["object"]["data"]["k"], "w");
    server.shutdown().await;
}

#[tokio::test]
async fn watch_without_version_starts_with_the_present_objects() {
    let (server, client) = start().await;
    server.cluster().create(cm("a")).unwrap();
    for query in ["watch=true", "watch=true&resourceVersion=0"] {
        let mut watch = client.stream(&format!("{CMS}?{query}")).await;
        assert_eq!(watch.event().await, "ADDED a");
        assert!(watch.is_silent().await);
    }
    server.shutdown().await;
}

#[tokio::test]
async fn selectors_turn_transitions_into_added_and_deleted() {
    // B97
    let (server, client) = start().await;
    let cluster = server.cluster();
    cluster.create(labelled("a", &json!({"app": "x"}))).unwrap();
    let rv = cluster.revision();
    let mut watch = client
        .stream(&format!(
            "/api/v1/configmaps?watch=1&resourceVersion={rv}&labelSelector=app%3Dx"
        ))
        .await;
    let label = |to: &str| {
        cluster
            .patch_merge(
                "configmaps",
                "default/a",
                json!({"metadata": {"labels": {"app": to}}}),
            )
            .unwrap();
    };
    label("y");
    let left = cluster.revision();
    label("z");
    label("x");
    cluster.create(labelled("b", &json!({"app": "y"}))).unwrap();
    cluster.delete("configmaps", "default/b").unwrap();
    cluster.delete("configmaps", "default/a").unwrap();
    let Line::Event(event) = watch.next().await else {
        panic!("no event")
    };
    assert_eq!(event["type"], "DELETED");
    assert_eq!(
        event["object"]["metadata"]["labels"]["app"], "x",
        "the last selected state"
    );
    assert_eq!(
        event["object"]["metadata"]["resourceVersion"],
        json!(left.to_string())
    );
    assert_eq!(watch.events(2).await, ["ADDED a", "DELETED a"]);
    server.shutdown().await;
}

#[tokio::test]
async fn watch_of_one_namespace_or_name_sees_that_alone() {
    // B97
    let (server, client) = start().await;
    let rv = server.cluster().revision();
    let mut namespace = client
        .stream(&format!("{CMS}?watch=true&resourceVersion={rv}"))
        .await;
    let mut name = client
        .stream(&format!("{CMS}/b?watch=true&resourceVersion={rv}"))
        .await;
    let mut other = cm("a");
    other["metadata"]["namespace"] = json!("kube-system");
    server.cluster().create(other).unwrap();
    server.cluster().create(cm("a")).unwrap();
    server.cluster().create(cm("b")).unwrap();
    assert_eq!(namespace.events(2).await, ["ADDED a", "ADDED b"]);
    assert_eq!(name.event().await, "ADDED b");
    server.shutdown().await;
}

#[tokio::test]
async fn bookmarks_tell_the_newest_revision_delivered() {
    let (server, client) =
        started(FakeApiServer::builder().bookmark_interval(Duration::from_millis(20))).await;
    let rv = server.cluster().revision();
    let mut silent = client
        .stream(&format!("{CMS}?watch=true&resourceVersion={rv}"))
        .await;
    let mut watch = client
        .stream(&format!(
            "{CMS}?watch=true&resourceVersion={rv}&allowWatchBookmarks=true"
        ))
        .await;
    assert_eq!(watch.event().await, format!("BOOKMARK {rv}"));
    server.cluster().seed_nodes(3);
    let newest = format!("BOOKMARK {}", rv + 3);
    while watch.event().await != newest {}
    assert!(silent.is_silent().await);
    server.shutdown().await;
}

#[tokio::test]
async fn timeout_ends_the_watch_in_good_order() {
    let (server, client) = start().await;
    let rv = server.cluster().revision();
    let path =
        format!("{CMS}?watch=true&resourceVersion={rv}&timeoutSeconds=1&allowWatchBookmarks=true");
    let mut watch = client.stream(&path).await;
    server.cluster().seed_nodes(1);
    assert_eq!(
        watch.events(2).await,
        [format!("BOOKMARK {}", rv + 1), "End".to_owned()]
    );
    assert_eq!(server.open_watches(), 0);
    server.shutdown().await;
}

#[tokio::test]
async fn expired_watch_is_answered_in_the_chosen_shape() {
    for (shape, status, line) in [
        (ExpiredWatch::Event, 200, "ERROR 410"),
        (ExpiredWatch::Status, 410, ""),
    ] {
        let (server, client) = started(FakeApiServer::builder().expired_watch(shape)).await;
        let old = server.cluster().revision();
        server.cluster().create(cm("a")).unwrap();
        server.cluster().compact();
        let mut watch = client
            .stream(&format!("{CMS}?watch=true&resourceVersion={old}"))
            .await;
        assert_eq!(watch.status, status);
        if !line.is_empty() {
            assert_eq!(watch.events(2).await, [line, "End"]);
        }
        server.shutdown().await;
    }
}

#[tokio::test]
async fn watch_list_sends_objects_then_the_end_then_events() {
    // B96
    let (server, client) = start().await;
    let path = format!(
        "{CMS}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    for objects in [vec![], vec!["a", "b"]] {
        for name in &objects {
            server.cluster().create(cm(name)).unwrap();
        }
        let mut watch = client.stream(&path).await;
        for name in objects {
            assert_eq!(watch.event().await, format!("ADDED {name}"));
        }
        let Line::Event(end) = watch.next().await else {
            panic!("no event")
        };
        assert_eq!(end["type"], "BOOKMARK");
        let metadata = &end["object"]["metadata"];
        assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
        assert_eq!(
            metadata["resourceVersion"],
            json!(server.cluster().revision().to_string())
        );
        server.cluster().seed_nodes(1);
        server.cluster().create(cm("z")).unwrap();
        assert_eq!(watch.event().await, "ADDED z");
        server.cluster().delete("configmaps", "default/z").unwrap();
    }
    assert_eq!(server.requests()[0].verb, Verb::WatchList);
    server.shutdown().await;
}

#[tokio::test]
async fn watch_options_that_exclude_each_other_are_invalid() {
    let (server, client) = start().await;
    for (query, status) in [
        ("sendInitialEvents=true", 422),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true",
            422,
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            422,
        ),
        ("resourceVersionMatch=NotOlderThan&resourceVersion=1", 422),
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYSJ9",
            422,
        ),
        ("resourceVersion=abc", 400),
        ("timeoutSeconds=x", 400),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=999",
            504,
        ),
    ] {
        assert_eq!(
            client
                .get(&format!("{CMS}?watch=true&{query}"))
                .await
                .status,
            status,
            "{query}"
        );
    }
    server.shutdown().await;
}

#[tokio::test]
async fn metadata_watch_carries_metadata_alone() {
    let (server, client) = start().await;
    server.cluster().create(cm("a")).unwrap();
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = client.stream_as(&format!("{CMS}?watch=true"), accept).await;
    let Line::Event(event) = watch.next().await else {
        panic!("no event")
    };
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert!(event["object"]["data"].is_null());
    server.shutdown().await;
}

#[tokio::test]
async fn slow_watch_holds_up_no_writer_and_ends_with_410() {
    let (server, client) = started(FakeApiServer::builder().history(50)).await;
    let rv = server.cluster().revision();
    let mut watch = client
        .stream(&format!("{CMS}?watch=true&resourceVersion={rv}"))
        .await;
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    // More than the socket buffers hold, while nobody reads.
    let payload = "x".repeat(200_000);
    server.cluster().create(cm("a")).unwrap();
    for i in 0..200 {
        let data = json!({"data": {"k": payload, "i": i.to_string()}});
        server
            .cluster()
            .patch_merge("configmaps", "default/a", data)
            .unwrap();
    }
    let mut last = String::new();
    loop {
        match watch.event().await.as_str() {
            "End" => break,
            event => event.clone_into(&mut last),
        }
    }
    assert_eq!(last, "ERROR 410");
    server.shutdown().await;
}

/// Applies a watch to a listed state until it equals the wanted one.
async fn follow(client: &Client, wanted: &BTreeMap<String, String>) {
    let list = client.get(CMS).await.json();
    let version = |o: &Value| {
        o["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let name = |o: &Value| o["metadata"]["name"].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap();
    let mut state: BTreeMap<String, String> = items.iter().map(|o| (name(o), version(o))).collect();
    let mut watch = client
        .stream(&format!(
            "{CMS}?watch=true&resourceVersion={}",
            version(&list)
        ))
        .await;
    let mut last = 0;
    while state != *wanted {
        let Line::Event(event) = watch.next().await else {
            panic!("the watch ended")
        };
        let object = &event["object"];
        let at: u64 = version(object).parse().unwrap();
        assert!(at > last, "events in order, each once");
        last = at;
        let known = match event["type"].as_str().unwrap() {
            "DELETED" => state.remove(&name(object)).is_some(),
            "ADDED" => state.insert(name(object), version(object)).is_none(),
            _ => state.insert(name(object), version(object)).is_some(),
        };
        assert!(
            known,
            "{} of {} does not follow from the list",
            event["type"],
            name(object)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_and_watch_beside_writers_give_the_final_state() {
    // B95
    let (server, client) = start().await;
    let cluster = server.cluster();
    let writer = std::thread::spawn(move || {
        for i in 0..1500_u32 {
            let name = format!("n{}", i * 7 % 13);
            let key = format!("default/{name}");
            let written = match i % 5 {
                0 => cluster.delete("configmaps", &key),
                _ if cluster.get("configmaps", &key).is_none() => cluster.create(cm(&name)),
                _ => cluster.patch_merge("configmaps", &key, json!({"data": {"k": i.to_string()}})),
            };
            assert!(written.is_ok() || i % 5 == 0);
        }
        cluster.create(cm("final")).unwrap();
        cluster
            .versions("configmaps")
            .into_iter()
            .map(|(k, rv)| (k.trim_start_matches("default/").to_owned(), rv))
            .collect()
    });
    let mut early = Vec::new();
    for _ in 0..4 {
        let list = client.get(CMS).await.json();
        early.push(
            list["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let wanted: BTreeMap<String, String> = tokio::task::spawn_blocking(|| writer.join().unwrap())
        .await
        .unwrap();
    follow(&client, &wanted).await;
    for rv in early {
        let mut watch = client
            .stream(&format!("{CMS}?watch=true&resourceVersion={rv}"))
            .await;
        while watch.event().await != "ADDED final" {}
    }
    server.shutdown().await;
}

#[tokio::test]
async fn disconnect_cuts_watches_and_leaves_the_server_up() {
    let (server, client) = start().await;
    let mut watch = client
        .stream(&format!(
            "{CMS}?watch=true&resourceVersion={}",
            server.cluster().revision()
        ))
        .await;
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    server.disconnect_all();
    assert!(matches!(watch.next().await, Line::Broken(0)));
    assert_eq!(client.get(CMS).await.status, 200);
    server.shutdown().await;
}
