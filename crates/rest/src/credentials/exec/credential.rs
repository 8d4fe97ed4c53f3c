//! [`ExecCredential`]: what a plugin is told, and what it answers.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ExecError;
use super::{ExecCluster, ExecConfig};
use crate::config::Secret;
use crate::tls::IdentityPem;

/// A plugin's answer.
pub(super) struct ExecCredential {
    token: Option<Secret>,
    identity: Option<IdentityPem>,
    expires: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: Option<String>,
    kind: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

impl ExecCredential {
    /// Reads what the plugin printed; `api_version` is what it was asked for.
    pub(super) fn parse(stdout: &[u8], api_version: &str) -> Result<Self, ExecError> {
        let bad = |problem: String| ExecError::BadAnswer(problem);
        // The parser's own text may quote a secret; its place may not.
        let answer: Answer = serde_json::from_slice(stdout).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            bad(format!(
                "is no ExecCredential (line {line}, column {column})"
            ))
        })?;
        if answer.kind.is_some_and(|kind| kind != "ExecCredential") {
            return Err(bad("is not of kind ExecCredential".to_owned()));
        }
        let found = answer.api_version.unwrap_or_default();
        if found != api_version {
            let problem = format!("has apiVersion {found:?} instead of {api_version:?}");
            return Err(bad(problem));
        }
        let Some(status) = answer.status else {
            return Err(bad("has no status".to_owned()));
        };
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        let certificate = text(status.client_certificate_data);
        let identity = match (certificate, text(status.client_key_data)) {
            (Some(certificate), Some(key)) => Some(IdentityPem {
                certificate: certificate.into_bytes().into(),
                key: key.into_bytes().into(),
            }),
            (None, None) => None,
            (Some(_), None) => return Err(bad("has a certificate without a key".to_owned())),
            (None, Some(_)) => return Err(bad("has a key without a certificate".to_owned())),
        };
        let token = text(status.token).map(Secret::from);
        if token.is_none() && identity.is_none() {
            return Err(bad("has neither a token nor a certificate".to_owned()));
        }
        let expires = match text(status.expiration_timestamp) {
            None => None,
            Some(text) => Some(text.parse::<Timestamp>().map_err(|_| {
                bad("has an expirationTimestamp that is no RFC 3339 time".to_owned())
            })?),
        };
        Ok(Self {
            token,
            identity,
            expires,
        })
    }

    pub(super) fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    pub(super) fn identity(&self) -> Option<IdentityPem> {
        self.identity.clone()
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    /// Whether another answer differs in its expiry at most.
    pub(super) fn proves_the_same(&self, other: &Self) -> bool {
        self.token == other.token && self.identity == other.identity
    }
}

/// The variable `KUBERNETES_EXEC_INFO`.
pub(super) fn exec_info(config: &ExecConfig, interactive: bool) -> Result<String, ExecError> {
    let mut spec = Map::new();
    spec.insert("interactive".to_owned(), Value::Bool(interactive));
    if let Some(cluster) = &config.cluster {
        spec.insert("cluster".to_owned(), Value::Object(cluster_info(cluster)?));
    }
    let info = json!({
        "kind": "ExecCredential",
        "apiVersion": config.api_version,
        "spec": spec,
    });
    Ok(info.to_string())
}

fn cluster_info(cluster: &ExecCluster) -> Result<Map<String, Value>, ExecError> {
    let mut info = Map::new();
    info.insert("server".to_owned(), Value::from(cluster.server.as_str()));
    if let Some(name) = &cluster.tls_server_name {
        info.insert("tls-server-name".to_owned(), Value::from(name.as_str()));
    }
    if cluster.insecure_skip_tls_verify {
        info.insert("insecure-skip-tls-verify".to_owned(), Value::Bool(true));
    }
    if let Some(bundle) = &cluster.certificate_authority {
        let pem = bundle.read().map_err(ExecError::CertificateAuthority)?;
        let data = BASE64_STANDARD.encode(pem);
        info.insert("certificate-authority-data".to_owned(), Value::from(data));
    }
    if let Some(url) = &cluster.proxy_url {
        info.insert("proxy-url".to_owned(), Value::from(url.as_str()));
    }
    if cluster.disable_compression {
        info.insert("disable-compression".to_owned(), Value::Bool(true));
    }
    if let Some(config) = &cluster.config {
        info.insert("config".to_owned(), config.clone());
    }
    Ok(info)
}
