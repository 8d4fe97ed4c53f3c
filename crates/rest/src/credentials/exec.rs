//! Exec plugins: programs that print credentials.
//!
//! # Upstream
//! `plugin/pkg/client/auth/exec`.

mod credential;
mod error;
mod run;

use std::fmt;
use std::path::PathBuf;

use informers_reflector::{Error, TransportKind};
use jiff::Timestamp;
use tokio::sync::Mutex;

use self::credential::ExecCredential;
use super::Credential;
use super::authenticator::bearer;
use crate::config::{ConfigError, PemSource};

const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";

/// A program that prints credentials: kubeconfig's `exec`.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// `client.authentication.k8s.io/v1` or `…/v1beta1`.
    pub api_version: String,
    /// The program; looked for in `PATH` if it is a bare name.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables set for it beside those of this process.
    pub environment: Vec<(String, String)>,
    /// Told to the user when the program is not there.
    pub install_hint: Option<String>,
    /// `Never`, `IfAvailable` or `Always`: whether it may talk to the user. v1 must
    /// say; v1beta1 means `IfAvailable`.
    pub interactive_mode: Option<String>,
    /// What the program is told about the cluster (`provideClusterInfo`).
    pub cluster: Option<ExecCluster>,
}

/// What an exec plugin may be told about the cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecCluster {
    /// The server's URL.
    pub server: String,
    /// The name expected in its certificate.
    pub tls_server_name: Option<String>,
    /// Whether its certificate is not looked at.
    pub insecure_skip_tls_verify: bool,
    /// Whom to trust.
    pub certificate_authority: Option<PemSource>,
    /// The proxy, if there is one.
    pub proxy_url: Option<String>,
    /// Whether not to ask for gzip.
    pub disable_compression: bool,
    /// The cluster's extension `client.authentication.k8s.io/exec`.
    pub config: Option<serde_json::Value>,
}

/// Whether the plugin may talk to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InteractiveMode {
    Never,
    IfAvailable,
    Always,
}

impl ExecConfig {
    /// Whether it can be run at all.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.api_version.as_str() {
            V1 | V1BETA1 => self.mode().map(|_| ()),
            "" => Err(ConfigError::new("apiVersion", "is not set")),
            other => Err(ConfigError::new(
                "apiVersion",
                format!("should be {V1} or {V1BETA1}, is {other:?}"),
            )),
        }
    }

    fn mode(&self) -> Result<InteractiveMode, ConfigError> {
        match self.interactive_mode.as_deref() {
            Some("Never") => Ok(InteractiveMode::Never),
            Some("IfAvailable") => Ok(InteractiveMode::IfAvailable),
            Some("Always") => Ok(InteractiveMode::Always),
            None if self.api_version == V1BETA1 => Ok(InteractiveMode::IfAvailable),
            None => Err(ConfigError::new(
                "interactiveMode",
                "is not set (version v1 of the exec API requires it)",
            )),
            Some(other) => Err(ConfigError::new(
                "interactiveMode",
                format!("should be Never, IfAvailable or Always, is {other:?}"),
            )),
        }
    }
}

/// A plugin and its last answer.
///
/// # Locks
/// One, held while the program runs: concurrent requests wait for one run.
pub(super) struct ExecSource {
    config: ExecConfig,
    mode: InteractiveMode,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    credential: Option<Credential>,
    answer: Option<ExecCredential>,
    generation: u64,
}

impl ExecSource {
    pub(super) fn new(config: ExecConfig) -> Result<Self, ConfigError> {
        config.check().map_err(|error| error.within("exec"))?;
        let mode = config.mode().map_err(|error| error.within("exec"))?;
        Ok(Self {
            config,
            mode,
            state: Mutex::default(),
        })
    }

    /// The last answer until it expires or is refused; then the program runs again.
    pub(super) async fn credential(&self, refused: Option<u64>) -> Result<Credential, Error> {
        let mut state = self.state.lock().await;
        if let Some(credential) = &state.credential
            && refused != Some(credential.generation)
            && !state
                .answer
                .as_ref()
                .is_some_and(|answer| answer.is_expired(Timestamp::now()))
        {
            return Ok(credential.clone());
        }
        let answer = run::run(&self.config, self.mode)
            .await
            .map_err(|error| Error::transport(TransportKind::Auth, error))?;
        if let Some(credential) = &state.credential
            && refused.is_none()
            && state
                .answer
                .as_ref()
                .is_some_and(|last| last.proves_the_same(&answer))
        {
            // The same again: connections made with it stay.
            let credential = credential.clone();
            state.answer = Some(answer);
            return Ok(credential);
        }
        state.generation += 1;
        let credential = Credential {
            authorization: answer.token().map(bearer).transpose()?,
            identity: answer.identity(),
            generation: state.generation,
        };
        state.answer = Some(answer);
        state.credential = Some(credential.clone());
        Ok(credential)
    }
}

// By hand: arguments and variables may hold secrets.
impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&str> = self
            .environment
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("ExecConfig")
            .field("api_version", &self.api_version)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("environment", &variables)
            .field("interactive_mode", &self.interactive_mode)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

// By hand: the proxy's URL may hold a password, the extension anything.
impl fmt::Debug for ExecCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecCluster")
            .field("server", &self.server)
            .field("certificate_authority", &self.certificate_authority)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
