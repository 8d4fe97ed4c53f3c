//! The proxy against an echo server.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Answers every connection with what it sends. Ends with the set.
async fn echo(tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            connections.spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    address
}

async fn answer(stream: &mut TcpStream) -> io::Result<usize> {
    stream.write_all(b"hello").await?;
    let mut buffer = [0; 5];
    tokio::time::timeout(PATIENCE, stream.read(&mut buffer))
        .await
        .expect("an answer or an end in time")
}

#[tokio::test]
async fn open_proxy_hands_bytes_on_and_cut_closes_old_and_new_connections() {
    let mut tasks = JoinSet::new();
    let proxy = TcpProxy::start(echo(&mut tasks).await).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(answer(&mut old).await.unwrap(), 5);
    proxy.cut();
    assert!(answer(&mut old).await.is_ok_and(|read| read == 0) || answer(&mut old).await.is_err());
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(!matches!(answer(&mut new).await, Ok(read) if read > 0));
    proxy.open();
    let mut next = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(answer(&mut next).await.unwrap(), 5);
    assert_eq!(proxy.accepted(), 3);
    proxy.shutdown().await;
}

#[tokio::test]
async fn refusing_proxy_closes_connections_and_listens_again_once_open() {
    let mut tasks = JoinSet::new();
    let proxy = TcpProxy::start(echo(&mut tasks).await).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(answer(&mut old).await.unwrap(), 5);
    proxy.refuse();
    assert!(!matches!(answer(&mut old).await, Ok(read) if read > 0));
    let refused = || async {
        match TcpStream::connect(proxy.address()).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            other => anyhow::bail!("{other:?}"),
        }
    };
    crate::until_ok("refused", PATIENCE, refused).await.unwrap();
    proxy.open();
    let answered = || async {
        let mut stream = TcpStream::connect(proxy.address()).await?;
        anyhow::ensure!(answer(&mut stream).await? == 5);
        Ok(())
    };
    crate::until_ok("answered", PATIENCE, answered)
        .await
        .unwrap();
    proxy.shutdown().await;
}

#[tokio::test]
async fn black_hole_is_silent_until_it_opens_and_closes() {
    let mut tasks = JoinSet::new();
    let proxy = TcpProxy::start(echo(&mut tasks).await).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(answer(&mut old).await.unwrap(), 5);
    proxy.black_hole();
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    // More than buffers hold: it is read, and lost.
    let flood = vec![0; 16 << 20];
    for stream in [&mut old, &mut new] {
        let sent = stream.write_all(&flood);
        tokio::time::timeout(PATIENCE, sent)
            .await
            .expect("the bytes are taken")
            .unwrap();
    }
    let mut byte = [0];
    let silence = tokio::time::timeout(Duration::from_millis(50), old.read(&mut byte)).await;
    assert!(silence.is_err(), "{silence:?}");
    proxy.open();
    for stream in [&mut old, &mut new] {
        let end = tokio::time::timeout(PATIENCE, stream.read(&mut byte)).await;
        assert!(!matches!(end.expect("an end in time"), Ok(read) if read > 0));
    }
    proxy.shutdown().await;
}
