//! Tests of the choice of cryptography, each with the features it is compiled with.

use super::crypto_provider;
use crate::client::Client;
use crate::config::Config;

/// With both features on, aws-lc-rs is used; of the two, it alone knows P-521.
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[test]
fn provider_is_the_one_of_the_features_and_no_global() {
    let provider = crypto_provider().unwrap();
    let algorithms = provider.signature_verification_algorithms;
    let knows_p521 = algorithms
        .mapping
        .iter()
        .any(|(scheme, _)| *scheme == rustls::SignatureScheme::ECDSA_NISTP521_SHA512);
    assert_eq!(knows_p521, cfg!(feature = "aws-lc-rs"));
    Client::new(
        Config::new("https://127.0.0.1")
            .unwrap()
            .with_insecure_skip_tls_verify(),
    )
    .unwrap();
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}

/// Nothing panics: a client of an `https` server says what is missing, and one of an
/// `http` server works.
#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
#[test]
fn provider_that_is_missing_is_an_error_of_https_alone() {
    assert!(crypto_provider().is_err());
    let error = Client::new(Config::new("https://127.0.0.1").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "server: is https, but informers-rest is built with neither of its features `ring` and \
         `aws-lc-rs`"
    );
    Client::new(Config::new("http://127.0.0.1").unwrap()).unwrap();
}
