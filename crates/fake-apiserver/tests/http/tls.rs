//! TLS with the server's own authority, and the protocol ALPN chooses.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use informers_fake_apiserver::FakeApiServer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

fn connector(server: &FakeApiServer, alpn: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let pem = server.ca_certificate().unwrap();
    roots
        .add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn tls_serves_each_protocol_under_each_loopback_name() {
    let server = FakeApiServer::builder().tls(true).start().await.unwrap();
    for (name, http2) in [("127.0.0.1", true), ("localhost", false), ("::1", true)] {
        let alpn: &[&[u8]] = if http2 {
            &[b"h2", b"http/1.1"]
        } else {
            &[b"http/1.1"]
        };
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let name = ServerName::try_from(name).unwrap();
        let stream = connector(&server, alpn)
            .connect(name, stream)
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn[0]));
        let request = Request::get("https://fake/version")
            .header("host", "fake")
            .body(Full::new(Bytes::new()))
            .unwrap();
        let mut tasks = JoinSet::new();
        let response = if http2 {
            let io = TokioIo::new(stream);
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                    .await
                    .unwrap();
            tasks.spawn(async move { drop(connection.await) });
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream))
                    .await
                    .unwrap();
            tasks.spawn(async move { drop(connection.await) });
            sender.send_request(request).await.unwrap()
        };
        assert_eq!(response.status(), 200);
        assert!(
            !response
                .into_body()
                .collect()
                .await
                .unwrap()
                .to_bytes()
                .is_empty()
        );
    }
    server.shutdown().await;
}

#[tokio::test]
async fn certificate_is_refused_without_the_authority() {
    let server = FakeApiServer::builder().tls(true).start().await.unwrap();
    let other = FakeApiServer::builder().tls(true).start().await.unwrap();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    assert!(connector(&other, &[]).connect(name, stream).await.is_err());
    server.shutdown().await;
    other.shutdown().await;
}
