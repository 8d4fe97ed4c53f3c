//! Tests of lists and watches against a real server.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, TryStreamExt as _};
use informers_cache_core::{ListItem, Object as _, ResourceVersion};
use informers_reflector::{
    Error, ListMeta, ListOptions, ListPart, ListerWatcher as _, VersionMatch, WatchEvent,
    WatchOptions,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::mpsc;

use super::ListWatch;
use crate::client::Client;
use crate::config::{Compression, Config};
use crate::testing::{Answer, Authority, TestServer, raw_server};

type Sender = mpsc::Sender<io::Result<Bytes>>;

fn config_map(name: &str, version: u32) -> String {
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"d","uid":"u-{name}","resourceVersion":"{version}"}},"data":{{"t":"中文 \" }}"}}}}"#
    )
}

fn list_of(items: &[String], metadata: &str) -> String {
    let items = items.join(",");
    format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{metadata},"items":[{items}]}}"#
    )
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn list_watch(config: Config) -> ListWatch<ConfigMap> {
    ListWatch::of(Client::new(config).unwrap())
}

fn watch_options() -> WatchOptions {
    WatchOptions {
        resource_version: ResourceVersion::new("5"),
        allow_bookmarks: true,
        timeout: Duration::from_secs(300),
        send_initial_events: false,
        version_match: None,
    }
}

/// The names of a list's items, and its metadata.
async fn list(list_watch: &ListWatch<ConfigMap>) -> Result<(Vec<String>, ListMeta), Error> {
    let parts: Vec<ListPart<ConfigMap>> = list_watch
        .list(ListOptions::default())
        .try_collect()
        .await?;
    let mut names = Vec::new();
    let mut meta = None;
    for part in parts {
        assert!(meta.is_none(), "a part after the end");
        match part {
            ListPart::Items(items) => {
                assert!(!items.is_empty() && items.len() <= super::decoders::READY_ITEMS);
                names.extend(items.into_iter().map(|item| match item {
                    ListItem::Object(object) => object.name().to_owned(),
                    ListItem::Undecodable(bad) => format!("!{} {}", bad.name, bad.path),
                }));
            }
            ListPart::End(end) => meta = Some(end),
        }
    }
    Ok((names, meta.expect("an end")))
}

/// A watch whose body the test sends.
async fn watching(authority: Option<&Authority>) -> (TestServer, Arc<Mutex<Vec<Sender>>>, Config) {
    let senders: Arc<Mutex<Vec<Sender>>> = Arc::default();
    let opened = Arc::clone(&senders);
    let handler = move |_: &crate::testing::Seen| {
        let (tx, answer) = Answer::stream();
        opened.lock().unwrap().push(tx);
        answer
    };
    match authority {
        None => {
            let server = TestServer::plain(handler).await;
            let config = server.config();
            (server, senders, config)
        }
        Some(authority) => {
            let server = TestServer::tls(authority, false, handler).await;
            let config = server
                .config()
                .with_certificate_authority(authority.bundle());
            (server, senders, config)
        }
    }
}

fn shown(event: &WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(object) => format!("+{}", object.name()),
        WatchEvent::Modified(object) => format!("~{}", object.name()),
        WatchEvent::Deleted { name, object, .. } => format!("-{name} {}", object.is_some()),
        WatchEvent::Undecodable(bad) => format!("!{} {}", bad.name, bad.path),
        WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        } => format!("@{resource_version} {initial_events_end}"),
        WatchEvent::Error(error) => format!("E{}", error.status().unwrap().code),
    }
}

