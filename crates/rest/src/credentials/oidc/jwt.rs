//! When an ID token expires. Its signature is for the API server to check.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;

use crate::config::Secret;

#[derive(Deserialize)]
struct Claims {
    exp: Option<serde_json::Number>,
}

/// The claim `exp`; `None` if the token is no JWT or has none.
pub(super) fn expiry(token: &Secret) -> Option<Timestamp> {
    let payload = token.expose().split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD
        .decode(payload.trim_end_matches('='))
        .ok()?;
    let claims: Claims = serde_json::from_slice(&payload).ok()?;
    let seconds = claims.exp?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "seconds, fractions dropped"
    )]
    let seconds = seconds
        .as_i64()
        .or_else(|| seconds.as_f64().map(|seconds| seconds as i64))?;
    Timestamp::from_second(seconds).ok()
}
