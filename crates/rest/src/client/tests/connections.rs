//! How connections are shared, kept and replaced.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use informers_reflector::TransportKind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::Client;
use super::{client, get};
use crate::config::Config;
use crate::connect::{Connecting, Connector, Transport};
use crate::request::Request;
use crate::testing::{Answer, Authority, ServerOptions, TestServer, raw_server, text_of};

async fn http2_server(authority: &Authority, max_streams: u32) -> TestServer {
    let options = ServerOptions {
        tls: Some(authority.server(&["127.0.0.1"])),
        http2: true,
        max_streams: Some(max_streams),
        ..ServerOptions::default()
    };
    TestServer::start(options, |seen| {
        if seen.target == "/watch" {
            let (tx, answer) = Answer::stream();
            // Open until the server ends.
            std::mem::forget(tx);
            answer
        } else {
            Answer::ok("{}")
        }
    })
    .await
}

#[tokio::test]
async fn http1_connection_is_used_again() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    let client = Client::new(server.config()).unwrap();
    for _ in 0..3 {
        get(&client, "/").await;
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(client.pool().counts(), (0, 1));
}

#[tokio::test]
async fn http2_is_agreed_on_and_shared() {
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 100).await;
    let client = client(server.config(), &authority);
    for _ in 0..3 {
        get(&client, "/").await;
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(server.seen()[0].version, Version::HTTP_2);
}

#[tokio::test]
async fn http1_is_spoken_where_the_server_speaks_no_other() {
    let authority = Authority::new("ca");
    let server = TestServer::tls(&authority, false, |_| Answer::ok("{}")).await;
    get(&client(server.config(), &authority), "/").await;
    assert_eq!(server.seen()[0].version, Version::HTTP_11);
    let server = http2_server(&authority, 100).await;
    get(&client(server.config().without_http2(), &authority), "/").await;
    assert_eq!(server.seen()[0].version, Version::HTTP_11);
}

// B36
#[tokio::test]
async fn watches_get_a_stream_each_and_leave_room_for_others() {
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 3).await;
    let client = client(server.config(), &authority);
    let watch = || client.send(Request::get("/watch").streaming());
    let watches = futures_util::future::join_all((0..7).map(|_| watch())).await;
    assert!(watches.iter().all(Result::is_ok));
    get(&client, "/").await;
    assert_eq!(server.connections(), 3);
    let per_connection = |number| {
        let seen = server.seen();
        seen.iter().filter(|seen| seen.connection == number).count()
    };
    assert_eq!((0..3).map(per_connection).max(), Some(3));
}

#[tokio::test]
async fn four_hundred_watches_take_four_connections() {
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 100).await;
    let client = client(server.config(), &authority);
    let watches = (0..400).map(|_| client.send(Request::get("/watch").streaming()));
    let watches = futures_util::future::join_all(watches).await;
    assert!(watches.iter().all(Result::is_ok));
    assert_eq!(server.connections(), 4);
    drop(watches);
    client.close().await;
}

