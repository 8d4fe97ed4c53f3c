//! Errors of the API as `metav1.Status` objects.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// A failed API operation: what travels as a `Status` object.
///
/// # Upstream
///
/// `apierrors.StatusError`.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "StatusError")]
pub struct ApiError {
    code: u16,
    reason: String,
    message: String,
    details: Option<Value>,
    continue_token: Option<String>,
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// HTTP status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Machine-readable reason, such as `NotFound`.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The text for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The whole error as a `Status` object.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = json!(token);
        }
        status
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()?;
        Some(Duration::from_secs(seconds))
    }

    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    /// A path no resource answers.
    pub(crate) fn no_such_path() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(json!({}))
    }

    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} {name:?} not found", qualified(group, plural)),
        )
        .with_details(details(group, plural, name))
    }

    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} {name:?} already exists", qualified(group, plural)),
        )
        .with_details(details(group, plural, name))
    }

    pub(crate) fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            qualified(group, plural)
        );
        Self::new(409, "Conflict", message).with_details(details(group, plural, name))
    }

    pub(crate) fn stale(group: &str, plural: &str, name: &str) -> Self {
        Self::conflict(
            group,
            plural,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, field: &str, message: &str) -> Self {
        let text = format!(
            "{} {name:?} is invalid: {field}: {message}",
            qualified(group, kind)
        );
        Self::new(422, "Invalid", text).with_details(json!({
            "name": name,
            "group": group,
            "kind": kind,
            "causes": [{"reason": "FieldValueInvalid", "message": message, "field": field}],
        }))
    }

    pub(crate) fn invalid_options(field: &str, message: &str) -> Self {
        let text =
            format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: Forbidden: {message}");
        Self::new(422, "Invalid", text).with_details(json!({
            "group": "meta.k8s.io",
            "kind": "ListOptions",
            "causes": [{"reason": "FieldValueForbidden", "message": message, "field": field}],
        }))
    }

    pub(crate) fn expired(requested: u64, oldest: u64) -> Self {
        Self::new(
            410,
            "Expired",
            format!("too old resource version: {requested} ({oldest})"),
        )
    }

    pub(crate) fn too_large(requested: u64, current: u64) -> Self {
        let message =
            format!("Timeout: Too large resource version: {requested}, current: {current}");
        Self::new(504, "Timeout", message).with_details(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }))
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(json!({}))
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_acceptable() -> Self {
        Self::new(406, "NotAcceptable", "only application/json is served")
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for ApiError {}

fn qualified(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

fn details(group: &str, plural: &str, name: &str) -> Value {
    let mut details = json!({"name": name, "kind": plural});
    if !group.is_empty() {
        details["group"] = json!(group);
    }
    details
}

/// The reason and the customary text of a status code, as the API server words them.
pub(crate) fn customary(code: u16) -> (&'static str, &'static str) {
    match code {
        400 => ("BadRequest", "the request is not valid"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "the request is forbidden"),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
        ),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        406 => ("NotAcceptable", "the requested media type is not served"),
        409 => ("Conflict", "the object has been modified"),
        410 => ("Expired", "too old resource version"),
        413 => ("RequestEntityTooLarge", "the request is too large"),
        415 => (
            "UnsupportedMediaType",
            "the body's media type is not supported",
        ),
        422 => ("Invalid", "the request is invalid"),
        429 => (
            "TooManyRequests",
            "the server has received too many requests, please try again later",
        ),
        500 => ("InternalError", "an internal error occurred"),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the request did not complete within the allotted time",
        ),
        _ => ("", "unknown"),
    }
}
