//! [`TlsState`]: the TLS configuration in use, made again when its files change.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::identity::{AlwaysShow, certified_key};
use super::verifier::{AcceptAny, BundleVerifier};
use super::{IdentityPem, crypto_provider};
use crate::config::{Config, ConfigError, TlsSettings, TlsVersion};

/// What a new connection needs to speak TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
    /// Connections of another epoch are not used for new requests.
    pub(crate) epoch: u64,
    /// Cancelled when files changed: connections made before are then closed.
    pub(crate) replaced: CancellationToken,
    pub(crate) min_version: TlsVersion,
}

/// The TLS configuration in use.
///
/// # Locks
/// One, never held across an await or while a file is read.
///
/// # Upstream
/// `transport.tlsTransportCache`, `dynamicClientCert` and the CA reloading of
/// `atomicTransportHolder`.
pub(crate) struct TlsState {
    settings: TlsSettings,
    server_name: ServerName<'static>,
    provider: Arc<CryptoProvider>,
    http2: bool,
    check_every: Duration,
    current: Mutex<Current>,
}

struct Current {
    files: Files,
    identity: Option<IdentityPem>,
    tls: Tls,
    checked: Instant,
}

/// What the files held.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    certificate_authority: Option<Arc<[u8]>>,
    identity: Option<IdentityPem>,
}

