//! Proxies: CONNECT and absolute-form over HTTP, and SOCKS5.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Leaf;

/// How a proxy is set up.
#[derive(Clone, Default)]
pub(crate) struct ProxyOptions {
    pub(crate) socks: bool,
    pub(crate) tls: Option<Leaf>,
}

/// A proxy that leads every name to one address; ends when dropped.
pub(crate) struct TestProxy {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
    _tasks: JoinSet<()>,
}

/// What the proxy was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) target: String,
    pub(crate) authorization: Option<String>,
}

impl TestProxy {
    pub(crate) async fn start(options: ProxyOptions, leads_to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let acceptor = options.tls.as_ref().map(|leaf| {
            let provider = crate::tls::crypto_provider().unwrap();
            let key: PrivateKeyDer<'static> = leaf.private_key();
            let config = rustls::ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(leaf.chain(), key)
                .unwrap();
            TlsAcceptor::from(Arc::new(config))
        });
        let mut tasks = JoinSet::new();
        let asked = Arc::clone(&log);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let asked = Arc::clone(&asked);
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    match acceptor {
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                http(stream, leads_to, &asked).await;
                            }
                        }
                        None if options.socks => socks(stream, leads_to, &asked).await,
                        None => http(stream, leads_to, &asked).await,
                    }
                });
            }
        });
        Self {
            address,
            log,
            _tasks: tasks,
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }
}

async fn http<S>(mut near: S, leads_to: SocketAddr, log: &Mutex<Vec<Asked>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = near.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let text = String::from_utf8(head.clone()).unwrap();
    let mut words = text.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let authorization = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("proxy-authorization")
            .then(|| value.trim().to_owned())
    });
    log.lock().unwrap().push(Asked {
        target: target.to_owned(),
        authorization,
    });
    let mut far = TcpStream::connect(leads_to).await.unwrap();
    if method == "CONNECT" {
        near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await
            .unwrap();
    } else {
        far.write_all(&head).await.unwrap();
    }
    near.flush().await.unwrap();
    // Either side may break off.
    let _broken = tokio::io::copy_bidirectional(&mut near, &mut far).await;
}

async fn socks(mut near: TcpStream, leads_to: SocketAddr, log: &Mutex<Vec<Asked>>) {
    let [_, methods] = read(&mut near).await;
    let mut offered = vec![0; methods.into()];
    near.read_exact(&mut offered).await.unwrap();
    let authorization = if offered.contains(&2) {
        near.write_all(&[5, 2]).await.unwrap();
        let [_, length] = read(&mut near).await;
        let user = text(&mut near, length).await;
        let [length] = read(&mut near).await;
        let password = text(&mut near, length).await;
        near.write_all(&[1, 0]).await.unwrap();
        Some(format!("{user}:{password}"))
    } else {
        near.write_all(&[5, 0]).await.unwrap();
        None
    };
    let [_, _, _, kind] = read(&mut near).await;
    let host = match kind {
        1 => std::net::Ipv4Addr::from(read::<4>(&mut near).await).to_string(),
        3 => {
            let [length] = read(&mut near).await;
            text(&mut near, length).await
        }
        _ => std::net::Ipv6Addr::from(read::<16>(&mut near).await).to_string(),
    };
    let port = u16::from_be_bytes(read(&mut near).await);
    log.lock().unwrap().push(Asked {
        target: format!("{host}:{port}"),
        authorization,
    });
    let mut far = TcpStream::connect(leads_to).await.unwrap();
    near.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        .await
        .unwrap();
    let _broken = tokio::io::copy_bidirectional(&mut near, &mut far).await;
}

async fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

async fn text(stream: &mut TcpStream, length: u8) -> String {
    let mut bytes = vec![0; length.into()];
    stream.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}
