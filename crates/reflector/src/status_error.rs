//! [`StatusError`]: what the API server says when it refuses.

use std::fmt;
use std::time::Duration;

/// A failure as the API server describes it: the parts of a `meta/v1` `Status` that a
/// client acts upon.
///
/// # Upstream
/// `apierrors.StatusError`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusError {
    /// HTTP status; that of the `Status` where both are known.
    pub code: u16,
    /// Machine-readable reason in one word: `Expired`, `Forbidden`; empty if unknown.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// Details.
    pub causes: Vec<StatusCause>,
    /// How long the server asks to wait: the `Retry-After` header, else
    /// `details.retryAfterSeconds`.
    pub retry_after: Option<Duration>,
}

/// One detail of a [`StatusError`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusCause {
    /// Machine-readable, for example `ResourceVersionTooLarge`.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// The field at fault, in dotted form.
    pub field: String,
}

/// How apiservers put it in words; before 1.17 there were only words.
const TOO_LARGE: &str = "Too large resource version";

impl StatusError {
    /// As much of a body that is no `Status` goes into the message, in bytes.
    pub const MAX_SNIPPET: usize = 512;

    /// A failure by HTTP status alone; see [`Error::http`](crate::Error::http).
    pub fn from_http(code: u16, snippet: &str, retry_after: Option<Duration>) -> Self {
        Self {
            code,
            reason: reason_of(code).to_owned(),
            message: cut(snippet.trim(), Self::MAX_SNIPPET).to_owned(),
            causes: Vec::new(),
            retry_after,
        }
    }

    /// Whether the resource version or continue token is too old.
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// Whether the resource version lies in the server's future.
    pub fn is_too_large_resource_version(&self) -> bool {
        let timeout = self.code == 504 || self.reason == "Timeout";
        self.causes.iter().any(|cause| {
            cause.reason == "ResourceVersionTooLarge"
                || (timeout && cause.message.contains(TOO_LARGE))
        }) || (timeout && self.message.contains(TOO_LARGE))
    }

    /// Whether the server has trouble of its own: 429, and 5xx.
    pub(crate) fn is_server_trouble(&self) -> bool {
        self.code == 429 || (500..600).contains(&self.code)
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the API server answered {}", self.code)?;
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", cut(&self.message, 2 * Self::MAX_SNIPPET))?;
        }
        Ok(())
    }
}

impl std::error::Error for StatusError {}

/// The reason that the API server itself would give with that code.
fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

/// At most `max` bytes of `text`, cut between characters.
fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
