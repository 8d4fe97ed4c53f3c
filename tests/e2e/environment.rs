//! What `cargo xtask e2e` tells by environment variables.

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;

use anyhow::{Context, Result};

/// Where the suite runs and what it is to do.
#[derive(Debug)]
pub(crate) struct Environment {
    /// `binaries`, `kind`, `kubeconfig` or `fake`.
    pub(crate) provider: String,
    /// The name of the suite.
    pub(crate) suite: String,
    /// The seed of all that is random.
    pub(crate) seed: u64,
    /// The namespace that is created, worked in and deleted.
    pub(crate) namespace: String,
    /// The kubeconfig: one path or a list of them. None for `fake`.
    pub(crate) kubeconfig: Option<OsString>,
    /// The context of the kubeconfig; the current one where there is none.
    pub(crate) context: Option<String>,
    /// Where commands to break the control plane are taken.
    pub(crate) control: Option<SocketAddr>,
}

impl Environment {
    /// Reads the variables; the error names the one that is missing or wrong.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            provider: required("INFORMERS_E2E_PROVIDER")?,
            suite: required("INFORMERS_E2E_SUITE")?,
            seed: required("INFORMERS_E2E_SEED")?
                .parse()
                .context("INFORMERS_E2E_SEED is no number")?,
            namespace: required("INFORMERS_E2E_NAMESPACE")?,
            kubeconfig: env::var_os("INFORMERS_E2E_KUBECONFIG"),
            context: env::var("INFORMERS_E2E_CONTEXT").ok(),
            control: env::var("INFORMERS_E2E_CONTROL")
                .ok()
                .map(|address| address.parse())
                .transpose()
                .context("INFORMERS_E2E_CONTROL is no address")?,
        })
    }
}

fn required(name: &str) -> Result<String> {
    env::var(name)
        .with_context(|| format!("{name} is not set; the suite is run by `cargo xtask e2e`"))
}