#[tokio::test]
async fn list_gives_items_then_metadata() {
    let items: Vec<String> = (0..1000).map(|n| config_map(&format!("m{n}"), n)).collect();
    let body = list_of(
        &items,
        r#"{"resourceVersion":"9","continue":"more","remainingItemCount":3}"#,
    );
    let server = TestServer::plain(move |_| Answer::ok(body.clone())).await;
    let (names, meta) = list(&list_watch(server.config())).await.unwrap();
    assert_eq!(names.len(), 1000);
    assert_eq!(names[999], "m999");
    assert_eq!(meta.resource_version, ResourceVersion::new("9"));
    assert_eq!(meta.continue_token.as_deref(), Some("more"));
    assert_eq!(meta.remaining_item_count, Some(3));
}

// B14
#[tokio::test]
async fn list_item_that_does_not_decode_hides_no_other() {
    let bad = r#"{"metadata":{"name":"bad","namespace":"d","resourceVersion":"2"},"data":{"a":1}}"#;
    let body = list_of(
        &[config_map("a", 1), bad.to_owned(), config_map("c", 3)],
        "{}",
    );
    let server = TestServer::plain(move |_| Answer::ok(body.clone())).await;
    let (names, meta) = list(&list_watch(server.config())).await.unwrap();
    assert_eq!(names[0], "a");
    assert!(names[1].starts_with("!d/bad"), "{names:?}");
    assert_eq!(names[2], "c");
    assert_eq!(meta, ListMeta::default());
}

#[tokio::test]
async fn list_request_carries_scope_selectors_and_options() {
    let server = TestServer::plain(|_| Answer::ok(list_of(&[], "{}"))).await;
    let list_watch = list_watch(server.config())
        .in_namespace("shop")
        .with_label_selector("app in (x,y),!old")
        .with_field_selector("metadata.name=a");
    assert_eq!(list_watch.description(), "configmaps in namespace shop");
    let options = ListOptions {
        resource_version: ResourceVersion::new("0"),
        version_match: Some(VersionMatch::NotOlderThan),
        limit: Some(500),
        continue_token: Some("a+b=".to_owned()),
    };
    let parts: Vec<_> = list_watch.list(options).collect().await;
    assert!(parts.iter().all(Result::is_ok));
    assert_eq!(
        server.seen()[0].target,
        "/api/v1/namespaces/shop/configmaps?labelSelector=app%20in%20%28x%2Cy%29%2C%21old\
         &fieldSelector=metadata.name%3Da&resourceVersion=0&resourceVersionMatch=NotOlderThan\
         &limit=500&continue=a%2Bb%3D"
    );
}

