//! The admin paths below `/_fake`.

use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::fault::{Fault, Faults};
use crate::server::Shared;
use crate::service::Answer;
use crate::status::ApiError;

/// Answers `POST`, `GET`, `DELETE /_fake/faults` and `GET /_fake/requests`.
pub(crate) fn answer(shared: &Arc<Shared>, method: &str, path: &str, body: &Bytes) -> Answer {
    let faults = Faults {
        shared: Arc::clone(shared),
    };
    match (method, path) {
        ("POST", "/_fake/faults") => {
            match read_fault(body).and_then(|fault| faults.try_inject(fault)) {
                Ok(id) => Answer::json(201, &json!({"id": id})),
                Err(error) => Answer::error(&error),
            }
        }
        ("GET", "/_fake/faults") => in_json(faults.list()),
        ("DELETE", "/_fake/faults") => {
            faults.clear();
            Answer::json(200, &json!([]))
        }
        ("GET", "/_fake/requests") => in_json(shared.log.all()),
        (_, "/_fake/faults" | "/_fake/requests") => Answer::error(&ApiError::method_not_allowed()),
        _ => Answer::error(&ApiError::no_such_path()),
    }
}

/// Reads a fault; a field no fault has is more likely a slip than meant.
fn read_fault(body: &Bytes) -> Result<Fault, ApiError> {
    const FIELDS: [&str; 27] = [
        "afterBytes",
        "afterEvents",
        "body",
        "bytesPerSecond",
        "code",
        "contentType",
        "continue",
        "data",
        "fault",
        "how",
        "inconsistent",
        "message",
        "namespace",
        "now",
        "nth",
        "object",
        "reason",
        "resource",
        "retryAfter",
        "revision",
        "revisions",
        "seconds",
        "skip",
        "times",
        "type",
        "userAgent",
        "verb",
    ];
    let bad = |error: serde_json::Error| ApiError::bad_request(format!("not a fault: {error}"));
    let value: Value = serde_json::from_slice(body).map_err(bad)?;
    let unknown = value
        .as_object()
        .into_iter()
        .flatten()
        .find(|(name, _)| !FIELDS.contains(&name.as_str()));
    if let Some((name, _)) = unknown {
        return Err(ApiError::bad_request(format!(
            "not a fault: unknown field {name:?}"
        )));
    }
    serde_json::from_value(value).map_err(bad)
}

fn in_json(value: impl serde::Serialize) -> Answer {
    let value: Value =
        serde_json::to_value(value).expect("faults and requests have text keys only");
    Answer::json(200, &value)
}
