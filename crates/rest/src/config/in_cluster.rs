//! The configuration of a pod: where its API server is, and its service account.

use std::fs;

use super::{Config, ConfigError, Environment, PemSource, Server};
use crate::credentials::Credentials;

const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

impl Config {
    /// The API server of the cluster this process runs in, as the service account of
    /// its pod.
    ///
    /// The address is that of the variables `KUBERNETES_SERVICE_HOST` and
    /// `KUBERNETES_SERVICE_PORT`; the token file is read again when it changes; without
    /// a `ca.crt` the system's certificate authorities are trusted.
    ///
    /// # Errors
    /// If these variables are not set, or the token cannot be read.
    ///
    /// # Upstream
    /// `rest.InClusterConfig`.
    #[doc(alias = "InClusterConfig")]
    pub fn in_cluster() -> Result<Self, ConfigError> {
        Self::in_cluster_of(&Environment::process())
    }

    pub(crate) fn in_cluster_of(environment: &Environment) -> Result<Self, ConfigError> {
        let (Some(host), Some(port)) = (environment.var(HOST), environment.var(PORT)) else {
            return Err(ConfigError::nothing_configured(format!(
                "not in a cluster: {HOST} and {PORT} are not both set"
            )));
        };
        let server = Server::https(&host, &port).map_err(|error| error.within("in-cluster"))?;
        let directory = &environment.service_account;
        let token = directory.join("token");
        if let Err(error) = fs::metadata(&token) {
            let problem = format!(
                "cannot read the service account's token {}",
                token.display()
            );
            return Err(ConfigError::new("in-cluster", problem).with_source(error));
        }
        let mut config = Self::for_server(server).with_credentials(Credentials::token_file(token));
        config.tls.certificate_authority = Some(PemSource::file(directory.join("ca.crt")));
        config.tls.certificate_authority_optional = true;
        if let Some(namespace) = in_cluster_namespace(environment) {
            config.namespace = namespace;
        }
        Ok(config)
    }
}

/// Whether this process seems to run in a pod.
pub(super) fn is_in_cluster(environment: &Environment) -> bool {
    environment.var_os(HOST).is_some() && environment.var_os(PORT).is_some()
}

/// The namespace of the pod: `POD_NAMESPACE`, else the service account's file.
fn in_cluster_namespace(environment: &Environment) -> Option<String> {
    if let Some(namespace) = environment.var("POD_NAMESPACE") {
        return Some(namespace);
    }
    // Absent outside of a pod, and nothing to say about it: there is a default.
    let text = fs::read_to_string(environment.service_account.join("namespace")).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