#[tokio::test]
async fn watch_request_carries_options_and_no_gzip() {
    let (server, _senders, config) = watching(None).await;
    let list_watch = list_watch(config.with_compression(Compression::Always));
    let mut options = watch_options();
    options.send_initial_events = true;
    options.version_match = Some(VersionMatch::NotOlderThan);
    let _stream = list_watch.watch(options).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(
        seen.target,
        "/api/v1/configmaps?watch=true&resourceVersion=5&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true&sendInitialEvents=true&timeoutSeconds=300"
    );
    assert_eq!(seen.header("accept-encoding"), "");
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_polled() {
    let server = TestServer::plain(|_| Answer::ok(list_of(&[], "{}"))).await;
    let list_watch = list_watch(server.config());
    drop(list_watch.list(ListOptions::default()));
    drop(list_watch.watch(watch_options()));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn list_in_gzip_is_decompressed_while_it_arrives() {
    let items: Vec<String> = (0..50).map(|n| config_map(&format!("m{n}"), n)).collect();
    let body = list_of(&items, r#"{"resourceVersion":"9"}"#);
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    io::Write::write_all(&mut encoder, body.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let cut = body[..body.len() - 10].to_vec();
    for (body, whole) in [(body, true), (cut, false)] {
        let server = TestServer::plain(move |seen| {
            assert_eq!(seen.header("accept-encoding"), "gzip");
            Answer::ok(body.clone()).header("content-encoding", "gzip")
        })
        .await;
        let config = server.config().with_compression(Compression::Always);
        let listed = list(&list_watch(config)).await;
        if whole {
            assert_eq!(listed.unwrap().0.len(), 50);
        } else {
            let error = listed.unwrap_err();
            assert!(error.is_unexpected_eof(), "{error:?}");
        }
    }
}

#[tokio::test]
async fn list_refused_is_one_request_and_the_servers_error() {
    let server =
        TestServer::plain(|_| Answer::status(429, "slow down").header("retry-after", "1")).await;
    let error = list(&list_watch(server.config())).await.unwrap_err();
    assert!(error.is_too_many_requests());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn list_that_is_a_status_is_that_failure() {
    let body = r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}"#;
    let server = TestServer::plain(move |_| Answer::ok(body)).await;
    let error = list(&list_watch(server.config())).await.unwrap_err();
    assert!(error.is_expired(), "{error:?}");
}

#[tokio::test]
async fn list_cut_short_is_an_error() {
    let body = list_of(&[config_map("a", 1)], r#"{"resourceVersion":"9"}"#);
    let half = &body[..body.len() - 4];
    for answer in [
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{half}",
            body.len()
        ),
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{half}\r\n",
            half.len()
        ),
        // Whole as HTTP, not as JSON.
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{half}",
            half.len()
        ),
    ] {
        let (address, _tasks) = raw_server(move |mut stream, _| {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let answer = answer.clone();
            Box::pin(async move {
                let mut head = [0; 4096];
                assert_ne!(stream.read(&mut head).await.unwrap(), 0);
                stream.write_all(answer.as_bytes()).await.unwrap();
            })
        })
        .await;
        let config = Config::new(&format!("http://{address}")).unwrap();
        let error = list(&list_watch(config)).await.unwrap_err();
        assert!(error.is_unexpected_eof(), "{error:?}");
    }
}

#[tokio::test]
async fn list_that_stands_still_is_a_timeout() {
    let (_server, senders, mut config) = watching(None).await;
    config.timeouts.body_idle = Duration::from_millis(50);
    let list_watch = list_watch(config);
    let error = list(&list_watch).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    drop(senders);
}

// NOANS: a server that accepts and never answers.
#[tokio::test]
async fn silent_server_is_noticed_early_and_given_more_time_later() {
    let server = TestServer::plain(|_| Answer::never()).await;
    let mut config = server.config();
    config.timeouts.response = Duration::from_millis(20);
    config.timeouts.response_max = Duration::from_millis(80);
    let list_watch = list_watch(config);
    let mut limits = Vec::new();
    for _ in 0..4 {
        limits.push(
            list_watch
                .patience
                .limit(list_watch.client.timeouts())
                .as_millis(),
        );
        assert!(list(&list_watch).await.unwrap_err().is_timeout());
    }
    assert_eq!(limits, [20, 40, 80, 80]);
}

// B53
#[tokio::test]
async fn watch_events_arrive_as_they_are_sent_however_they_are_cut() {
    let (_server, senders, config) = watching(None).await;
    let list_watch = list_watch(config);
    let mut stream = list_watch.watch(watch_options()).await.unwrap();
    let tx = senders.lock().unwrap().pop().unwrap();
    let text = event("ADDED", &config_map("a", 6));
    for byte in text.bytes() {
        tx.send(Ok(Bytes::copy_from_slice(&[byte]))).await.unwrap();
    }
    let events = stream.next().await.unwrap().unwrap();
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["+a"]);

    let several = format!(
        "\r\n{}\n{}{}{}",
        event("MODIFIED", &config_map("a", 7)).replace('\n', "\r\n"),
        event("DELETED", &config_map("a", 8)),
        event(
            "BOOKMARK",
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
        ),
        event(
            "ADDED",
            r#"{"metadata":{"name":"bad","namespace":"d","resourceVersion":"10"},"data":5}"#
        ),
    );
    tx.send(Ok(several.into())).await.unwrap();
    let events = stream.next().await.unwrap().unwrap();
    let events: Vec<String> = events.iter().map(shown).collect();
    assert_eq!(events[..3], ["~a", "-d/a true", "@9 true"]);
    assert!(events[3].starts_with("!d/bad"), "{events:?}");
    drop(tx);
    assert!(stream.next().await.is_none());
}

// B02, B04
#[tokio::test]
async fn watch_error_event_needs_no_line_end() {
    let line = r#"{"type":"ERROR","object":{"status":"Failure","reason":"Expired","code":410}}"#;
    let server = TestServer::plain(move |_| Answer::ok(line)).await;
    let list_watch = list_watch(server.config());
    let mut stream = list_watch.watch(watch_options()).await.unwrap();
    let events = stream.next().await.unwrap().unwrap();
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["E410"]);
    assert!(stream.next().await.is_none());
}

