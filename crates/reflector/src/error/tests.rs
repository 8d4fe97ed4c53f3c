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

type Predicate = fn(&Error) -> bool;

#[test]
fn predicates_believe_a_known_reason_before_the_code() {
    let all: [(&str, u16, Predicate); 8] = [
        ("Invalid", 422, Error::is_invalid),
        ("BadRequest", 400, Error::is_bad_request),
        ("Conflict", 409, Error::is_conflict),
        ("MethodNotAllowed", 405, Error::is_method_not_supported),
        ("NotAcceptable", 406, Error::is_not_acceptable),
        (
            "UnsupportedMediaType",
            415,
            Error::is_unsupported_media_type,
        ),
        (
            "RequestEntityTooLarge",
            413,
            Error::is_request_entity_too_large,
        ),
        ("ServiceUnavailable", 503, Error::is_service_unavailable),
    ];
    for (reason, code, holds) in all {
        assert!(holds(&status(code, reason, "")), "{reason}");
        assert!(holds(&status(0, reason, "")), "{reason} alone");
        assert!(holds(&status(code, "", "")), "{code} alone");
        assert!(holds(&status(code, "OfAWebhook", "")), "{code}");
        assert!(holds(&Error::http(code, "", None)), "bare {code}");
        assert!(!holds(&status(code, "NotFound", "")), "{code} NotFound");
        let others = all.iter().filter(|(_, other, _)| *other != code);
        for (reason, code, _) in others {
            assert!(!holds(&status(*code, reason, "")), "{reason} is another");
        }
    }
    let lost = Error::transport(TransportKind::Reset, "lost");
    assert!(all.iter().all(|(_, _, holds)| !holds(&lost)));
}

#[test]
fn conflict_and_already_exists_share_a_code_and_are_told_apart() {
    let (exists, conflict) = (
        status(409, "AlreadyExists", ""),
        status(409, "Conflict", ""),
    );
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert!(conflict.is_conflict() && !conflict.is_already_exists());
    assert!(!Error::http(409, "", None).is_already_exists());
    assert!(status(500, "ServerTimeout", "").is_server_timeout());
    assert!(!status(504, "Timeout", "").is_server_timeout());
}

#[test]
fn status_cause_is_found_by_its_reason() {
    let error = Error::from_status(StatusError {
        code: 403,
        reason: "Forbidden".to_owned(),
        causes: vec![cause("NamespaceTerminating", "")],
        ..StatusError::default()
    });
    assert!(error.has_status_cause("NamespaceTerminating"));
    assert!(!error.has_status_cause("FieldValueInvalid"));
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
