//! Requests through proxies that alone know the server's name.

use super::super::Client;
use super::get;
use crate::config::Config;
use crate::proxy::{Proxy, ProxyChoice};
use crate::request::Request;
use crate::testing::{
    Answer, Authority, ProxyOptions, ServerOptions, TestProxy, TestServer, text_of,
};

const NAME: &str = "api.probe.test";

struct Setup {
    authority: Authority,
    server: TestServer,
    proxy: TestProxy,
}

impl Setup {
    async fn new(tls: bool, options: ProxyOptions) -> Self {
        let authority = Authority::new("ca");
        let server_options = ServerOptions {
            tls: tls.then(|| authority.server(&[NAME])),
            http2: tls,
            ..ServerOptions::default()
        };
        let server = TestServer::start(server_options, |_| Answer::ok("here")).await;
        let proxy = TestProxy::start(options, server.address).await;
        Self {
            authority,
            server,
            proxy,
        }
    }

    fn client(&self, scheme: &str, proxy: &str) -> Client {
        let config = Config::new(&format!("{scheme}://{NAME}:6443"))
            .unwrap()
            .with_certificate_authority(self.authority.bundle())
            .with_proxy(ProxyChoice::Proxy(Proxy::parse(proxy).unwrap()));
        Client::new(config).unwrap()
    }
}

// B44
#[tokio::test]
async fn http_proxy_tunnels_to_an_https_server_with_credentials() {
    let setup = Setup::new(true, ProxyOptions::default()).await;
    let url = format!("http://user:pw@{}", setup.proxy.address);
    let client = setup.client("https", &url);
    assert_eq!(get(&client, "/").await.1, "here");
    let asked = &setup.proxy.asked()[0];
    assert_eq!(asked.target, "api.probe.test:6443");
    assert_eq!(asked.authorization.as_deref(), Some("Basic dXNlcjpwdw=="));
    assert_eq!(setup.server.seen()[0].header("proxy-authorization"), "");
}

// B44
#[tokio::test]
async fn http_proxy_is_sent_whole_requests_for_an_http_server() {
    let setup = Setup::new(false, ProxyOptions::default()).await;
    let url = format!("http://user:pw@{}", setup.proxy.address);
    let client = setup.client("http", &url);
    assert_eq!(get(&client, "/x?y=1").await.1, "here");
    let asked = &setup.proxy.asked()[0];
    assert_eq!(asked.target, "http://api.probe.test:6443/x?y=1");
    assert_eq!(asked.authorization.as_deref(), Some("Basic dXNlcjpwdw=="));
    assert_eq!(setup.server.seen()[0].header("host"), "api.probe.test:6443");
}

// B44
#[tokio::test]
async fn socks_proxy_resolves_the_name() {
    let options = ProxyOptions {
        socks: true,
        ..ProxyOptions::default()
    };
    for (tls, scheme) in [(true, "https"), (false, "http")] {
        let setup = Setup::new(tls, options.clone()).await;
        for user in ["", "user:pw@"] {
            let url = format!("socks5://{user}{}", setup.proxy.address);
            assert_eq!(get(&setup.client(scheme, &url), "/").await.1, "here");
            let asked = setup.proxy.asked().pop().unwrap();
            assert_eq!(asked.target, "api.probe.test:6443");
            let expected = (!user.is_empty()).then_some("user:pw");
            assert_eq!(asked.authorization.as_deref(), expected);
        }
    }
}

// B44
#[tokio::test]
async fn https_proxy_is_verified_by_the_clusters_authority() {
    let authority = Authority::new("ca");
    let options = ServerOptions {
        tls: Some(authority.server(&[NAME])),
        ..ServerOptions::default()
    };
    let server = TestServer::start(options, |_| Answer::ok("here")).await;
    let options = ProxyOptions {
        tls: Some(authority.server(&["localhost"])),
        ..ProxyOptions::default()
    };
    let proxy = TestProxy::start(options, server.address).await;
    let setup = Setup {
        authority,
        server,
        proxy,
    };
    let url = format!("https://localhost:{}", setup.proxy.address.port());
    assert_eq!(get(&setup.client("https", &url), "/").await.1, "here");
    let url = format!("https://{}", setup.proxy.address);
    let error = setup
        .client("https", &url)
        .send(Request::get("/"))
        .await
        .unwrap_err();
    assert!(text_of(&error).contains("certificate"), "{error:?}");
}

// B44
#[tokio::test]
async fn proxy_that_refuses_is_an_error_and_not_gone_around() {
    let server = TestServer::plain(|_| Answer::ok("")).await;
    let closed = TestServer::plain(|_| Answer::ok("")).await;
    let proxy = format!("http://{}", closed.address);
    drop(closed);
    tokio::task::yield_now().await;
    let config = server
        .config()
        .with_proxy(ProxyChoice::Proxy(Proxy::parse(&proxy).unwrap()));
    let error = Client::new(config)
        .unwrap()
        .send(Request::get("/"))
        .await
        .unwrap_err();
    assert!(!error.is_connection_refused(), "the server did not refuse");
    assert!(text_of(&error).contains("refused"), "{error:?}");
    assert!(server.seen().is_empty());
}
