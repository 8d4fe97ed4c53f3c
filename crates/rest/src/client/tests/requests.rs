//! What is sent, retried and reported.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};

use super::super::Client;
use super::{get, hasty, read};
use crate::config::{Compression, Config};
use crate::credentials::Impersonation;
use crate::request::Request;
use crate::testing::{Answer, Authority, TestServer, raw_server, text_of};
use crate::warnings::WarningHandler;

#[tokio::test]
async fn request_has_the_headers_of_a_kubernetes_client() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    let config = server.config().with_header(
        HeaderName::from_static("x-tenant"),
        HeaderValue::from_static("a"),
    );
    get(&Client::new(config).unwrap(), "/version").await;
    let seen = &server.seen()[0];
    assert!(seen.header("user-agent").starts_with("informers/"));
    assert_eq!(seen.header("accept"), "application/json");
    assert_eq!(seen.header("host"), server.address.to_string());
    assert_eq!(seen.header("x-tenant"), "a");
    assert_eq!(seen.header("accept-encoding"), "");
    assert_eq!(seen.header("authorization"), "");
    assert_eq!(seen.target, "/version");
}

// B43
#[tokio::test]
async fn base_path_is_before_every_path() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    for slash in ["", "/"] {
        let url = format!("{}/k8s/clusters/x{slash}", server.url());
        let client = Client::new(Config::new(&url).unwrap()).unwrap();
        get(&client, "/api/v1/pods?limit=1").await;
        let seen = server.seen();
        assert_eq!(
            seen.last().unwrap().target,
            "/k8s/clusters/x/api/v1/pods?limit=1"
        );
    }
}

#[tokio::test]
async fn impersonation_is_asked_for_by_headers() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    let config = server.config().with_impersonation(Impersonation {
        user: "jane".to_owned(),
        uid: "uid-7".to_owned(),
        groups: vec!["dev".to_owned(), "ops".to_owned()],
        extra: vec![(
            "example.com/Scopes".to_owned(),
            vec!["view".to_owned(), "edit".to_owned()],
        )],
    });
    get(&Client::new(config).unwrap(), "/").await;
    let headers = &server.seen()[0].headers;
    let all = |name: &str| -> Vec<&str> {
        headers
            .get_all(name)
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect()
    };
    assert_eq!(all("impersonate-user"), ["jane"]);
    assert_eq!(all("impersonate-uid"), ["uid-7"]);
    assert_eq!(all("impersonate-group"), ["dev", "ops"]);
    assert_eq!(
        all("impersonate-extra-example.com%2fscopes"),
        ["view", "edit"]
    );
    let without_user = Impersonation {
        uid: "u".to_owned(),
        ..Impersonation::default()
    };
    assert!(Client::new(server.config().with_impersonation(without_user)).is_err());
}

// B30
#[tokio::test]
async fn unary_request_is_sent_again_when_the_server_asks() {
    let count = AtomicUsize::new(0);
    let server = TestServer::plain(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::status(429, "").header("retry-after", "0"),
        1 => Answer::status(503, "").header("retry-after", "0"),
        _ => Answer::ok("done"),
    })
    .await;
    let client = Client::new(server.config()).unwrap();
    assert_eq!(get(&client, "/").await, (200, "done".to_owned()));
    assert_eq!(server.seen().len(), 3);
}

// B30
#[tokio::test]
async fn unary_request_is_not_sent_again_without_a_usable_wish_or_for_ever() {
    for wish in [None, Some("soon"), Some("3600")] {
        let server = TestServer::plain(move |_| {
            let answer = Answer::status(503, "");
            match wish {
                Some(wish) => answer.header("retry-after", wish),
                None => answer,
            }
        })
        .await;
        assert_eq!(
            get(&Client::new(server.config()).unwrap(), "/").await.0,
            503
        );
        assert_eq!(server.seen().len(), 1, "{wish:?}");
    }
    let server = TestServer::plain(|_| Answer::status(429, "").header("retry-after", "0")).await;
    assert_eq!(
        get(&Client::new(server.config()).unwrap(), "/").await.0,
        429
    );
    assert_eq!(server.seen().len(), 11);
}