impl TlsState {
    /// Reads the files and makes the first configuration.
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        let provider = crypto_provider()?;
        let settings = config.tls.clone();
        if settings.insecure && settings.certificate_authority.is_some() {
            return Err(ConfigError::new(
                "insecure-skip-tls-verify",
                "cannot be used together with a certificate-authority",
            ));
        }
        let (field, name) = match &settings.server_name {
            Some(name) => ("tls-server-name", name.as_str()),
            None => ("server", config.server.host()),
        };
        let server_name = ServerName::try_from(name.to_owned())
            .map_err(|error| ConfigError::new(field, "is no host name").with_source(error))?;
        let files = Files::read(&settings)?;
        let client_config = client_config(&settings, &provider, &files, None, config.http2)?;
        let tls = Tls {
            config: client_config,
            server_name: server_name.clone(),
            epoch: 0,
            replaced: CancellationToken::new(),
            min_version: settings.min_version,
        };
        Ok(Self {
            settings,
            server_name,
            provider,
            http2: config.http2,
            check_every: config.timeouts.file_check,
            current: Mutex::new(Current {
                files,
                identity: None,
                tls,
                checked: Instant::now(),
            }),
        })
    }

    /// What the next connection needs; `identity` is shown instead of the configured
    /// certificate. Looks at the files if that was not done for a while.
    ///
    /// # Errors
    /// If `identity` cannot be used.
    pub(crate) async fn current(&self, identity: Option<&IdentityPem>) -> Result<Tls, ConfigError> {
        if self.is_check_due() {
            self.check_files().await;
        }
        let mut current = self.lock();
        if current.identity.as_ref() != identity {
            let config = client_config(
                &self.settings,
                &self.provider,
                &current.files,
                identity,
                self.http2,
            )?;
            current.identity = identity.cloned();
            // Connections in use stay: only files close them.
            let replaced = current.tls.replaced.clone();
            current.tls = self.next(&current.tls, config, replaced);
        }
        Ok(current.tls.clone())
    }

    /// Whether there are files that may change, and are to be looked at in between
    /// requests.
    pub(crate) fn is_to_be_watched(&self) -> bool {
        self.settings.has_files() && !self.check_every.is_zero()
    }

    /// Looks at the files from time to time, until `stop` or until nobody else holds the
    /// state: a watch that nothing happens on asks for no request, and its connection
    /// is to be closed all the same.
    pub(crate) async fn watch_files(state: Weak<Self>, stop: CancellationToken) {
        while let Some(every) = state.upgrade().map(|state| state.check_every) {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            let Some(state) = state.upgrade() else {
                return;
            };
            state.lock().checked = Instant::now();
            state.check_files().await;
        }
    }

    /// Looks at the files now. Whether something changed.
    ///
    /// A file that cannot be used leaves the last good configuration.
    pub(crate) async fn check_files(&self) -> bool {
        let settings = self.settings.clone();
        let read = tokio::task::spawn_blocking(move || Files::read(&settings)).await;
        let files = match read {
            Ok(Ok(files)) => files,
            Ok(Err(error)) => {
                tracing::warn!(%error, "TLS files are not usable, the last good ones are kept");
                return false;
            }
            // The runtime is shutting down.
            Err(_) => return false,
        };
        let mut current = self.lock();
        if current.files == files {
            return false;
        }
        let identity = current.identity.clone();
        match client_config(
            &self.settings,
            &self.provider,
            &files,
            identity.as_ref(),
            self.http2,
        ) {
            Ok(config) => {
                tracing::info!("TLS files changed, connections are made again");
                let replaced = CancellationToken::new();
                let next = self.next(&current.tls, config, replaced);
                let last = std::mem::replace(&mut current.tls, next);
                current.files = files;
                last.replaced.cancel();
                true
            }
            Err(error) => {
                tracing::warn!(%error, "TLS files are not usable, the last good ones are kept");
                false
            }
        }
    }

    fn next(&self, last: &Tls, config: Arc<ClientConfig>, replaced: CancellationToken) -> Tls {
        Tls {
            config,
            server_name: self.server_name.clone(),
            epoch: last.epoch + 1,
            replaced,
            min_version: last.min_version,
        }
    }

    fn is_check_due(&self) -> bool {
        if !self.settings.has_files() {
            return false;
        }
        let mut current = self.lock();
        let due = current.checked.elapsed() >= self.check_every;
        if due {
            current.checked = Instant::now();
        }
        due
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TlsSettings {
    fn has_files(&self) -> bool {
        let authority = self.certificate_authority.as_ref();
        let identity = self.identity.as_ref();
        authority.is_some_and(|bundle| bundle.path().is_some())
            || identity.is_some_and(|identity| {
                identity.certificate.path().is_some() || identity.key.path().is_some()
            })
    }
}

impl Files {
    fn read(settings: &TlsSettings) -> Result<Self, ConfigError> {
        let unreadable = |field: &str, path: Option<&std::path::Path>, error: std::io::Error| {
            let path = path.map_or_else(String::new, |path| format!(" {}", path.display()));
            ConfigError::new(field, format!("file{path} cannot be read")).with_source(error)
        };
        let certificate_authority = match &settings.certificate_authority {
            None => None,
            Some(bundle) => match bundle.read() {
                Ok(pem) => Some(pem),
                Err(error) if settings.certificate_authority_optional => {
                    tracing::warn!(%error, "no cluster CA file, the system's roots are trusted");
                    None
                }
                Err(error) => {
                    return Err(unreadable("certificate-authority", bundle.path(), error));
                }
            },
        };
        let identity = match &settings.identity {
            None => None,
            Some(identity) => Some(IdentityPem {
                certificate: identity.certificate.read().map_err(|error| {
                    unreadable("client-certificate", identity.certificate.path(), error)
                })?,
                key: identity
                    .key
                    .read()
                    .map_err(|error| unreadable("client-key", identity.key.path(), error))?,
            }),
        };
        Ok(Self {
            certificate_authority,
            identity,
        })
    }
}

fn client_config(
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
    files: &Files,
    identity: Option<&IdentityPem>,
    http2: bool,
) -> Result<Arc<ClientConfig>, ConfigError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions_from(settings.min_version))
        .map_err(|error| {
            ConfigError::new("server", "has no TLS version in common with this client")
                .with_source(error)
        })?
        .dangerous();
    let builder = if settings.insecure {
        builder.with_custom_certificate_verifier(Arc::new(AcceptAny(Arc::clone(provider))))
    } else {
        let bundle = match &files.certificate_authority {
            Some(pem) => parse_bundle(pem)?,
            None => system_roots()?,
        };
        let verifier = BundleVerifier::new(bundle, Arc::clone(provider)).map_err(|error| {
            ConfigError::new("certificate-authority", "cannot be used").with_source(error)
        })?;
        builder.with_custom_certificate_verifier(Arc::new(verifier))
    };
    let identity = identity.or(files.identity.as_ref());
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let key = certified_key(pem, provider)?;
            builder.with_client_cert_resolver(Arc::new(AlwaysShow(Arc::new(key))))
        }
    };
    config.alpn_protocols = if http2 {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    Ok(Arc::new(config))
}

/// What may be spoken.
fn versions_from(lowest: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static ONLY_1_3: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
    match lowest {
        TlsVersion::V1_2 => rustls::ALL_VERSIONS,
        TlsVersion::V1_3 => &ONLY_1_3,
    }
}

/// Every certificate of the text; blocks that are none are skipped, as in Go.
fn parse_bundle(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let mut bundle = Vec::new();
    let mut skipped = 0_usize;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        match certificate {
            Ok(certificate) => bundle.push(certificate),
            Err(_) => skipped += 1,
        }
    }
    if skipped > 0 {
        tracing::warn!(
            skipped,
            "blocks of certificate-authority that are not valid PEM"
        );
    }
    if bundle.is_empty() {
        return Err(ConfigError::new(
            "certificate-authority",
            "holds no PEM certificate",
        ));
    }
    Ok(bundle)
}

fn system_roots() -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let error = ConfigError::new(
            "certificate-authority",
            "is not set, and the system has no certificate authorities",
        );
        return Err(match found.errors.into_iter().next() {
            Some(cause) => error.with_source(cause),
            None => error,
        });
    }
    Ok(found.certs)
}

#[cfg(test)]
mod tests;