// B32, B33
#[tokio::test]
async fn watch_whose_connection_ends_without_notice_ends_quietly() {
    let authority = Authority::new("ca");
    let (server, senders, config) = watching(Some(&authority)).await;
    let list_watch = list_watch(config);
    let mut stream = list_watch.watch(watch_options()).await.unwrap();
    let tx = senders.lock().unwrap().pop().unwrap();
    let half = format!("{}{{\"type\":", event("ADDED", &config_map("a", 6)));
    tx.send(Ok(half.into())).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().len(), 1);
    server.cut();
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn watch_event_that_cannot_be_read_ends_it_after_the_events_before() {
    for bad in [
        event("RENAMED", &config_map("b", 7)),
        event("ADDED", r#"{"metadata":{},"data":5}"#),
        event("ADDED", r#"{"metadata":{"name":"x"},"data":5}"#),
        event("BOOKMARK", r#"{"metadata":{}}"#),
        "<html>".to_owned(),
    ] {
        let body = format!("{}{bad}", event("ADDED", &config_map("a", 6)));
        let server = TestServer::plain(move |_| Answer::ok(body.clone())).await;
        let list_watch = list_watch(server.config());
        let mut stream = list_watch.watch(watch_options()).await.unwrap();
        let events = stream.next().await.unwrap().unwrap();
        assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["+a"]);
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(error.is_decode(), "{error:?}");
        assert!(stream.next().await.is_none());
    }
}

// B34
#[tokio::test]
async fn watch_is_given_up_when_it_outlives_its_timeout() {
    let (_server, _senders, mut config) = watching(None).await;
    config.timeouts.watch_margin = Duration::from_millis(20);
    let list_watch = list_watch(config);
    let mut options = watch_options();
    options.timeout = Duration::from_millis(20);
    let mut stream = list_watch.watch(options).await.unwrap();
    assert!(stream.next().await.is_none());
}

// B54
#[tokio::test]
async fn watch_event_of_three_megabytes_is_one_event() {
    let (_server, senders, config) = watching(None).await;
    let list_watch = list_watch(config);
    let mut stream = list_watch.watch(watch_options()).await.unwrap();
    let tx = senders.lock().unwrap().pop().unwrap();
    let big = config_map("a", 6).replace("中文", &"x".repeat(3_000_000));
    let mut bytes = Bytes::from(event("ADDED", &big));
    let send = async {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(16 * 1024));
            tx.send(Ok(piece)).await.unwrap();
        }
    };
    let ((), events) = tokio::join!(send, stream.next());
    assert_eq!(events.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn object_beyond_the_limit_is_an_explicit_error() {
    let body = list_of(&[config_map("a", 1)], "{}");
    let server = TestServer::plain(move |_| Answer::ok(body.clone())).await;
    let list_watch = list_watch(server.config()).with_max_object_size(32);
    let error = list(&list_watch).await.unwrap_err();
    assert!(error.is_decode());
    let text = crate::testing::text_of(&error);
    assert!(text.contains("32 bytes, the configured maximum"), "{text}");
}
