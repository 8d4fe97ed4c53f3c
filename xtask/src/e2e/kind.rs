//! The provider `kind`: a cluster in Docker, made for the run and deleted after it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::interrupt::Interrupt;
use super::{ControlPlane, Options, suite};
use crate::{shell, workspace};

/// A cluster that was begun. Deleted when dropped, so also after a failure half-way.
pub(super) struct Kind {
    cluster: Cluster,
    deleted: bool,
    /// Where the logs go after a failure.
    logs: PathBuf,
    _folder: TempDir,
}

/// What the commands of kind are made from.
#[derive(Debug)]
struct Cluster {
    /// kind itself: a program and perhaps arguments that come before all others.
    kind: Vec<OsString>,
    name: String,
    image: String,
    config: Option<PathBuf>,
    kubeconfig: PathBuf,
}

/// Whether this provider can work here; the error says what is missing.
pub(super) fn available() -> Result<()> {
    for program in ["kind", "docker"] {
        if shell::which(program).is_none() {
            bail!("{program} is not installed (not on the PATH)");
        }
    }
    let running = Command::new("docker")
        .args(["version", "--format", "{{.Server.Version}}"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot run docker")?;
    if !running.success() {
        bail!("docker is installed, but its daemon does not answer");
    }
    Ok(())
}

impl Kind {
    pub(super) fn start(options: &Options, run_id: &str, interrupt: &Interrupt) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("informers-kind-")
            .tempdir()
            .context("cannot create a temporary folder")?;
        let cluster = Cluster::from_options(options, run_id, folder.path());
        let logs = workspace::root()?.join("target").join("e2e-logs");
        Self::create(cluster, logs, folder, interrupt)
    }

    fn create(
        cluster: Cluster,
        logs: PathBuf,
        folder: TempDir,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        // What we did not create we must not delete.
        if shell::read(&mut cluster.list())?
            .lines()
            .any(|name| name == cluster.name)
        {
            bail!("there is a kind cluster {} already", cluster.name);
        }
        let kind = Self {
            cluster,
            deleted: false,
            logs,
            _folder: folder,
        };
        if let Err(error) = suite::run_interruptible(&mut kind.cluster.create(), interrupt) {
            if let Err(error) = kind.export_logs() {
                eprintln!("warning: {error:#}");
            }
            return Err(error);
        }
        Ok(kind)
    }

    fn export_logs(&self) -> Result<()> {
        println!("logs of the cluster: {}", self.logs.display());
        shell::run(&mut self.cluster.export_logs(&self.logs))
    }

    fn delete(&mut self) -> Result<()> {
        if self.deleted {
            return Ok(());
        }
        self.deleted = true;
        shell::run(&mut self.cluster.delete())
    }
}

impl Drop for Kind {
    fn drop(&mut self) {
        if let Err(error) = self.delete() {
            eprintln!("warning: {error:#}");
        }
    }
}

impl ControlPlane for Kind {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        vec![(suite::KUBECONFIG, self.cluster.kubeconfig.clone().into())]
    }

    fn summary(&self) -> String {
        format!(
            "cluster     {} ({})\nkubeconfig  {}",
            self.cluster.name,
            self.cluster.image,
            self.cluster.kubeconfig.display()
        )
    }

    fn stop(mut self: Box<Self>, failed: bool) -> Result<()> {
        let logs = if failed { self.export_logs() } else { Ok(()) };
        self.delete().and(logs)
    }
}

impl Cluster {
    fn from_options(options: &Options, run_id: &str, folder: &Path) -> Self {
        Self {
            kind: vec!["kind".into()],
            name: options
                .kind_name
                .clone()
                .unwrap_or_else(|| format!("informers-e2e-{run_id}")),
            image: options
                .kind_image
                .clone()
                .unwrap_or_else(|| options.kubernetes.kind_image()),
            config: options.kind_config.clone(),
            kubeconfig: folder.join("kubeconfig"),
        }
    }

    fn kind(&self) -> Command {
        let mut words = self.kind.iter();
        let mut command = Command::new(words.next().map_or("kind".as_ref(), OsString::as_os_str));
        command.args(words);
        command
    }

    fn list(&self) -> Command {
        let mut command = self.kind();
        command.args(["get", "clusters"]);
        command
    }

    fn create(&self) -> Command {
        let mut command = self.kind();
        command
            .args(["create", "cluster", "--name", &self.name])
            .args(["--image", &self.image])
            // Our own file: the user's kubeconfig keeps its current context.
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            // What fails is kept until its logs are collected; it is deleted in any case.
            .args(["--wait", "180s", "--retain"]);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command
    }

    fn export_logs(&self, folder: &Path) -> Command {
        let mut command = self.kind();
        command
            .args(["export", "logs"])
            .arg(folder)
            .args(["--name", &self.name]);
        command
    }

    fn delete(&self) -> Command {
        let mut command = self.kind();
        command
            .args(["delete", "cluster", "--name", &self.name])
            .arg("--kubeconfig")
            .arg(&self.kubeconfig);
        command
    }
}

#[cfg(test)]
mod tests;
