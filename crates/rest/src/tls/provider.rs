//! Which cryptography TLS uses: a feature of this crate decides, never a global.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

use crate::config::ConfigError;

/// The provider that is compiled in; aws-lc-rs wins over ring.
///
/// # Errors
/// If there is neither.
#[allow(clippy::unnecessary_wraps, reason = "an error without either feature")]
pub(crate) fn crypto_provider() -> Result<Arc<CryptoProvider>, ConfigError> {
    #[cfg(feature = "aws-lc-rs")]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Ok(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    return Err(ConfigError::new(
        "server",
        "is https, but informers-rest is built with neither of its features `ring` and `aws-lc-rs`",
    ));
}

#[cfg(test)]
mod tests;
