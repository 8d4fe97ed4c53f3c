//! The rules by which kubectl finds its configuration.

use std::time::Duration;

use super::in_cluster::is_in_cluster;
use super::{Config, ConfigError, Environment, Kubeconfig, Overrides};

impl Config {
    /// The configuration that kubectl would use: the files of `KUBECONFIG`, else
    /// `~/.kube/config`, else that of the pod this process runs in.
    ///
    /// Of the environment, `HTTP2_READ_IDLE_TIMEOUT_SECONDS` and
    /// `HTTP2_PING_TIMEOUT_SECONDS` set [`ping_interval`](crate::Timeouts::ping_interval)
    /// and [`ping_timeout`](crate::Timeouts::ping_timeout), and `DISABLE_HTTP2` (not
    /// empty) turns HTTP/2 off, as in client-go. What `with_*` methods set afterwards
    /// wins; a value that is no number of seconds is warned of and ignored.
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
        let mut config = Self::found(environment, overrides)?;
        http2_from_environment(&mut config, environment);
        Ok(config)
    }

    fn found(environment: &Environment, overrides: &Overrides) -> Result<Self, ConfigError> {
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

/// What client-go reads of the environment about HTTP/2. No kubeconfig says any of it.
fn http2_from_environment(config: &mut Config, environment: &Environment) {
    let seconds = |name: &'static str, ours: Duration| {
        let Some(text) = environment.var_os(name) else {
            return ours;
        };
        let number = text.to_str().and_then(|text| text.parse::<u32>().ok());
        number.map_or_else(
            || {
                tracing::warn!(
                    variable = name,
                    value = %text.display(),
                    default = ?ours,
                    "the variable is no number of seconds and is ignored"
                );
                ours
            },
            |seconds| Duration::from_secs(seconds.into()),
        )
    };
    let timeouts = &mut config.timeouts;
    timeouts.ping_interval = seconds("HTTP2_READ_IDLE_TIMEOUT_SECONDS", timeouts.ping_interval);
    let ping_timeout = seconds("HTTP2_PING_TIMEOUT_SECONDS", timeouts.ping_timeout);
    // Go's zero is the default.
    if !ping_timeout.is_zero() {
        timeouts.ping_timeout = ping_timeout;
    }
    if environment.var_os("DISABLE_HTTP2").is_some() {
        config.http2 = false;
    }
}