#[tokio::test]
async fn streaming_request_is_never_sent_again() {
    let server = TestServer::plain(|_| Answer::status(429, "").header("retry-after", "0")).await;
    let client = Client::new(server.config()).unwrap();
    let response = client.send(Request::get("/").streaming()).await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn body_and_method_arrive() {
    let server = TestServer::plain(|_| Answer::status(201, "made")).await;
    let client = Client::new(server.config()).unwrap();
    let json = HeaderValue::from_static("application/json");
    let request = Request::new(Method::POST, "/api/v1/pods").body(json, "{\"a\":1}");
    let answer = read(client.send(request).await.unwrap()).await;
    assert_eq!(answer, (201, "made".to_owned()));
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), &seen.body[..]),
        ("POST", &b"{\"a\":1}"[..])
    );
    assert_eq!(seen.header("content-type"), "application/json");
}

#[tokio::test]
async fn whole_answer_is_read_and_a_failure_is_an_error() {
    let server = TestServer::plain(|seen| match seen.target.as_str() {
        "/ok" => Answer::ok("{\"a\":1}"),
        "/empty" => Answer::status(204, ""),
        "/broken" => Answer::ok("{"),
        _ => Answer::status(403, "no"),
    })
    .await;
    let client = Client::new(server.config()).unwrap();
    let json = async |path| client.request_json(Request::get(path)).await;
    assert_eq!(json("/ok").await.unwrap()["a"], 1);
    assert!(json("/empty").await.unwrap().is_null());
    assert!(json("/broken").await.unwrap_err().is_decode());
    assert!(json("/other").await.unwrap_err().is_forbidden());
}

#[derive(Default)]
struct Collect(Mutex<Vec<String>>);

impl WarningHandler for Collect {
    fn on_warning(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[tokio::test]
async fn warnings_reach_the_handler() {
    let server = TestServer::plain(|_| {
        Answer::ok("{}")
            .header("warning", "299 - \"old\"")
            .header("warning", "299 - \"unknown field\"")
    })
    .await;
    let collect = Arc::new(Collect::default());
    let config = server
        .config()
        .with_warning_handler(Arc::clone(&collect) as _);
    get(&Client::new(config).unwrap(), "/").await;
    assert_eq!(*collect.0.lock().unwrap(), ["old", "unknown field"]);
}

#[tokio::test]
async fn gzip_is_asked_for_as_configured() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    let config = server.config().with_compression(Compression::Always);
    get(&Client::new(config).unwrap(), "/").await;
    assert_eq!(server.seen()[0].header("accept-encoding"), "gzip");
}

#[tokio::test]
async fn server_that_never_answers_is_a_timeout() {
    let server = TestServer::plain(|_| Answer::never()).await;
    let client = Client::new(server.config().with_timeouts(hasty())).unwrap();
    let error = client.send(Request::get("/")).await.unwrap_err();
    assert!(error.is_timeout());
    assert!(
        text_of(&error).contains("the head of the answer took longer"),
        "{error:?}"
    );
}

#[tokio::test]
async fn server_that_never_shakes_hands_is_a_timeout() {
    let (address, _tasks) = raw_server(|stream, _| {
        Box::pin(async move {
            let _open = stream;
            std::future::pending::<()>().await;
        })
    })
    .await;
    let authority = Authority::new("ca");
    let config = Config::new(&format!("https://{address}"))
        .unwrap()
        .with_timeouts(hasty());
    let client = super::client(config, &authority);
    let error = client.send(Request::get("/")).await.unwrap_err();
    assert!(error.is_timeout());
    assert!(text_of(&error).contains("TLS handshake"), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_connection_refused() {
    let server = TestServer::plain(|_| Answer::ok("")).await;
    let config = server.config();
    drop(server);
    // The listener ends with its task.
    tokio::task::yield_now().await;
    let error = Client::new(config)
        .unwrap()
        .send(Request::get("/"))
        .await
        .unwrap_err();
    assert!(error.is_connection_refused(), "{error:?}");
}

#[tokio::test]
async fn rate_limit_does_not_hold_watches_up() {
    let server = TestServer::plain(|_| Answer::ok("{}")).await;
    let config = server.config().with_rate_limit(crate::config::RateLimit {
        per_second: 0.001,
        burst: 1,
    });
    let client = Client::new(config).unwrap();
    get(&client, "/").await;
    client.send(Request::get("/").streaming()).await.unwrap();
    let limited = tokio::time::timeout(Duration::from_millis(50), client.send(Request::get("/")));
    assert!(limited.await.is_err());
}
