//! What the server says when it refuses, as an [`Error`].

use std::time::Duration;

use bytes::BytesMut;
use http::Response;
use informers_reflector::{Error, StatusCause, StatusError};
use serde::Deserialize;

use crate::body::Body;
use crate::content::Content;
use crate::retry_after::retry_after;

/// As much of a failure's body is read, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// As much of a body that is no `Status` is shown, in bytes.
const MAX_SNIPPET: usize = 200;
/// How long the body of a failure may take.
const BODY_LIMIT: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Answer {
    kind: Option<String>,
    #[serde(rename = "status")]
    outcome: Option<String>,
    message: Option<String>,
    reason: Option<String>,
    code: Option<i64>,
    details: Option<Details>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    causes: Option<Vec<Cause>>,
    retry_after_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct Cause {
    reason: Option<String>,
    message: Option<String>,
    field: Option<String>,
}

/// The failure that an answer with that status is.
pub(crate) async fn failure(response: Response<Body>) -> Error {
    let code = response.status().as_u16();
    let wait = retry_after(response.headers());
    let body = read_some(response).await;
    if let Some(status) = parse(&body)
        && (status.kind.as_deref() == Some("Status") || status.outcome.is_some())
    {
        return Error::from_status(status_error(status, code, wait));
    }
    Error::http(code, &snippet(&body), wait)
}

/// The failure in an ERROR event, or in a body where something else was to be. Servers
/// have left out `kind` and `apiVersion`.
pub(crate) fn failure_in(json: &[u8]) -> Error {
    match parse(json) {
        Some(status) => Error::from_status(status_error(status, 0, None)),
        None => Error::http(500, &snippet(json), None),
    }
}

fn parse(json: &[u8]) -> Option<Answer> {
    serde_json::from_slice(json).ok()
}

fn status_error(status: Answer, code: u16, wait: Option<Duration>) -> StatusError {
    let details = status.details;
    let seconds = details
        .as_ref()
        .and_then(|details| details.retry_after_seconds)
        .and_then(|seconds| u64::try_from(seconds).ok())
        .filter(|seconds| *seconds > 0);
    let causes = details
        .and_then(|details| details.causes)
        .unwrap_or_default();
    StatusError {
        code: status
            .code
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| *code != 0)
            .unwrap_or(code),
        reason: status.reason.unwrap_or_default(),
        message: status.message.unwrap_or_default(),
        causes: causes
            .into_iter()
            .map(|cause| StatusCause {
                reason: cause.reason.unwrap_or_default(),
                message: cause.message.unwrap_or_default(),
                field: cause.field.unwrap_or_default(),
            })
            .collect(),
        retry_after: wait.or(seconds.map(Duration::from_secs)),
    }
}

/// The start of the body; what is there when reading it fails.
async fn read_some(response: Response<Body>) -> BytesMut {
    let mut read = BytesMut::new();
    let Ok(mut content) = Content::of(response) else {
        return read;
    };
    let reading = async {
        while read.len() < MAX_BODY
            && let Ok(Some(piece)) = content.next().await
        {
            read.extend_from_slice(&piece);
        }
    };
    if tokio::time::timeout(BODY_LIMIT, reading).await.is_err() {
        tracing::debug!("the body of a failure did not end in time");
    }
    read
}

/// The start of a text in one line; empty if it is none.
fn snippet(body: &[u8]) -> String {
    let body = &body[..body.len().min(MAX_SNIPPET)];
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        // Cut in a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return String::new(),
    };
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
