//! The provider `binaries`: kube-apiserver and etcd as processes on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use super::build::{self, Programs};
use super::control::{Command, Control};
use super::interrupt::Interrupt;
use super::servers::Servers;
use super::{ControlPlane, Options, suite};
use crate::{shell, workspace};

/// Names a folder with both programs, as the test environment of controller-runtime does.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The running servers and the way a test breaks them.
pub(super) struct Binaries {
    // Dropped first: it works on the servers.
    control: Control,
    servers: Arc<Mutex<Servers>>,
}

/// Whether this provider can work here; the error says what is missing.
pub(super) fn available() -> Result<()> {
    if assets().is_some() || shell::which("go").is_some() {
        return Ok(());
    }
    bail!("Go is not installed and {ASSETS} names no folder with kube-apiserver and etcd")
}

impl Binaries {
    pub(super) fn start(options: &Options, interrupt: &Interrupt) -> Result<Self> {
        let programs = match assets() {
            Some(folder) => {
                println!(
                    "using the programs in {}, whatever their version",
                    folder.display()
                );
                in_folder(&folder)?
            }
            None => build::programs(options.kubernetes)?,
        };
        println!("starting etcd and kube-apiserver");
        let servers = Servers::start(&programs, options.audit, interrupt)?;
        let servers = Arc::new(Mutex::new(servers));
        Ok(Self {
            control: Control::listen(Arc::clone(&servers))?,
            servers,
        })
    }
}

impl ControlPlane for Binaries {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut variables = vec![
            (suite::KUBECONFIG, servers.kubeconfig().into()),
            (suite::CONTROL, self.control.address().to_string().into()),
        ];
        if let Some(log) = servers.audit_log() {
            variables.push((suite::AUDIT_LOG, log.into()));
        }
        variables
    }

    fn summary(&self) -> String {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let (apiserver, etcd) = servers.addresses();
        let commands: Vec<&str> = Command::ALL.iter().map(|(name, _)| *name).collect();
        let audit = servers
            .audit_log()
            .map(|log| format!("\naudit log   {}", log.display()))
            .unwrap_or_default();
        format!(
            "server      https://{apiserver}\nkubeconfig  {}\netcd        http://{etcd}\n\
             control     {} (one a line: {}){audit}",
            servers.kubeconfig().display(),
            self.control.address(),
            commands.join(", "),
        )
    }

    fn stop(self: Box<Self>, failed: bool) -> Result<()> {
        let Self { control, servers } = *self;
        drop(control);
        let logs = workspace::root()?.join("target").join("e2e-logs");
        servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stop(failed.then_some(logs.as_path()))
    }
}

fn assets() -> Option<PathBuf> {
    env::var_os(ASSETS)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Both programs of a folder that holds them.
fn in_folder(folder: &Path) -> Result<Programs> {
    let program = |name: &str| {
        let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        path.is_file()
            .then_some(path)
            .with_context(|| format!("{ASSETS}={} holds no {name}", folder.display()))
    };
    Ok(Programs {
        apiserver: program("kube-apiserver")?,
        etcd: program("etcd")?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folder_without_one_of_the_programs_is_refused_with_its_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let apiserver = format!("kube-apiserver{}", env::consts::EXE_SUFFIX);
        fs::write(folder.path().join(apiserver), "").expect("written");
        let error = in_folder(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("holds no etcd"), "{error}");
    }
}
