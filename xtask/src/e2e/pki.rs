//! The keys and certificates of a control plane that lives for one run.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::{ClientConfig, RootCertStore};

use super::kubeconfig;

/// A certificate authority of our own and what it signed.
pub(super) struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Pki {
    /// Makes the authority, the serving certificate and the key that signs service account
    /// tokens, and writes them to `folder`.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "informers-e2e-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pki = Self {
            authority: CertifiedIssuer::self_signed(params, KeyPair::generate()?)
                .context("cannot make a certificate authority")?,
            folder: folder.to_owned(),
        };
        pki.write("ca.crt", &pki.authority.pem())?;
        let key = KeyPair::generate()?;
        pki.write("service-account.key", &key.serialize_pem())?;
        // The API server reads no public key out of a private one of this encoding.
        pki.write("service-account.pub", &key.public_key_pem())?;
        pki.issue_serving_certificate()?;
        pki.issue_client_certificate()?;
        Ok(pki)
    }

    /// Writes a certificate that makes its owner an admin.
    fn issue_client_certificate(&self) -> Result<()> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "certified");
        params
            .distinguished_name
            .push(DnType::OrganizationName, "system:masters");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params
            .signed_by(&key, &self.authority)
            .context("cannot sign the client certificate")?;
        kubeconfig::create_private(&self.file("client.key"))
            .and_then(|mut file| file.write_all(key.serialize_pem().as_bytes()))
            .context("cannot write the client key")?;
        self.write("client.crt", &certificate.pem())
    }

    /// Writes a new certificate for the loopback address; a running server takes it over.
    pub(super) fn issue_serving_certificate(&self) -> Result<()> {
        let mut params = CertificateParams::new(vec![
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "kubernetes.default.svc".to_owned(),
        ])?;
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params
            .signed_by(&key, &self.authority)
            .context("cannot sign the serving certificate")?;
        self.write("serving.key", &key.serialize_pem())?;
        self.write("serving.crt", &certificate.pem())
    }

    /// The file of one of the names written by [`Pki::create`].
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A client configuration that trusts this authority alone.
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.file(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_writes_every_file_the_api_server_is_given() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pki = Pki::create(folder.path()).expect("the files are written");
        for (name, label) in [
            ("ca.crt", "CERTIFICATE"),
            ("serving.crt", "CERTIFICATE"),
            ("serving.key", "PRIVATE KEY"),
            ("client.crt", "CERTIFICATE"),
            ("client.key", "PRIVATE KEY"),
            ("service-account.key", "PRIVATE KEY"),
            ("service-account.pub", "PUBLIC KEY"),
        ] {
            let text = fs::read_to_string(pki.file(name)).expect("the file is there");
            assert!(
                text.starts_with(&format!("-----BEGIN {label}-----")),
                "{name}"
            );
        }
        assert!(pki.client().is_ok());
    }

    #[test]
    fn issued_serving_certificate_differs_from_the_one_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pki = Pki::create(folder.path()).expect("the files are written");
        let before = fs::read(pki.file("serving.crt")).expect("the file is there");
        pki.issue_serving_certificate().expect("a new certificate");
        let after = fs::read(pki.file("serving.crt")).expect("the file is there");
        assert_ne!(before, after);
    }
}
