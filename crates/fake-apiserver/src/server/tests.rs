//! The server's own life: start, pause, stop.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn paused_server_refuses_connections_and_resumed_accepts_them() {
    let server = FakeApiServer::start().await.unwrap();
    let connect = || tokio::net::TcpStream::connect(server.address());
    assert!(connect().await.is_ok());
    server.pause();
    assert_eq!(
        connect().await.unwrap_err().kind(),
        io::ErrorKind::ConnectionRefused
    );
    server.resume().unwrap();
    assert!(connect().await.is_ok());
    server.shutdown().await;
    assert!(connect().await.is_err());
}

#[tokio::test]
async fn shutdown_leaves_no_task() {
    let server = FakeApiServer::start().await.unwrap();
    let idle = tokio::net::TcpStream::connect(server.address())
        .await
        .unwrap();
    server.shutdown().await;
    assert!(server.tasks.is_empty());
    assert!(server.shared.connections().is_empty());
    drop(idle);
    server.shutdown().await;
}

#[tokio::test]
async fn kubeconfig_names_the_server_and_its_authority() {
    let plain = FakeApiServer::start().await.unwrap();
    assert!(
        plain
            .kubeconfig()
            .contains(&format!("server: {}\n", plain.url()))
    );
    assert!(plain.ca_certificate().is_none());
    let tls = FakeApiServer::builder().tls(true).start().await.unwrap();
    assert!(tls.url().starts_with("https://"));
    assert!(
        tls.kubeconfig()
            .contains("certificate-authority-data: LS0tLS1")
    );
    plain.shutdown().await;
    tls.shutdown().await;
}

#[tokio::test]
async fn waits_that_time_out_say_what_was_seen() {
    let server = FakeApiServer::start().await.unwrap();
    let error = server
        .wait_for_watches(2, Duration::from_millis(1))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "0 of 2 watches open after 1ms");
    let error = server
        .wait_for_request(|_| true, Duration::from_millis(1))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("0 received"));
    server.shutdown().await;
}
