//! Each fault, as a client meets it.

use std::{io::Write, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::client::{Line, PATIENCE, cm, http2, start};
use informers_fake_apiserver::{FakeApiServer, Fault};

const CMS: &str = "/api/v1/namespaces/default/configmaps";

fn watch_path(server: &FakeApiServer) -> String {
    format!(
        "{CMS}?watch=true&resourceVersion={}",
        server.cluster().revision()
    )
}

/// Sends a GET on a socket of its own and reads what comes until the end or an error.
async fn raw_get(server: &FakeApiServer, path: &str) -> (Vec<u8>, std::io::Result<()>) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: fake\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut received = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut received))
        .await
        .expect("an end in time");
    (received, read.map(|_| ()))
}

fn body_of(received: &[u8]) -> &[u8] {
    let head = received.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    &received[head + 4..]
}

#[tokio::test]
async fn status_fault_answers_so_many_requests() {
    let (server, client) = start().await;
    server.faults().inject(
        Fault::status(429)
            .retry_after(7)
            .message("slow down")
            .on_list()
            .times(2),
    );
    for _ in 0..2 {
        let reply = client.get(CMS).await;
        assert_eq!(
            (reply.status, reply.headers["retry-after"].to_str().unwrap()),
            (429, "7")
        );
        assert_eq!(
            (&reply.json()["reason"], &reply.json()["message"]),
            (&json!("TooManyRequests"), &json!("slow down"))
        );
    }
    assert_eq!(client.get(CMS).await.status, 200);
    assert!(server.faults().list().is_empty());
    assert_eq!(
        server
            .requests()
            .iter()
            .map(|r| r.status.unwrap())
            .collect::<Vec<_>>(),
        [429, 429, 200]
    );
    server.shutdown().await;
}

#[tokio::test]
async fn body_fault_answers_with_what_it_is_given() {
    let (server, client) = start().await;
    server
        .faults()
        .inject(Fault::body(502, "text/html", "<h1>Bad Gateway</h1>"));
    let reply = client.get(CMS).await;
    assert_eq!(
        (
            reply.status,
            &reply.headers["content-type"],
            &reply.bytes[..4]
        ),
        (502, &"text/html".parse().unwrap(), &b"<h1>"[..])
    );
    server.shutdown().await;
}

#[tokio::test]
async fn fault_ids_can_be_removed_and_all_cleared() {
    let (server, client) = start().await;
    let id = server.faults().inject(Fault::forbidden());
    server
        .faults()
        .inject(Fault::missing_resource().on_resource("configmaps"));
    assert_eq!(client.get(CMS).await.status, 403);
    assert!(server.faults().remove(id) && !server.faults().remove(id));
    assert_eq!(client.get(CMS).await.status, 404);
    server.faults().clear();
    assert_eq!(client.get(CMS).await.status, 200);
    server.shutdown().await;
}

#[tokio::test]
async fn error_event_ends_the_watch_after_so_many_events() {
    let (server, client) = start().await;
    server
        .faults()
        .inject(Fault::error_event(410).after_events(1).times(1));
    let path = watch_path(&server);
    let mut watch = client.stream(&path).await;
    server.cluster().create(cm("a")).unwrap();
    server.cluster().create(cm("b")).unwrap();
    assert_eq!(watch.events(3).await, ["ADDED a", "ERROR 410", "End"]);
    let mut next = client.stream(&path).await;
    assert_eq!(next.events(2).await, ["ADDED a", "ADDED b"]);
    server.shutdown().await;
}

#[tokio::test]
async fn malformed_line_and_raw_bytes_go_out_between_events() {
    let (server, client) = start().await;
    server
        .faults()
        .inject(Fault::malformed_line().after_events(1));
    server.faults().inject(Fault::raw("\r\n").after_events(1));
    let mut watch = client.stream(&watch_path(&server)).await;
    server.cluster().create(cm("a")).unwrap();
    server.cluster().create(cm("b")).unwrap();
    assert_eq!(watch.event().await, "ADDED a");
    let line = watch.line().await.unwrap().unwrap();
    assert!(serde_json::from_slice::<Value>(&line).is_err());
    assert_eq!(watch.line().await.unwrap().unwrap(), "\r");
    assert_eq!(watch.event().await, "ADDED b");
    server.shutdown().await;
}

#[tokio::test]
async fn faults_strike_watches_that_are_open() {
    let (server, client) = start().await;
    let mut one = client.stream(&watch_path(&server)).await;
    let mut two = client.stream(&watch_path(&server)).await;
    server.wait_for_watches(2, PATIENCE).await.unwrap();
    server
        .faults()
        .inject(Fault::error_event(500).now().times(1));
    assert_eq!(one.events(2).await, ["ERROR 500", "End"]);
    server.cluster().create(cm("a")).unwrap();
    assert_eq!(two.event().await, "ADDED a");
    server.faults().inject(Fault::cut(0).now());
    assert!(matches!(two.next().await, Line::Broken(0)));
    server.shutdown().await;
}

