//! A small HTTP client: one connection a request, JSON in and out.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use informers_fake_apiserver::{FakeApiServer, FakeApiServerBuilder};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long any answer may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An answer read to its end.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// Names of a list's items.
    pub(crate) fn names(&self) -> Vec<String> {
        let list = self.json();
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect()
    }
}

/// An answer that is read as it comes.
pub(crate) struct Stream {
    pub(crate) status: u16,
    body: Incoming,
    buffer: BytesMut,
    _connection: JoinSet<()>,
}

/// What comes next in a watch.
#[derive(Debug)]
pub(crate) enum Line {
    /// An event.
    Event(Value),
    /// The orderly end of the body.
    End,
    /// The connection broke; the bytes of the unfinished line before that.
    Broken(usize),
}

impl Stream {
    /// The next line, without its newline.
    pub(crate) async fn line(&mut self) -> Result<Option<Bytes>, usize> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let mut line = self.buffer.split_to(end + 1).freeze();
                line.truncate(end);
                return Ok(Some(line));
            }
            match tokio::time::timeout(PATIENCE, self.body.frame())
                .await
                .expect("an answer in time")
            {
                Some(Ok(frame)) => self.buffer.extend_from_slice(&frame.into_data().unwrap()),
                Some(Err(_)) => return Err(self.buffer.len()),
                None => return Ok(None),
            }
        }
    }

    /// The next piece as it came.
    pub(crate) async fn bytes(&mut self) -> Bytes {
        let frame = tokio::time::timeout(PATIENCE, self.body.frame())
            .await
            .expect("an answer in time");
        frame.unwrap().unwrap().into_data().unwrap()
    }

    pub(crate) async fn next(&mut self) -> Line {
        match self.line().await {
            Ok(Some(line)) => Line::Event(serde_json::from_slice(&line).unwrap()),
            Ok(None) => Line::End,
            Err(left) => Line::Broken(left),
        }
    }

    /// The next event as `TYPE name`, or `TYPE rv` for a bookmark.
    pub(crate) async fn event(&mut self) -> String {
        match self.next().await {
            Line::Event(event) => describe(&event),
            other => format!("{other:?}"),
        }
    }

    pub(crate) async fn events(&mut self, count: usize) -> Vec<String> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.event().await);
        }
        events
    }

    /// Whether nothing comes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(150), self.next())
            .await
            .is_err()
    }
}

pub(crate) fn describe(event: &Value) -> String {
    let metadata = &event["object"]["metadata"];
    let text = match event["type"].as_str().unwrap() {
        "BOOKMARK" => metadata["resourceVersion"].as_str().unwrap().to_owned(),
        "ERROR" => event["object"]["code"].to_string(),
        _ => metadata["name"].as_str().unwrap().to_owned(),
    };
    format!("{} {text}", event["type"].as_str().unwrap())
}

/// Talks to one server.
pub(crate) struct Client {
    address: std::net::SocketAddr,
}

impl Client {
    pub(crate) fn new(server: &FakeApiServer) -> Self {
        Self {
            address: server.address(),
        }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<(Response<Incoming>, JoinSet<()>), hyper::Error> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // Its error is the request's too.
            let _ = connection.await;
        });
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "fake");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).unwrap();
        let response = tokio::time::timeout(PATIENCE, sender.send_request(request))
            .await
            .expect("an answer in time")?;
        // The connection task ends with the body, or with this set.
        Ok((response, tasks))
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let (response, _connection) = self.send(method, path, headers, body.into()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = tokio::time::timeout(PATIENCE, body.collect())
            .await
            .expect("an answer in time")
            .unwrap()
            .to_bytes();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], Bytes::new()).await
    }

    pub(crate) async fn send_json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.request(
            method,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn patch(&self, path: &str, media_type: &str, body: &Value) -> Reply {
        self.request(
            "PATCH",
            path,
            &[("content-type", media_type)],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path, &[], Bytes::new()).await
    }

    /// A request whose answer is read as it comes.
    pub(crate) async fn stream(&self, path: &str) -> Stream {
        self.stream_as(path, "application/json").await
    }

    pub(crate) async fn stream_as(&self, path: &str, accept: &str) -> Stream {
        let (response, connection) = self
            .send("GET", path, &[("accept", accept)], Bytes::new())
            .await
            .unwrap();
        Stream {
            status: response.status().as_u16(),
            body: response.into_body(),
            buffer: BytesMut::new(),
            _connection: connection,
        }
    }

    /// Whether the connection breaks before an answer.
    pub(crate) async fn breaks(&self, path: &str) -> bool {
        self.send("GET", path, &[], Bytes::new()).await.is_err()
    }
}

pub(crate) async fn start() -> (FakeApiServer, Client) {
    started(FakeApiServer::builder()).await
}

pub(crate) async fn started(builder: FakeApiServerBuilder) -> (FakeApiServer, Client) {
    let server = builder.start().await.unwrap();
    let client = Client::new(&server);
    (server, client)
}

/// A configmap in the namespace `default`.
pub(crate) fn cm(name: &str) -> Value {
    labelled(name, &json!({}))
}

pub(crate) fn labelled(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {"k": "v"}})
}

/// An HTTP/2 connection with prior knowledge.
pub(crate) async fn http2(
    server: &FakeApiServer,
) -> (
    hyper::client::conn::http2::SendRequest<Full<Bytes>>,
    JoinSet<()>,
) {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let io = TokioIo::new(stream);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        // Its error is the request's too.
        let _ = connection.await;
    });
    (sender, tasks)
}
