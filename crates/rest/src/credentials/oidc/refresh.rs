//! One renewal at the provider.

use std::error::Error as StdError;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Method, StatusCode};
use informers_reflector::Error;
use serde::Deserialize;

use super::OidcConfig;
use crate::client::Client;
use crate::config::{Config, ConfigError, Secret};
use crate::content::Content;
use crate::request::Request;

/// As much of an answer is read, in bytes.
const MAX_BODY: usize = 1024 * 1024;
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// What the provider gave.
pub(super) struct Renewed {
    pub(super) id_token: Secret,
    pub(super) refresh_token: Option<Secret>,
}

#[derive(Deserialize)]
struct Discovery {
    token_endpoint: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// Why there is no new token.
#[derive(Debug)]
pub(super) enum RefreshError {
    /// The provider's URL, or whom to trust.
    Config(ConfigError),
    /// The provider cannot be reached.
    Unreachable(Error),
    /// The provider refused.
    Refused(StatusCode),
    /// The provider's answer is not as it should be.
    BadAnswer(&'static str),
}

/// Exchanges the refresh token for new tokens.
pub(super) async fn refresh(
    config: &OidcConfig,
    refresh_token: &Secret,
) -> Result<Renewed, RefreshError> {
    let issuer = client(config, config.issuer_url.trim_end_matches('/'))?;
    let discovery = Request::get("/.well-known/openid-configuration");
    let discovery: Discovery = json(&issuer, discovery).await?;
    let endpoint = client(config, &discovery.token_endpoint)?;
    // Of the form, only the values need encoding; the query has the same rules.
    let form = Request::new(Method::POST, "")
        .query("grant_type", "refresh_token")
        .query("refresh_token", refresh_token.expose())
        .query("client_id", &config.client_id)
        .query("client_secret", config.client_secret.expose())
        .target;
    let secret = format!("{}:{}", config.client_id, config.client_secret.expose());
    let mut authorization =
        HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(secret)))
            .expect("base64 can stand in a header");
    authorization.set_sensitive(true);
    let request = Request::new(Method::POST, "")
        .header(AUTHORIZATION, authorization)
        .body(FORM, form.trim_start_matches('?').to_owned());
    let tokens: Tokens = json(&endpoint, request).await?;
    let id_token = tokens
        .id_token
        .ok_or(RefreshError::BadAnswer("has no id_token"))?;
    Ok(Renewed {
        id_token: id_token.into(),
        refresh_token: tokens.refresh_token.map(Into::into),
    })
}

fn client(config: &OidcConfig, url: &str) -> Result<Client, RefreshError> {
    let mut provider = Config::new(url).map_err(RefreshError::Config)?;
    if let Some(bundle) = &config.certificate_authority {
        provider = provider.with_certificate_authority(bundle.clone());
    }
    Client::new(provider).map_err(RefreshError::Config)
}

async fn json<T: for<'de> Deserialize<'de>>(
    client: &Client,
    request: Request,
) -> Result<T, RefreshError> {
    let response = Box::pin(client.send(request))
        .await
        .map_err(RefreshError::Unreachable)?;
    if !response.status().is_success() {
        return Err(RefreshError::Refused(response.status()));
    }
    let mut content = Content::of(response).map_err(RefreshError::Unreachable)?;
    let mut body = Vec::new();
    while let Some(piece) = content.next().await.map_err(RefreshError::Unreachable)? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BODY {
            return Err(RefreshError::BadAnswer("is too long"));
        }
    }
    // Without the parser's text, which may quote a token.
    serde_json::from_slice(&body)
        .map_err(|_| RefreshError::BadAnswer("is not the JSON it should be"))
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(_) => f.write_str("OIDC provider's configuration is not usable"),
            Self::Unreachable(_) => f.write_str("OIDC provider gives no answer"),
            Self::Refused(status) => write!(
                f,
                "OIDC provider answered {} to the refresh-token",
                status.as_u16()
            ),
            Self::BadAnswer(problem) => write!(f, "OIDC provider's answer {problem}"),
        }
    }
}

impl StdError for RefreshError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Unreachable(error) => Some(error),
            Self::Refused(_) | Self::BadAnswer(_) => None,
        }
    }
}