#[tokio::test]
async fn cut_ends_the_body_at_the_byte() {
    let (server, client) = start().await;
    server.cluster().seed_pods(200, 1);
    let whole = client.get("/api/v1/pods").await.bytes;
    server.faults().inject(Fault::cut(100_000).on_list());
    let (received, end) = raw_get(&server, "/api/v1/pods").await;
    assert!(end.is_ok(), "FIN");
    let body = body_of(&received);
    let payload: usize = chunks(body).iter().map(|c| c.len()).sum();
    assert_eq!(payload, 100_000);
    assert!(!body.ends_with(b"0\r\n\r\n"));
    assert_eq!(chunks(body).concat(), whole[..100_000]);
    server.faults().clear();
    server.faults().inject(Fault::cut(0).on_list());
    let (received, _) = raw_get(&server, "/api/v1/pods").await;
    assert_eq!(body_of(&received), b"", "the head alone");
    server.shutdown().await;
}

#[tokio::test]
async fn cut_in_the_middle_of_a_chunk_announces_more_than_comes() {
    let (server, _) = start().await;
    server.cluster().seed_pods(3, 1);
    server
        .faults()
        .inject(Fault::cut(1000).mid_chunk().on_list());
    let (received, _) = raw_get(&server, "/api/v1/pods").await;
    let body = body_of(&received);
    let line = body.windows(2).position(|w| w == b"\r\n").unwrap();
    let announced = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
    assert_eq!(body.len() - line - 2, 1000);
    assert!(announced > 1000);
    server.shutdown().await;
}

#[tokio::test]
async fn cut_by_reset_is_an_error_of_the_socket() {
    let (server, client) = start().await;
    server.cluster().seed_pods(3, 1);
    server.faults().inject(Fault::cut(10).by_reset().on_list());
    let (_, end) = raw_get(&server, "/api/v1/pods").await;
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    server.faults().clear();
    server.faults().inject(Fault::reset().times(1));
    assert!(client.breaks(CMS).await);
    assert_eq!(client.get(CMS).await.status, 200);
    server.shutdown().await;
}

#[tokio::test]
async fn stall_hang_and_black_hole_stay_silent_until_cut() {
    let (server, client) = start().await;
    server.faults().inject(Fault::stall().on_watch());
    let mut watch = client.stream(&watch_path(&server)).await;
    assert_eq!(watch.status, 200);
    server.cluster().create(cm("a")).unwrap();
    assert!(watch.is_silent().await);
    server.faults().clear();
    for fault in [Fault::hang(), Fault::black_hole()] {
        server.faults().inject(fault.times(1));
        let mut answer = Box::pin(client.breaks(CMS));
        assert!(
            tokio::time::timeout(Duration::from_millis(150), &mut answer)
                .await
                .is_err()
        );
        server.disconnect_all();
        assert!(tokio::time::timeout(PATIENCE, answer).await.unwrap());
    }
    server.shutdown().await;
}

#[tokio::test]
async fn stall_with_an_end_goes_on() {
    let (server, client) = start().await;
    server.faults().inject(
        Fault::stall()
            .after_bytes(5)
            .lasting(Duration::from_millis(50))
            .on_list(),
    );
    server
        .faults()
        .inject(Fault::delay(Duration::from_millis(50)).on_list());
    let start = Instant::now();
    let reply = client.get(CMS).await;
    assert_eq!(reply.json()["kind"], "ConfigMapList");
    assert!(start.elapsed() >= Duration::from_millis(100));
    server.shutdown().await;
}

#[tokio::test]
async fn black_hole_strikes_an_open_watch() {
    let (server, client) = start().await;
    let mut watch = client.stream(&watch_path(&server)).await;
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    server.faults().inject(Fault::black_hole().now());
    server.cluster().create(cm("a")).unwrap();
    assert!(watch.is_silent().await);
    server.shutdown().await;
}

#[tokio::test]
async fn lost_event_is_not_sent_and_the_next_is() {
    let (server, client) = start().await;
    let cluster = server.cluster();
    cluster.create(cm("a")).unwrap();
    let mut watch = client.stream(&watch_path(&server)).await;
    server.faults().inject(
        Fault::drop_events()
            .of_type("DELETED")
            .of_object("default/a")
            .times(1),
    );
    cluster.delete("configmaps", "default/a").unwrap();
    cluster.create(cm("b")).unwrap();
    assert_eq!(watch.event().await, "ADDED b");
    server.shutdown().await;
}

