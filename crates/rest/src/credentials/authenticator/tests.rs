//! Tests of fixed credentials and providers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Authenticator;
use crate::credentials::{Credentials, ProvidedToken, TokenProvider};

async fn authorization(credentials: &Credentials) -> Option<String> {
    let authenticator = Authenticator::new(credentials, Duration::ZERO).unwrap();
    let credential = authenticator.credential().await.unwrap();
    assert!(authenticator.another(&credential).await.unwrap().is_none());
    let value = credential.authorization?;
    assert!(value.is_sensitive());
    Some(value.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn fixed_credentials_become_headers() {
    assert_eq!(authorization(&Credentials::None).await, None);
    let token = authorization(&Credentials::token("t")).await;
    assert_eq!(token.as_deref(), Some("Bearer t"));
    let basic = authorization(&Credentials::basic("me", "p:w d")).await;
    assert_eq!(basic.as_deref(), Some("Basic bWU6cDp3IGQ="));
}

#[test]
fn token_that_no_header_can_hold_is_refused_unquoted() {
    let error = Authenticator::new(&Credentials::token("s3c\nret"), Duration::ZERO)
        .map(drop)
        .unwrap_err();
    assert!(!crate::testing::text_of(&error).contains("s3c"), "{error}");
}

struct Counter(AtomicUsize);

impl TokenProvider for Counter {
    fn token(&self) -> ProvidedToken<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok((format!("t{number}").into(), Some(Duration::from_secs(60)))) })
    }
}

#[tokio::test(start_paused = true)]
async fn provider_is_asked_again_when_expired_or_refused() {
    let provider = Arc::new(Counter(AtomicUsize::new(0)));
    let credentials = Credentials::Provider(Arc::clone(&provider) as _);
    let authenticator = Authenticator::new(&credentials, Duration::ZERO).unwrap();
    let first = authenticator.credential().await.unwrap();
    authenticator.credential().await.unwrap();
    assert_eq!(provider.0.load(Ordering::SeqCst), 1);
    assert!(authenticator.another(&first).await.unwrap().is_some());
    // The refusal of an old token does not cost the new one.
    assert!(authenticator.another(&first).await.unwrap().is_some());
    assert_eq!(provider.0.load(Ordering::SeqCst), 2);
    tokio::time::advance(Duration::from_secs(61)).await;
    authenticator.credential().await.unwrap();
    assert_eq!(provider.0.load(Ordering::SeqCst), 3);
}
