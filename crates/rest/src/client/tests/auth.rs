//! Credentials over real connections, and what a 401 does.

use std::fs;
use std::sync::{Arc, Mutex};

use super::{client, get};
use crate::credentials::{Credentials, ProvidedToken, TokenProvider};
use crate::testing::{Answer, Authority, TestServer};

/// A server that takes one bearer token, which the test may change.
async fn guarded(authority: &Authority, token: &str) -> (TestServer, Arc<Mutex<String>>) {
    let token = Arc::new(Mutex::new(format!("Bearer {token}")));
    let wanted = Arc::clone(&token);
    let server = TestServer::tls(authority, true, move |seen| {
        if seen.header("authorization") == *wanted.lock().unwrap() {
            Answer::ok("in")
        } else {
            Answer::status(401, "Unauthorized")
        }
    })
    .await;
    (server, token)
}

#[tokio::test]
async fn fixed_token_that_is_refused_is_sent_once() {
    let authority = Authority::new("ca");
    let (server, _) = guarded(&authority, "right").await;
    let config = server
        .config()
        .with_credentials(Credentials::token("wrong"));
    assert_eq!(get(&client(config, &authority), "/").await.0, 401);
    assert_eq!(server.seen().len(), 1);
}

// B48
#[tokio::test]
async fn token_file_is_read_again_on_401_and_the_request_sent_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "one\n").unwrap();
    let authority = Authority::new("ca");
    let (server, wanted) = guarded(&authority, "one").await;
    let config = server
        .config()
        .with_credentials(Credentials::token_file(&path));
    let client = client(config, &authority);
    assert_eq!(get(&client, "/").await.0, 200);
    *wanted.lock().unwrap() = "Bearer two".to_owned();
    // Not rewritten yet: the refusal stands.
    assert_eq!(get(&client, "/").await.0, 401);
    fs::write(&path, "two\n").unwrap();
    assert_eq!(get(&client, "/").await.0, 200);
    assert_eq!(server.seen().len(), 4);
}

struct Provider(Mutex<Vec<&'static str>>);

impl TokenProvider for Provider {
    fn token(&self) -> ProvidedToken<'_> {
        let next = self.0.lock().unwrap().pop();
        Box::pin(async move {
            let token = next.ok_or("no more tokens")?;
            Ok((token.into(), None))
        })
    }
}

#[tokio::test]
async fn provider_that_fails_after_401_leaves_the_refusal() {
    let authority = Authority::new("ca");
    let (server, _) = guarded(&authority, "right").await;
    let provider = Arc::new(Provider(Mutex::new(vec!["wrong"])));
    let config = server
        .config()
        .with_credentials(Credentials::Provider(provider));
    assert_eq!(get(&client(config, &authority), "/").await.0, 401);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn provider_is_asked_again_after_401_once() {
    let authority = Authority::new("ca");
    let (server, _) = guarded(&authority, "right").await;
    let provider = Arc::new(Provider(Mutex::new(vec!["right", "wrong", "bad"])));
    let config = server
        .config()
        .with_credentials(Credentials::Provider(provider));
    let client = client(config, &authority);
    assert_eq!(get(&client, "/").await.0, 401);
    assert_eq!(server.seen().len(), 2);
    assert_eq!(get(&client, "/").await.0, 200);
}
