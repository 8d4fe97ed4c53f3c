//! Tests of client certificates and keys.

use std::sync::Arc;

use super::certified_key;
use crate::tls::{IdentityPem, crypto_provider};

macro_rules! pem {
    ($name:literal) => {
        include_str!(concat!("../../../testdata/", $name, ".pem"))
    };
}

fn load(certificate: &str, key: &str) -> Result<(), String> {
    let pem = IdentityPem {
        certificate: Arc::from(certificate.as_bytes()),
        key: Arc::from(key.as_bytes()),
    };
    let provider = crypto_provider().unwrap();
    certified_key(&pem, &provider)
        .map(drop)
        .map_err(|error| error.to_string())
}

// B42
#[test]
fn identity_key_may_have_any_format() {
    for (certificate, key) in [
        (pem!("rsa.crt"), pem!("rsa.pkcs1")),
        (pem!("rsa.crt"), pem!("rsa.pkcs8")),
        (pem!("p256.crt"), pem!("p256.pkcs8")),
        (pem!("p256.crt"), pem!("p256.sec1")),
        (pem!("p256.crt"), pem!("p256.params-sec1")),
        (pem!("p384.crt"), pem!("p384.pkcs8")),
        (pem!("ed25519.crt"), pem!("ed25519.pkcs8")),
    ] {
        assert_eq!(load(certificate, key), Ok(()), "{key}");
        let crlf = key.replace('\n', "\r\n");
        assert_eq!(load(certificate, crlf.trim_end()), Ok(()), "CRLF {key}");
    }
}

// B42
#[test]
fn identity_key_and_certificate_may_stand_in_either_order() {
    let (certificate, key) = (pem!("p256.crt"), pem!("p256.sec1"));
    for both in [format!("{certificate}{key}"), format!("{key}{certificate}")] {
        assert_eq!(load(&both, &both), Ok(()));
    }
}

// B42
#[test]
fn identity_on_an_unsupported_curve_names_it() {
    let loaded = load(pem!("p521.crt"), pem!("p521.pkcs8"));
    if cfg!(feature = "aws-lc-rs") {
        assert_eq!(loaded, Ok(()));
    } else {
        let text = loaded.unwrap_err();
        assert_eq!(
            text,
            "client-key: is on the curve P-521, which needs the feature `aws-lc-rs`"
        );
    }
}

// B42
#[test]
fn identity_with_a_short_rsa_key_names_its_length_and_what_to_do() {
    for key in [pem!("rsa1024.pkcs1"), pem!("rsa1024.pkcs8")] {
        assert_eq!(
            load(pem!("rsa1024.crt"), key).unwrap_err(),
            "client-key: is an RSA key of 1024 bits, and 2048 are the least that are safe and \
             supported; have a certificate issued for a new key"
        );
    }
}

#[test]
fn identity_that_does_not_fit_says_why() {
    let (certificate, key) = (pem!("p256.crt"), pem!("p256.pkcs8"));
    for (certificate, key, problem) in [
        (
            certificate,
            pem!("p384.pkcs8"),
            "client-key: does not belong",
        ),
        (
            certificate,
            pem!("rsa.encrypted"),
            "client-key: is encrypted",
        ),
        (certificate, certificate, "client-key: holds no private key"),
        (key, key, "client-certificate: holds no certificate"),
        (certificate, "", "client-key: holds no private key"),
    ] {
        let text = load(certificate, key).unwrap_err();
        assert!(text.starts_with(problem), "{text}");
    }
}
