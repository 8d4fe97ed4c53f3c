//! A client certificate and its key, from PEM text in any order and format that kubectl
//! takes.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};

use super::IdentityPem;
use super::der::{pkcs8_rsa_key, rsa_modulus};
use crate::config::ConfigError;

const CERTIFICATE: &str = "client-certificate";
const KEY: &str = "client-key";

/// Shorter ones are refused by both providers; Go takes 1,024 bits.
const MIN_RSA_BITS: usize = 2048;

/// Elliptic curves that this crate's TLS cannot use (P-521 with ring alone), by the DER
/// of their OIDs.
const CURVES: [(&[u8], &str); 4] = [
    (b"\x06\x05\x2b\x81\x04\x00\x23", "P-521"),
    (b"\x06\x05\x2b\x81\x04\x00\x21", "P-224"),
    (b"\x06\x05\x2b\x81\x04\x00\x0a", "secp256k1"),
    (b"\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01", "brainpool"),
];

/// The certificate chain with its key, ready to sign.
pub(super) fn certified_key(
    pem: &IdentityPem,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, ConfigError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem.certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| ConfigError::new(CERTIFICATE, "is not valid PEM").with_source(error))?;
    if chain.is_empty() {
        return Err(ConfigError::new(CERTIFICATE, "holds no certificate"));
    }
    let key = private_key(&pem.key)?;
    let problem = key_problem(&key);
    let signing_key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|error| ConfigError::new(KEY, problem).with_source(error))?;
    let certified = CertifiedKey::new(chain, signing_key);
    match certified.keys_match() {
        // Not every signing key can tell.
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok(certified)
        }
        Err(rustls::Error::InconsistentKeys(_)) => Err(ConfigError::new(
            KEY,
            "does not belong to the client-certificate",
        )),
        Err(error) => {
            Err(ConfigError::new(CERTIFICATE, "is no usable certificate").with_source(error))
        }
    }
}

/// The first private key in the text; certificates and parameter blocks are skipped.
fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, ConfigError> {
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
        // No source: it may quote the text.
        let (kind, der) = section.map_err(|_| ConfigError::new(KEY, "is not valid PEM"))?;
        match kind {
            SectionKind::PrivateKey => return Ok(PrivatePkcs8KeyDer::from(der).into()),
            SectionKind::RsaPrivateKey => return Ok(PrivatePkcs1KeyDer::from(der).into()),
            SectionKind::EcPrivateKey => return Ok(PrivateSec1KeyDer::from(der).into()),
            _ => {}
        }
    }
    let encrypted = pem
        .windows(b"ENCRYPTED PRIVATE KEY".len())
        .any(|window| window == b"ENCRYPTED PRIVATE KEY");
    Err(ConfigError::new(
        KEY,
        if encrypted {
            "is encrypted; a key without a passphrase is needed"
        } else {
            "holds no private key (PKCS#8, PKCS#1 or SEC1)"
        },
    ))
}

fn unsupported_curve(der: &[u8]) -> Option<&'static str> {
    CURVES
        .iter()
        .find(|(oid, _)| der.windows(oid.len()).any(|window| window == *oid))
        .map(|(_, name)| *name)
}

/// What may be wrong with a key that the provider does not take.
fn key_problem(key: &PrivateKeyDer<'_>) -> String {
    if let Some(bits) = rsa_bits(key).filter(|bits| *bits < MIN_RSA_BITS) {
        return format!(
            "is an RSA key of {bits} bits, and {MIN_RSA_BITS} are the least that are safe and \
             supported; have a certificate issued for a new key"
        );
    }
    match unsupported_curve(key.secret_der()) {
        Some("P-521") if !cfg!(feature = "aws-lc-rs") => {
            "is on the curve P-521, which needs the feature `aws-lc-rs`".to_owned()
        }
        Some(curve) => format!("is on the curve {curve}, which is not supported"),
        None => "is of an unsupported kind or length".to_owned(),
    }
}

/// The length of an RSA key's modulus.
fn rsa_bits(key: &PrivateKeyDer<'_>) -> Option<usize> {
    let modulus = match key {
        PrivateKeyDer::Pkcs1(key) => rsa_modulus(key.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(key) => rsa_modulus(pkcs8_rsa_key(key.secret_pkcs8_der())?),
        _ => None,
    }?;
    let modulus = &modulus[modulus.iter().position(|byte| *byte != 0)?..];
    let unused = modulus.first()?.leading_zeros();
    Some(modulus.len() * 8 - usize::try_from(unused).ok()?)
}

/// Always shows the one certificate there is, whatever the server asks for.
#[derive(Debug)]
pub(super) struct AlwaysShow(pub(super) Arc<CertifiedKey>);

impl rustls::client::ResolvesClientCert for AlwaysShow {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[rustls::SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
