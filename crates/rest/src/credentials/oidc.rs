//! OIDC: an ID token, renewed with a refresh token.
//!
//! # Upstream
//! `plugin/pkg/client/auth/oidc`.

mod jwt;
mod refresh;

use std::fmt;

use informers_reflector::{Error, TransportKind};
use jiff::Timestamp;
use tokio::sync::Mutex;

use self::jwt::expiry;
use super::Credential;
use super::authenticator::bearer;
use crate::config::{ConfigError, Fields, PemSource, Secret};

/// An ID token is renewed so long before it expires, in seconds (client-go's).
const LEEWAY_SECONDS: i64 = 10;

/// An identity at an OIDC provider: kubeconfig's `auth-provider` named `oidc`.
///
/// The renewed tokens are kept in memory; the kubeconfig file is not rewritten.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcConfig {
    /// `idp-issuer-url`.
    pub issuer_url: String,
    /// `client-id`.
    pub client_id: String,
    /// `client-secret`; may be empty.
    pub client_secret: Secret,
    /// `id-token`, if there is one already.
    pub id_token: Option<Secret>,
    /// `refresh-token`; without one the ID token is used until it expires.
    pub refresh_token: Option<Secret>,
    /// `idp-certificate-authority(-data)`: whom to trust as the provider; the system's
    /// roots if there is none.
    pub certificate_authority: Option<PemSource>,
}

impl OidcConfig {
    pub(crate) fn of(fields: Fields<'_>) -> Result<Self, ConfigError> {
        let required = |key: &str| -> Result<String, ConfigError> {
            fields
                .string(key)?
                .map(str::to_owned)
                .ok_or_else(|| ConfigError::new(key, "is not set"))
        };
        let certificate_authority = match fields.data("idp-certificate-authority-data")? {
            Some(data) => Some(PemSource::inline(data)),
            None => fields
                .path("idp-certificate-authority")?
                .map(PemSource::File),
        };
        Ok(Self {
            issuer_url: required("idp-issuer-url")?,
            client_id: required("client-id")?,
            client_secret: fields.string("client-secret")?.unwrap_or_default().into(),
            id_token: fields.string("id-token")?.map(Into::into),
            refresh_token: fields.string("refresh-token")?.map(Into::into),
            certificate_authority,
        })
    }
}

/// The tokens in use.
///
/// # Locks
/// One, held while tokens are renewed: concurrent requests wait for one renewal.
pub(super) struct OidcSource {
    config: OidcConfig,
    state: Mutex<State>,
}

struct State {
    id_token: Option<Secret>,
    refresh_token: Option<Secret>,
    expires: Option<Timestamp>,
    generation: u64,
}

impl OidcSource {
    pub(super) fn new(config: OidcConfig) -> Result<Self, ConfigError> {
        if config.id_token.is_none() && config.refresh_token.is_none() {
            return Err(ConfigError::new(
                "auth-provider.config",
                "has neither an id-token nor a refresh-token",
            ));
        }
        let state = State {
            expires: config.id_token.as_ref().and_then(expiry),
            id_token: config.id_token.clone(),
            refresh_token: config.refresh_token.clone(),
            generation: 0,
        };
        Ok(Self {
            config,
            state: Mutex::new(state),
        })
    }

    /// The ID token while it lasts; then, and after a refusal, a renewed one.
    pub(super) async fn credential(&self, refused: Option<u64>) -> Result<Credential, Error> {
        let mut state = self.state.lock().await;
        let expired = state.expires.is_some_and(|expires| {
            Timestamp::now().as_second() + LEEWAY_SECONDS >= expires.as_second()
        });
        let usable = state.id_token.is_some() && !expired && refused != Some(state.generation);
        if !usable {
            match state.refresh_token.clone() {
                Some(refresh_token) => {
                    let renewed = refresh::refresh(&self.config, &refresh_token)
                        .await
                        .map_err(|error| Error::transport(TransportKind::Auth, error))?;
                    state.generation += 1;
                    state.expires = expiry(&renewed.id_token);
                    state.id_token = Some(renewed.id_token);
                    if renewed.refresh_token.is_some() {
                        state.refresh_token = renewed.refresh_token;
                    }
                }
                None if expired => return Err(Error::transport(TransportKind::Auth, Expired)),
                None => {}
            }
        }
        let authorization = state.id_token.as_ref().map(bearer).transpose()?;
        Ok(Credential {
            authorization,
            identity: None,
            generation: state.generation,
        })
    }
}

/// The ID token has expired, and nothing renews it.
#[derive(Debug)]
struct Expired;

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("id-token has expired and there is no refresh-token; log in again")
    }
}

impl std::error::Error for Expired {}

// By hand: the URL may be private, the tokens are.
impl fmt::Debug for OidcConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcConfig")
            .field("issuer_url", &self.issuer_url)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
