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
        ("POST", "/_fake/faults") => match serde_json::from_slice::<Fault>(body) {
            Ok(fault) => Answer::json(201, &json!({"id": faults.inject(fault)})),
            Err(error) => Answer::error(&ApiError::bad_request(format!("not a fault: {error}"))),
        },
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

fn in_json(value: impl serde::Serialize) -> Answer {
    let value: Value =
        serde_json::to_value(value).expect("faults and requests have text keys only");
    Answer::json(200, &value)
}
