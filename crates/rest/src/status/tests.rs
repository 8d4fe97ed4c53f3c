//! Tests of how failures are read.

use std::time::Duration;

use super::{failure, failure_in};
use crate::client::Client;
use crate::request::Request;
use crate::testing::{Answer, TestServer};

async fn failure_of(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
) -> informers_reflector::Error {
    let server = TestServer::plain(move |_| answer()).await;
    let client = Client::new(server.config()).unwrap();
    failure(client.send(Request::get("/x").streaming()).await.unwrap()).await
}

#[tokio::test]
async fn status_body_is_understood() {
    let error = failure_of(|| {
        Answer::status(
            410,
            r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"old",
                "details":{"causes":[{"reason":"r","message":"m","field":"f"}],"retryAfterSeconds":2}}"#,
        )
    })
    .await;
    assert!(error.is_expired());
    let status = error.status().unwrap();
    assert_eq!(
        (status.reason.as_str(), status.message.as_str()),
        ("Expired", "old")
    );
    assert_eq!(status.causes[0].field, "f");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
}

// B38
#[tokio::test]
async fn status_of_text_html_and_empty_bodies_keeps_code_and_start() {
    let error = failure_of(|| Answer::status(404, "404 page not found\n")).await;
    assert!(error.is_not_found());
    assert!(error.to_string().contains("404 page not found"), "{error}");

    let html = format!("<html>\n<body>{}</body>", "Bad Gateway ".repeat(100));
    let error = failure_of(move || Answer::status(502, html.clone())).await;
    let status = error.status().unwrap();
    assert_eq!(status.code, 502);
    assert!(status.message.starts_with("<html> <body>Bad Gateway"));
    assert!(status.message.len() <= 200, "{}", status.message.len());

    let error = failure_of(|| Answer::status(503, "").header("retry-after", "3")).await;
    assert_eq!(error.status().unwrap().code, 503);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
}

// B03
#[test]
fn status_in_an_event_needs_no_kind() {
    let error = failure_in(br#"{"status":"Failure","reason":"Gone","code":410}"#);
    assert!(error.is_expired());
}
