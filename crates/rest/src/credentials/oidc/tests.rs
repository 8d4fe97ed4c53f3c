//! Tests of OIDC, with a provider in process.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::{OidcConfig, OidcSource, expiry};
use crate::config::Secret;
use crate::testing::{Answer, Authority, TestServer, text_of};

fn jwt(exp: i64) -> String {
    let claims = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"exp":{exp}}}"#));
    format!("head.{claims}.signature")
}

const LATE: i64 = 4_000_000_000;

async fn provider(authority: &Authority) -> TestServer {
    let url: Arc<OnceLock<String>> = Arc::default();
    let own = Arc::clone(&url);
    let server = TestServer::tls(authority, false, move |seen| match seen.target.as_str() {
        "/realm/.well-known/openid-configuration" => {
            let own = own.get().unwrap();
            Answer::ok(format!(r#"{{"token_endpoint":"{own}/token"}}"#))
        }
        "/token" => Answer::ok(format!(
            r#"{{"id_token":"{}","refresh_token":"next"}}"#,
            jwt(LATE + i64::from(seen.body.ends_with(b"x")))
        )),
        _ => Answer::status(404, ""),
    })
    .await;
    url.set(server.url()).unwrap();
    server
}

fn config(server: &TestServer, authority: &Authority) -> OidcConfig {
    OidcConfig {
        issuer_url: format!("{}/realm", server.url()),
        client_id: "id".to_owned(),
        client_secret: "a&b".into(),
        id_token: Some(Secret::from(jwt(1))),
        refresh_token: Some("first".into()),
        certificate_authority: Some(authority.bundle()),
    }
}

#[test]
fn expiry_is_read_from_the_token() {
    assert_eq!(expiry(&jwt(1000).into()).unwrap().as_second(), 1000);
    for text in ["opaque", "a.b.c", "", "a.e30.c"] {
        assert!(expiry(&text.into()).is_none(), "{text:?}");
    }
}

#[tokio::test]
async fn expired_token_is_renewed_once_and_kept() {
    let authority = Authority::new("idp");
    let server = provider(&authority).await;
    let source = OidcSource::new(config(&server, &authority)).unwrap();
    let first = source.credential(None).await.unwrap();
    let expected = format!("Bearer {}", jwt(LATE));
    assert_eq!(first.authorization.as_ref().unwrap(), &expected);
    source.credential(None).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    let form = std::str::from_utf8(&seen[1].body).unwrap();
    assert_eq!(
        form,
        "grant_type=refresh_token&refresh_token=first&client_id=id&client_secret=a%26b"
    );
    assert_eq!(
        seen[1].header("content-type"),
        "application/x-www-form-urlencoded"
    );

    // A refusal renews again, with the refresh token that came last.
    source.credential(Some(first.generation)).await.unwrap();
    let seen = server.seen();
    assert!(
        std::str::from_utf8(&seen[3].body)
            .unwrap()
            .contains("refresh_token=next")
    );
}

#[tokio::test]
async fn token_that_lasts_is_used_as_it_is() {
    let authority = Authority::new("idp");
    let server = provider(&authority).await;
    let mut config = config(&server, &authority);
    config.id_token = Some(jwt(LATE).into());
    let source = OidcSource::new(config).unwrap();
    source.credential(None).await.unwrap();
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn failures_say_what_to_do_and_show_no_token() {
    let authority = Authority::new("idp");
    let server = provider(&authority).await;
    let mut lasting = config(&server, &authority);
    lasting.refresh_token = None;
    let source = OidcSource::new(lasting).unwrap();
    let text = text_of(&source.credential(None).await.map(drop).unwrap_err());
    assert!(text.contains("log in again"), "{text}");

    let mut wrong = config(&server, &authority);
    wrong.issuer_url = format!("{}/elsewhere", server.url());
    let source = OidcSource::new(wrong).unwrap();
    let text = text_of(&source.credential(None).await.map(drop).unwrap_err());
    assert!(text.contains("answered 404"), "{text}");
    assert!(!text.contains("first"), "{text}");

    let mut nothing = config(&server, &authority);
    nothing.refresh_token = None;
    nothing.id_token = None;
    assert!(OidcSource::new(nothing).is_err());
}
