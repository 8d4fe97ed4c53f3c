//! A certificate authority of the server's own, and a certificate for loopback names.

use std::io;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// What a TLS server needs, and what its clients must trust.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) ca_pem: String,
}

/// Makes a CA and a server certificate for 127.0.0.1, `::1` and localhost.
pub(crate) fn self_signed() -> io::Result<Identity> {
    let ca_key = KeyPair::generate().map_err(io::Error::other)?;
    let mut ca = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    ca.distinguished_name
        .push(DnType::CommonName, "fake-apiserver CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_certificate = ca.self_signed(&ca_key).map_err(io::Error::other)?;
    let issuer = Issuer::new(ca, ca_key);

    let key = KeyPair::generate().map_err(io::Error::other)?;
    let names = ["127.0.0.1", "::1", "localhost"].map(str::to_owned);
    let mut server = CertificateParams::new(names).map_err(io::Error::other)?;
    server
        .distinguished_name
        .push(DnType::CommonName, "fake-apiserver");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let certificate = server.signed_by(&key, &issuer).map_err(io::Error::other)?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Identity {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        ca_pem: ca_certificate.pem(),
    })
}
