//! Who counts as the API server: webpki's rules, and beyond them two things that
//! clusters in the field have and kubectl accepts.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::der::{Certificate, public_key};

/// Verifies against a bundle of certificates.
///
/// Beyond webpki it accepts, as Go does,
/// - the very certificate that stands in the bundle: a self-signed server certificate
///   used as its own certificate-authority;
/// - a server certificate marked as a CA, signed by one of the bundle.
///
/// Name, validity and key usage are checked for these too.
#[derive(Debug)]
pub(super) struct BundleVerifier {
    webpki: Option<Arc<WebPkiServerVerifier>>,
    roots: Arc<RootCertStore>,
    bundle: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl BundleVerifier {
    /// A bundle in which no certificate can be read trusts nobody.
    pub(super) fn new(
        bundle: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::client::VerifierBuilderError> {
        let mut roots = RootCertStore::empty();
        let (_, ignored) = roots.add_parsable_certificates(bundle.iter().cloned());
        if ignored > 0 {
            tracing::warn!(ignored, "certificates of the bundle that cannot be read");
        }
        let roots = Arc::new(roots);
        let webpki = if roots.is_empty() {
            None
        } else {
            let builder = WebPkiServerVerifier::builder_with_provider(
                Arc::clone(&roots),
                Arc::clone(&provider),
            );
            Some(builder.build()?)
        };
        Ok(Self {
            webpki,
            roots,
            bundle,
            provider,
        })
    }

    /// Whether Go accepts what webpki refused with `refusal`.
    fn accepts_anyway(
        &self,
        end_entity: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
        refusal: &Error,
    ) -> Result<bool, Error> {
        let in_bundle = self.bundle.iter().any(|trusted| trusted == end_entity);
        if !in_bundle && !is_ca_as_end_entity(refusal) {
            return Ok(false);
        }
        let Some(certificate) = Certificate::parse(end_entity) else {
            return Ok(false);
        };
        let parsed = ParsedCertificate::try_from(end_entity)?;
        rustls::client::verify_server_name(&parsed, name)?;
        let fits = certificate.is_valid_at(now) && certificate.serves();
        Ok(fits && (in_bundle || self.is_signed_by_bundle(&certificate)))
    }

    /// Whether one of the bundle signed it. Those with name constraints are left to
    /// webpki.
    fn is_signed_by_bundle(&self, certificate: &Certificate<'_>) -> bool {
        let algorithms = self.provider.signature_verification_algorithms.all;
        self.roots
            .roots
            .iter()
            .filter(|root| root.name_constraints.is_none())
            .filter(|root| root.subject.as_ref() == certificate.issuer)
            .filter_map(|root| public_key(&root.subject_public_key_info))
            .any(|(key_algorithm, key)| {
                algorithms.iter().any(|algorithm| {
                    algorithm.public_key_alg_id().as_ref() == key_algorithm
                        && algorithm.signature_alg_id().as_ref() == certificate.algorithm
                        && algorithm
                            .verify_signature(key, certificate.signed, certificate.signature)
                            .is_ok()
                })
            })
    }
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = match &self.webpki {
            Some(webpki) => webpki.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            ),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        match verified {
            Ok(verified) => Ok(verified),
            Err(refusal) => {
                if self.accepts_anyway(end_entity, server_name, now, &refusal)? {
                    Ok(ServerCertVerified::assertion())
                } else {
                    Err(refusal)
                }
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn is_ca_as_end_entity(refusal: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = refusal else {
        return false;
    };
    matches!(
        other.0.downcast_ref::<webpki::Error>(),
        Some(webpki::Error::CaUsedAsEndEntity)
    )
}

/// Accepts any certificate whose key the server has.
#[derive(Debug)]
pub(super) struct AcceptAny(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
