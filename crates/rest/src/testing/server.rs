//! An HTTP server with a handler and a log, over TLS or not.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{Authority, Leaf};
use crate::config::Config;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query, or the whole URI if it came so.
    pub(crate) target: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Which connection, counted from 0.
    pub(crate) connection: usize,
    /// The client's certificate.
    pub(crate) certificate: Option<Vec<u8>>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// What the handler gives.
pub(crate) struct Answer {
    response: Response<AnswerBody>,
}

enum AnswerBody {
    Full(Bytes),
    Stream(mpsc::Receiver<io::Result<Bytes>>),
    /// There is no answer at all.
    Never,
}

impl Answer {
    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(code: u16, body: impl Into<Bytes>) -> Self {
        Self::of(code, AnswerBody::Full(body.into()))
    }

    pub(crate) fn never() -> Self {
        Self::of(200, AnswerBody::Never)
    }

    /// A body that is sent by the test; ends when the sender is dropped.
    pub(crate) fn stream() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (tx, rx) = mpsc::channel(16);
        (tx, Self::of(200, AnswerBody::Stream(rx)))
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = value.parse().unwrap();
        self.response.headers_mut().append(name, value);
        self
    }

    fn of(code: u16, body: AnswerBody) -> Self {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(code).unwrap();
        Self { response }
    }
}

type Handler = dyn Fn(&Seen) -> Answer + Send + Sync;

/// How a server is set up.
#[derive(Clone)]
pub(crate) struct ServerOptions {
    pub(crate) tls: Option<Leaf>,
    pub(crate) client_authority: Option<String>,
    pub(crate) http2: bool,
    pub(crate) only_tls12: bool,
    pub(crate) max_streams: Option<u32>,
    pub(crate) address: &'static str,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            tls: None,
            client_authority: None,
            http2: false,
            only_tls12: false,
            max_streams: None,
            address: "127.0.0.1:0",
        }
    }
}

/// A server on loopback; ends when dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    https: bool,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    options: ServerOptions,
    handler: Box<Handler>,
    log: Mutex<Vec<Seen>>,
    names: Mutex<Vec<Option<String>>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    cut: Mutex<CancellationToken>,
    go_away: Mutex<CancellationToken>,
}

impl TestServer {
    pub(crate) async fn start(
        options: ServerOptions,
        handler: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(options.address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = options.tls.as_ref().map(|leaf| acceptor(leaf, &options));
        let https = acceptor.is_some();
        let shared = Arc::new(Shared {
            options,
            handler: Box::new(handler),
            log: Mutex::default(),
            names: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            cut: Mutex::default(),
            go_away: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, Arc::clone(&shared)));
        Self {
            address,
            https,
            shared,
            _tasks: tasks,
        }
    }

    /// Over plain HTTP/1.1.
    pub(crate) async fn plain(handler: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(ServerOptions::default(), handler).await
    }

    /// Over TLS, with a certificate of `authority` for 127.0.0.1.
    pub(crate) async fn tls(
        authority: &Authority,
        http2: bool,
        handler: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let options = ServerOptions {
            tls: Some(authority.server(&["127.0.0.1", "localhost"])),
            http2,
            ..ServerOptions::default()
        };
        Self::start(options, handler).await
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn config(&self) -> Config {
        Config::new(&self.url()).unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.log.lock().unwrap().clone()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open now.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The names that clients asked for by SNI.
    pub(crate) fn names(&self) -> Vec<Option<String>> {
        self.shared.names.lock().unwrap().clone()
    }

    /// Closes all connections at once, over TLS without notice.
    pub(crate) fn cut(&self) {
        std::mem::take(&mut *self.shared.cut.lock().unwrap()).cancel();
    }

    /// Announces the end of all HTTP/2 connections.
    pub(crate) fn go_away(&self) {
        std::mem::take(&mut *self.shared.go_away.lock().unwrap()).cancel();
    }
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            shared.open.fetch_add(1, Ordering::SeqCst);
            let cut = shared.cut.lock().unwrap().clone();
            tokio::select! {
                () = cut.cancelled() => {}
                () = serve(stream, acceptor, number, &shared) => {}
            }
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    number: usize,
    shared: &Arc<Shared>,
) {
    stream.set_nodelay(true).unwrap();
    let Some(acceptor) = acceptor else {
        return serve_http(stream, false, number, None, shared).await;
    };
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let session = stream.get_ref().1;
    let name = session.server_name().map(str::to_owned);
    shared.names.lock().unwrap().push(name);
    let certificate = session
        .peer_certificates()
        .and_then(|chain| chain.first())
        .map(|certificate| certificate.to_vec());
    let http2 = session.alpn_protocol() == Some(b"h2");
    serve_http(stream, http2, number, certificate, shared).await;
}

async fn serve_http<S>(
    stream: S,
    http2: bool,
    number: usize,
    certificate: Option<Vec<u8>>,
    shared: &Arc<Shared>,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let service = {
        let shared = Arc::clone(shared);
        service_fn(move |request| answer(request, number, certificate.clone(), Arc::clone(&shared)))
    };
    // The client may break the connection in the middle: nothing to say about it here.
    if http2 {
        let go_away = shared.go_away.lock().unwrap().clone();
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(shared.options.max_streams);
        let mut connection =
            std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = go_away.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _broken = connection.await;
    } else {
        let _broken = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }
}

async fn answer(
    request: http::Request<Incoming>,
    connection: usize,
    certificate: Option<Vec<u8>>,
    shared: Arc<Shared>,
) -> Result<Response<BoxBody<Bytes, io::Error>>, Infallible> {
    let (head, body) = request.into_parts();
    let seen = Seen {
        method: head.method.to_string(),
        target: match head.version {
            Version::HTTP_2 => head.uri.path_and_query().unwrap().to_string(),
            _ => head.uri.to_string(),
        },
        version: head.version,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes(),
        connection,
        certificate,
    };
    let answer = (shared.handler)(&seen);
    shared.log.lock().unwrap().push(seen);
    let (head, body) = answer.response.into_parts();
    let body = match body {
        AnswerBody::Full(body) => Full::new(body).map_err(|never| match never {}).boxed(),
        AnswerBody::Stream(rx) => {
            let frames = futures_util::stream::unfold(rx, |mut rx| async move {
                let piece = rx.recv().await?;
                Some((piece.map(Frame::data), rx))
            });
            BodyExt::boxed(StreamBody::new(frames))
        }
        AnswerBody::Never => std::future::pending().await,
    };
    Ok(Response::from_parts(head, body))
}

fn acceptor(leaf: &Leaf, options: &ServerOptions) -> TlsAcceptor {
    static ONLY_1_2: [&rustls::SupportedProtocolVersion; 1] = [&rustls::version::TLS12];
    let provider = crate::tls::crypto_provider().unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(if options.only_tls12 {
            &ONLY_1_2
        } else {
            rustls::ALL_VERSIONS
        })
        .unwrap();
    let builder = match &options.client_authority {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            use rustls_pki_types::pem::PemObject as _;
            let mut roots = RootCertStore::empty();
            let pem = rustls_pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            roots.add(pem).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(leaf.chain(), leaf.private_key())
        .unwrap();
    config.alpn_protocols = if options.http2 {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    TlsAcceptor::from(Arc::new(config))
}

type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server that does with each connection (and its number) what it is told.
pub(crate) async fn raw_server(
    serve: impl Fn(TcpStream, usize) -> Serving + Send + 'static,
) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            connections.spawn(serve(stream, number));
        }
    });
    (address, tasks)
}
