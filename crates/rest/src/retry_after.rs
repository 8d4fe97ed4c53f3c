//! The header `Retry-After`.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// How long the answer asks to wait: seconds or a date. Anything else is ignored.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    #[expect(clippy::disallowed_methods, reason = "an HTTP date is wall-clock time")]
    let now = SystemTime::now();
    parse(headers.get(RETRY_AFTER)?.to_str().ok()?, now)
}

fn parse(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    // A date that has passed: at once.
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests;
