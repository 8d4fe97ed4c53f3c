//! What an error is, and what it says.

use std::io;

use super::*;
use crate::StatusCause;

fn status(code: u16, reason: &str, message: &str) -> Error {
    Error::from_status(StatusError {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..StatusError::default()
    })
}

fn cause(reason: &str, message: &str) -> StatusCause {
    StatusCause {
        reason: reason.to_owned(),
        message: message.to_owned(),
        field: String::new(),
    }
}

#[test]
fn expired_error_is_recognised_in_every_shape() {
    assert!(status(410, "Expired", "too old").is_expired());
    assert!(status(410, "Gone", "").is_gone());
    assert!(status(410, "", "").is_expired());
    assert!(status(0, "Expired", "").is_expired());
    assert!(Error::http(410, "", None).is_expired());
    assert!(!status(504, "Timeout", "too old").is_expired());
}

// Scenario: TestReflectorFullListIfTooLarge (L1)
#[test]
fn too_large_version_is_recognised_in_every_shape() {
    let text = "Too large resource version: 10, current: 5";
    let with = |code, reason: &str, causes| {
        Error::from_status(StatusError {
            code,
            reason: reason.to_owned(),
            causes,
            ..StatusError::default()
        })
    };
    let newest = with(
        504,
        "Timeout",
        vec![cause(
            "ResourceVersionTooLarge",
            "Too large resource version",
        )],
    );
    let older = with(
        504,
        "Timeout",
        vec![cause("", "Too large resource version")],
    );
    assert!(newest.is_too_large_resource_version());
    assert!(older.is_too_large_resource_version());
    assert!(status(504, "Timeout", text).is_too_large_resource_version());
    assert!(!status(500, "InternalError", text).is_too_large_resource_version());
    assert!(!status(504, "Timeout", "slow").is_too_large_resource_version());
}

#[test]
fn predicates_hold_for_bare_http_statuses() {
    assert!(Error::http(401, "", None).is_unauthorized());
    assert!(Error::http(403, "", None).is_forbidden());
    assert!(Error::http(404, "", None).is_not_found());
    assert!(Error::http(422, "", None).is_invalid());
    assert!(Error::http(500, "", None).is_internal());
    assert!(Error::http(504, "", None).is_timeout());
    let busy = Error::http(429, "slow down", Some(Duration::from_secs(3)));
    assert!(busy.is_too_many_requests());
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(3)));
    assert_eq!(
        busy.to_string(),
        "the API server answered 429 TooManyRequests: slow down"
    );
}

#[test]
fn http_snippet_is_cut_between_characters() {
    let body = "é".repeat(4096);
    let error = Error::http(502, &body, None);
    let message = &error.status().unwrap().message;
    assert_eq!(message.len(), StatusError::MAX_SNIPPET);
    assert!(body.starts_with(message.as_str()));
}

#[test]
fn cause_is_in_source_and_not_in_text() {
    let refused = Error::transport(
        TransportKind::Refused,
        io::Error::new(io::ErrorKind::ConnectionRefused, "port 1"),
    );
    assert!(refused.is_connection_refused());
    assert_eq!(refused.to_string(), "the API server refuses connections");
    assert_eq!(refused.source().unwrap().to_string(), "port 1");

    let decode = Error::decode("the watch event", "expected value at 1:1");
    assert!(decode.is_decode());
    assert_eq!(
        decode.to_string(),
        "cannot read the watch event of the API server"
    );
    assert!(decode.source().is_some());
    assert!(decode.status().is_none());
}

#[test]
fn error_is_one_word_wide() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}
