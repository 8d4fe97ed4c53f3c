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

#[cfg(unix)]
// B50
#[tokio::test]
async fn exec_certificate_is_shown_and_renewed_after_401() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::credentials::ExecConfig;
    use crate::testing::ServerOptions;

    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new("ca");
    let answer = |name: &str| {
        let leaf = authority.client(name);
        let answer = serde_json::json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "status": {"clientCertificateData": leaf.certificate, "clientKeyData": leaf.key},
        });
        fs::write(directory.path().join("answer"), answer.to_string()).unwrap();
    };
    let plugin = directory.path().join("plugin.sh");
    fs::write(&plugin, "#!/bin/sh\ncat \"$(dirname \"$0\")/answer\"\n").unwrap();
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o700)).unwrap();
    let exec = ExecConfig {
        api_version: "client.authentication.k8s.io/v1beta1".to_owned(),
        command: "/bin/sh".into(),
        args: vec![plugin.display().to_string()],
        environment: Vec::new(),
        install_hint: None,
        interactive_mode: Some("Never".to_owned()),
        cluster: None,
    };
    // Takes the certificate that came first until told otherwise, and then no more.
    let refused: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let refuses = Arc::clone(&refused);
    let options = ServerOptions {
        tls: Some(authority.server(&["127.0.0.1"])),
        client_authority: Some(authority.pem.clone()),
        http2: true,
        ..ServerOptions::default()
    };
    let server = TestServer::start(options, move |seen| {
        if seen.certificate == *refuses.lock().unwrap() {
            Answer::status(401, "")
        } else {
            Answer::ok("in")
        }
    })
    .await;
    answer("one");
    let config = server
        .config()
        .with_credentials(Credentials::Exec(Box::new(exec)));
    let client = client(config, &authority);
    assert_eq!(get(&client, "/").await.0, 200);
    let first = server.seen()[0].certificate.clone();
    assert!(first.is_some());
    *refused.lock().unwrap() = first;
    answer("two");
    assert_eq!(get(&client, "/").await.0, 200);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_ne!(seen[2].connection, seen[0].connection);
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