#[tokio::test]
async fn compaction_happens_at_once_or_as_the_request_arrives() {
    let (server, client) = start().await;
    let path = watch_path(&server);
    server.cluster().create(cm("a")).unwrap();
    server.faults().inject(Fault::compact().on_watch());
    assert_eq!(
        client
            .get(&format!(
                "{CMS}?resourceVersionMatch=Exact&resourceVersion={}",
                server.cluster().revision() - 1
            ))
            .await
            .status,
        200
    );
    assert_eq!(client.stream(&path).await.event().await, "ERROR 410");
    let path = watch_path(&server);
    server.cluster().create(cm("b")).unwrap();
    server.faults().inject(Fault::compact());
    assert_eq!(client.stream(&path).await.event().await, "ERROR 410");
    server.shutdown().await;
}

#[tokio::test]
async fn rollback_ends_watches_and_takes_the_revision_back() {
    let (server, client) = start().await;
    let backup = server.cluster().revision();
    server.cluster().create(cm("a")).unwrap();
    let mut watch = client.stream(&watch_path(&server)).await;
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    server.faults().inject(Fault::rollback(backup));
    assert_eq!(watch.event().await, "End");
    let list = client.get(CMS).await;
    assert!(list.names().is_empty());
    assert_eq!(
        list.json()["metadata"]["resourceVersion"],
        json!(backup.to_string())
    );
    assert_eq!(
        client
            .get(&format!("{CMS}?resourceVersion={}", backup + 1))
            .await
            .status,
        504
    );
    server.shutdown().await;
}

#[tokio::test]
async fn lagging_replica_answers_from_an_older_revision() {
    let (server, client) = start().await;
    server.cluster().create(cm("a")).unwrap();
    server.cluster().create(cm("b")).unwrap();
    let now = server.cluster().revision();
    server.faults().inject(Fault::replica_lag(1));
    let list = client.get(CMS).await;
    assert_eq!(list.names(), ["a"]);
    assert_eq!(
        list.json()["metadata"]["resourceVersion"],
        json!((now - 1).to_string())
    );
    assert_eq!(client.get(&format!("{CMS}/b")).await.status, 404);
    assert_eq!(
        client
            .get(&format!("{CMS}?resourceVersion={now}"))
            .await
            .status,
        504
    );
    let mut watch = client
        .stream(&format!("{CMS}?watch=true&resourceVersion={}", now - 2))
        .await;
    assert_eq!(watch.event().await, "ADDED a");
    assert!(watch.is_silent().await);
    server.cluster().create(cm("c")).unwrap();
    assert_eq!(watch.event().await, "ADDED b");
    server.shutdown().await;
}

#[tokio::test]
async fn paging_faults_break_later_pages() {
    let (server, client) = start().await;
    for name in ["a", "b", "c"] {
        server.cluster().create(cm(name)).unwrap();
    }
    let token = client.get(&format!("{CMS}?limit=1")).await.json()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let page = format!("{CMS}?limit=1&continue={token}");
    server.faults().inject(Fault::expired_continue().times(1));
    server
        .faults()
        .inject(Fault::inconsistent_continue().times(1));
    let plain = client.get(&page).await;
    assert_eq!(
        (plain.status, &plain.json()["metadata"]["continue"]),
        (410, &Value::Null)
    );
    let offered = client.get(&page).await;
    let rest = offered.json()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        client.get(&format!("{CMS}?continue={rest}")).await.names(),
        ["b", "c"]
    );
    assert_eq!(client.get(&page).await.names(), ["b"]);
    server.shutdown().await;
}

