//! The rules by which kubectl finds its configuration.

use super::in_cluster::is_in_cluster;
use super::{Config, ConfigError, Environment, Kubeconfig, Overrides};

impl Config {
    /// The configuration that kubectl would use: the files of `KUBECONFIG`, else
    /// `~/.kube/config`, else that of the pod this process runs in.
    ///
    /// # Errors
    /// If a file cannot be understood, if the chosen context lacks something, or if
    /// there is no configuration at all
    /// ([`is_nothing_configured`](ConfigError::is_nothing_configured)).
    #[doc(alias = "NewDefaultClientConfigLoadingRules")]
    pub fn infer() -> Result<Self, ConfigError> {
        Self::infer_with(&Overrides::default())
    }

    /// As [`infer`](Self::infer), with another context, cluster, user or namespace.
    pub fn infer_with(overrides: &Overrides) -> Result<Self, ConfigError> {
        Self::infer_of(&Environment::process(), overrides)
    }

    pub(crate) fn infer_of(
        environment: &Environment,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let kubeconfig = Kubeconfig::load_of(environment)?;
        if !kubeconfig.is_empty() {
            return kubeconfig.config(overrides);
        }
        if is_in_cluster(environment) {
            let mut config = Self::in_cluster_of(environment)?;
            if let Some(namespace) = &overrides.namespace {
                config.namespace.clone_from(namespace);
            }
            return Ok(config);
        }
        Err(ConfigError::nothing_configured(
            "no configuration: KUBECONFIG names no file that is there, ~/.kube/config is \
             missing or empty, and this process does not run in a cluster",
        ))
    }
}