// B35
#[tokio::test]
async fn goaway_leads_new_requests_to_a_new_connection() {
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 100).await;
    let client = client(server.config(), &authority);
    get(&client, "/").await;
    server.go_away();
    for _ in 0..3 {
        get(&client, "/").await;
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn connection_that_the_server_closed_is_replaced_silently() {
    let authority = Authority::new("ca");
    for http2 in [false, true] {
        let server = TestServer::tls(&authority, http2, |_| Answer::ok("{}")).await;
        let client = client(server.config(), &authority);
        for _ in 0..3 {
            get(&client, "/").await;
            server.cut();
        }
        assert_eq!(server.connections(), 3, "http2: {http2}");
    }
}

#[tokio::test]
async fn connection_closed_after_the_request_is_replaced_for_get_alone() {
    // Answers the first request of each connection, and closes at the second.
    let (address, _tasks) = raw_server(|mut stream, _| {
        Box::pin(async move {
            read_head(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                .await
                .unwrap();
            read_head(&mut stream).await;
        })
    })
    .await;
    let client = Client::new(Config::new(&format!("http://{address}")).unwrap()).unwrap();
    get(&client, "/").await;
    get(&client, "/").await;
    let error = client
        .send(Request::new(http::Method::POST, "/"))
        .await
        .unwrap_err();
    assert!(error.is_unexpected_eof(), "{error:?}");
}

async fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
}

#[tokio::test]
async fn dropping_an_answer_ends_the_request() {
    let server = TestServer::plain(|_| {
        let (tx, answer) = Answer::stream();
        std::mem::forget(tx);
        answer
    })
    .await;
    let client = Client::new(server.config()).unwrap();
    let response = client.send(Request::get("/").streaming()).await.unwrap();
    assert_eq!(server.open(), 1);
    drop(response);
    while server.open() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn close_ends_drivers_and_keeps_no_connection() {
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 100).await;
    let client = client(server.config(), &authority);
    get(&client, "/").await;
    client.close().await;
    while server.open() > 0 {
        tokio::task::yield_now().await;
    }
    get(&client, "/").await;
    assert_eq!(client.pool().counts(), (0, 0));
}

// B34
#[tokio::test]
async fn http2_connection_that_goes_silent_is_found_dead_by_ping() {
    // A proxy that stops forwarding and closes nothing.
    let authority = Authority::new("ca");
    let server = http2_server(&authority, 100).await;
    let mut config = server
        .config()
        .with_connector(Arc::new(Muffled(server.address)));
    config.timeouts.ping_interval = Duration::from_millis(50);
    config.timeouts.ping_timeout = Duration::from_millis(50);
    let client = client(config, &authority);
    let response = client
        .send(Request::get("/watch").streaming())
        .await
        .unwrap();
    let mut body = response.into_body();
    let error = body.next().await.unwrap_err();
    assert_eq!(
        error.transport_kind(),
        Some(TransportKind::Timeout),
        "{error:?}"
    );
    let text = text_of(&error);
    assert!(
        text.contains("connection lost: no answer to PING within 50ms"),
        "{text}"
    );
}

/// Forwards the first 64 kB to the server or 300 ms, then nothing.
struct Muffled(std::net::SocketAddr);

impl Connector for Muffled {
    fn connect(&self, _host: &str, _port: u16) -> Connecting {
        let address = self.0;
        Box::pin(async move {
            let far = TcpStream::connect(address).await?;
            let (near, inner) = tokio::io::duplex(64 * 1024);
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(async move {
                let (mut inner, mut far) = (inner, far);
                let copy = tokio::io::copy_bidirectional(&mut inner, &mut far);
                let _muffled = tokio::time::timeout(Duration::from_millis(300), copy).await;
                std::future::pending::<()>().await;
            });
            let transport: Box<dyn Transport> = Box::new(Held(near, tasks));
            Ok(transport)
        })
    }
}

/// A stream that owns the task behind it.
struct Held(
    tokio::io::DuplexStream,
    #[expect(dead_code, reason = "ends with it")] tokio::task::JoinSet<()>,
);

impl tokio::io::AsyncRead for Held {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl tokio::io::AsyncWrite for Held {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::pin::Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

// B32
#[tokio::test]
async fn body_cut_short_is_an_unexpected_end() {
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n1",
    ] {
        let (address, _tasks) = raw_server(move |mut stream, _| {
            Box::pin(async move {
                read_head(&mut stream).await;
                stream.write_all(head.as_bytes()).await.unwrap();
            })
        })
        .await;
        let client = Client::new(Config::new(&format!("http://{address}")).unwrap()).unwrap();
        let response = client.send(Request::get("/")).await.unwrap();
        let mut body = response.into_body();
        assert_eq!(body.next().await.unwrap(), Some(Bytes::from("half")));
        let error = body.next().await.unwrap_err();
        assert!(error.is_unexpected_eof(), "{error:?}");
    }
}
