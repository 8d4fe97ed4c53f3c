//! [`Authenticator`]: credentials at run time.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use informers_reflector::{Error, TransportKind};

use super::Credentials;
use super::exec::ExecSource;
use super::oidc::OidcSource;
use super::provider::ProviderSource;
use super::token_file::TokenFile;
use crate::config::{ConfigError, Secret};
use crate::tls::IdentityPem;

/// What one request proves itself by.
#[derive(Clone)]
pub(crate) struct Credential {
    /// The header `Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
    /// A client certificate instead of the configured one.
    pub(crate) identity: Option<IdentityPem>,
    /// Differs between credentials of one source.
    pub(crate) generation: u64,
}

/// Gives each request its credential, and another one after a 401 if there is another.
pub(crate) struct Authenticator(Source);

enum Source {
    /// The same for ever.
    Fixed(Credential),
    TokenFile(TokenFile),
    Exec(Box<ExecSource>),
    Oidc(Box<OidcSource>),
    Provider(ProviderSource),
}

impl Authenticator {
    pub(crate) fn new(
        credentials: &Credentials,
        check_every: Duration,
    ) -> Result<Self, ConfigError> {
        Ok(Self(match credentials {
            Credentials::None => Source::Fixed(fixed(None)),
            Credentials::Token(token) => {
                let value = bearer(token).map_err(|error| {
                    ConfigError::new("token", "cannot be sent").with_source(error)
                })?;
                Source::Fixed(fixed(Some(value)))
            }
            Credentials::Basic { username, password } => {
                Source::Fixed(fixed(Some(basic(username, password))))
            }
            Credentials::TokenFile { path, fallback } => {
                Source::TokenFile(TokenFile::new(path.clone(), fallback.clone(), check_every))
            }
            Credentials::Exec(config) => {
                Source::Exec(Box::new(ExecSource::new((**config).clone())?))
            }
            Credentials::Oidc(config) => {
                Source::Oidc(Box::new(OidcSource::new((**config).clone())?))
            }
            Credentials::Provider(provider) => {
                Source::Provider(ProviderSource::new(std::sync::Arc::clone(provider)))
            }
        }))
    }

    /// The credential for the next request.
    pub(crate) async fn credential(&self) -> Result<Credential, Error> {
        self.obtain(None).await
    }

    /// Another credential after `used` was answered by 401; `None` if there is no
    /// other.
    pub(crate) async fn another(&self, used: &Credential) -> Result<Option<Credential>, Error> {
        let credential = self.obtain(Some(used.generation)).await?;
        Ok((credential.generation != used.generation).then_some(credential))
    }

    async fn obtain(&self, refused: Option<u64>) -> Result<Credential, Error> {
        match &self.0 {
            Source::Fixed(credential) => Ok(credential.clone()),
            Source::TokenFile(source) => source.credential(refused).await,
            Source::Exec(source) => source.credential(refused).await,
            Source::Oidc(source) => source.credential(refused).await,
            Source::Provider(source) => source.credential(refused).await,
        }
    }
}

fn fixed(authorization: Option<HeaderValue>) -> Credential {
    Credential {
        authorization,
        identity: None,
        generation: 0,
    }
}

/// `Bearer …`, marked so that HTTP/2 keeps it out of its tables and `Debug` hides it.
pub(super) fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| Error::transport(TransportKind::Auth, BadToken))?;
    value.set_sensitive(true);
    Ok(value)
}

fn basic(username: &str, password: &Secret) -> HeaderValue {
    let text = BASE64_STANDARD.encode(format!("{username}:{}", password.expose()));
    let mut value =
        HeaderValue::try_from(format!("Basic {text}")).expect("base64 can stand in a header");
    value.set_sensitive(true);
    value
}

/// A token with characters that no header may hold.
#[derive(Debug)]
struct BadToken;

impl fmt::Display for BadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the token holds characters that cannot stand in a header")
    }
}

impl std::error::Error for BadToken {}

#[cfg(test)]
mod tests;