#[tokio::test]
async fn watch_list_faults_refuse_it_or_keep_its_end_back() {
    // B96
    let (server, client) = start().await;
    server.cluster().create(cm("a")).unwrap();
    let path = format!(
        "{CMS}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    server.faults().inject(Fault::watch_list_refused().times(1));
    server.faults().inject(Fault::watch_list_silent().times(1));
    server
        .faults()
        .inject(Fault::watch_list_without_end().skip(2));
    assert_eq!(client.get(&path).await.status, 422);
    assert!(client.stream(&path).await.is_silent().await);
    let mut endless = client.stream(&path).await;
    assert_eq!(endless.event().await, "ADDED a");
    assert!(endless.is_silent().await);
    server.shutdown().await;
}

#[tokio::test]
async fn too_large_resource_version_names_its_cause() {
    let (server, client) = start().await;
    server
        .faults()
        .inject(Fault::too_large_resource_version().on_list().times(1));
    let reply = client.get(&format!("{CMS}?resourceVersion=5")).await;
    assert_eq!(reply.status, 504);
    assert_eq!(
        reply.json()["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn slow_connection_takes_its_time() {
    let (server, client) = start().await;
    server.cluster().seed_pods(20, 1);
    let size = client.get("/api/v1/pods").await.bytes.len() as u64;
    server
        .faults()
        .inject(Fault::slow_writer(size * 4).on_list());
    let start = Instant::now();
    assert_eq!(client.get("/api/v1/pods").await.names().len(), 20);
    assert!(
        start.elapsed() >= Duration::from_millis(200),
        "a quarter of a second at that rate"
    );
    server.faults().clear();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    server
        .faults()
        .inject(Fault::slow_reader(1000).on_get().times(1));
    let request = format!(
        "GET {CMS}/x HTTP/1.1\r\nhost: fake\r\n\r\nGET {CMS} HTTP/1.1\r\nhost: fake\r\nx: {}\r\n\r\n",
        "y".repeat(300)
    );
    let start = Instant::now();
    // The second request comes once the first was read at full speed.
    let (first, second) = request.split_at(request.rfind("GET").unwrap());
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    stream.write_all(second.as_bytes()).await.unwrap();
    server
        .wait_for_request(|r| r.index == 3, PATIENCE)
        .await
        .unwrap();
    assert!(
        start.elapsed() >= Duration::from_millis(200),
        "300 bytes at 1,000 a second"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn gzip_watch_delivers_each_event_as_it_happens() {
    let (server, client) = start().await;
    server.faults().inject(Fault::gzip().on_watch());
    let mut watch = client.stream(&watch_path(&server)).await;
    let mut decoder = flate2::write::GzDecoder::new(Vec::new());
    for name in ["a", "b"] {
        server.cluster().create(cm(name)).unwrap();
        while !decoder.get_ref().ends_with(b"\n") {
            let piece = watch.bytes().await;
            decoder.write_all(&piece).unwrap();
            decoder.flush().unwrap();
        }
        let line: Value = serde_json::from_slice(&std::mem::take(decoder.get_mut())).unwrap();
        assert_eq!(line["object"]["metadata"]["name"], name);
    }
    server.shutdown().await;
}

#[tokio::test]
async fn goaway_lets_open_streams_live_and_new_requests_go_elsewhere() {
    let (server, _) = start().await;
    let (mut sender, _connection) = http2(&server).await;
    let request = |path: String| {
        Request::get(format!("http://fake{path}"))
            .body(Full::new(Bytes::new()))
            .unwrap()
    };
    let mut watch = sender
        .send_request(request(watch_path(&server)))
        .await
        .unwrap()
        .into_body();
    server.wait_for_watches(1, PATIENCE).await.unwrap();
    server.faults().inject(Fault::goaway().on_list());
    assert_eq!(
        sender
            .send_request(request(CMS.to_owned()))
            .await
            .unwrap()
            .status(),
        200
    );
    server.cluster().create(cm("a")).unwrap();
    let frame = tokio::time::timeout(PATIENCE, watch.frame())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(frame.into_data().unwrap().ends_with(b"\n"));
    let refused = async {
        while sender.ready().await.is_ok() {
            // The GOAWAY is on its way while the connection still looks open.
            if sender.send_request(request(CMS.to_owned())).await.is_err() {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn admin_paths_inject_list_and_clear_and_show_requests() {
    let (server, client) = start().await;
    let fault = json!({"fault": "status", "code": 503, "verb": "list", "times": 3});
    assert_eq!(
        client
            .send_json("POST", "/_fake/faults", &fault)
            .await
            .status,
        201
    );
    assert_eq!(
        client
            .send_json("POST", "/_fake/faults", &json!({"fault": "nonsense"}))
            .await
            .status,
        400
    );
    for bad in [
        json!({"fault": "status", "code": 500, "retry_after": 1}),
        json!({"fault": "status", "code": 500, "now": true}),
        json!({"fault": "rollback", "revision": 1_000_000}),
    ] {
        let refused = client.send_json("POST", "/_fake/faults", &bad).await;
        assert_eq!(refused.status, 400, "{bad}");
    }
    assert_eq!(client.get(&format!("{CMS}?limit=5")).await.status, 503);
    let listed = client.get("/_fake/faults").await.json();
    assert_eq!(
        (
            &listed[0]["fault"],
            &listed[0]["applied"],
            &listed[0]["times"]
        ),
        (&json!("status"), &json!(1), &json!(3))
    );
    assert_eq!(client.delete("/_fake/faults").await.json(), json!([]));
    let requests = client.get("/_fake/requests").await.json();
    assert_eq!(
        requests.as_array().unwrap().len(),
        1,
        "admin requests are not among them"
    );
    assert_eq!(
        (
            &requests[0]["path"],
            &requests[0]["query"]["limit"],
            &requests[0]["status"],
            &requests[0]["verb"]
        ),
        (&json!(CMS), &json!("5"), &json!(503), &json!("list"))
    );
    assert_eq!(client.get("/_fake/nothing").await.status, 404);
    server.shutdown().await;
}

/// The payloads of whole chunks.
fn chunks(mut body: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        chunks.push(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
    }
    chunks
}
