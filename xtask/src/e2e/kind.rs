//! The provider `kind`: a cluster in Docker, made for the run and deleted after it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::interrupt::Interrupt;
use super::{ControlPlane, Options, suite};
use crate::{shell, workspace};

/// A cluster that exists. Deleted when dropped, so also after a failure half-way.
pub(super) struct Kind {
    cluster: Cluster,
    deleted: bool,
    _folder: TempDir,
}

/// What the commands of kind are made from.
#[derive(Debug)]
struct Cluster {
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
        let kind = Self {
            cluster,
            deleted: false,
            _folder: folder,
        };
        // A failure drops `kind`, and with it what was created so far.
        suite::run_interruptible(&mut kind.cluster.create(), interrupt)?;
        Ok(kind)
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
        let logs = if failed {
            let folder = workspace::root()?.join("target").join("e2e-logs");
            println!("logs of the cluster: {}", folder.display());
            shell::run(&mut self.cluster.export_logs(&folder))
        } else {
            Ok(())
        };
        self.delete().and(logs)
    }
}

impl Cluster {
    fn from_options(options: &Options, run_id: &str, folder: &Path) -> Self {
        Self {
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

    fn create(&self) -> Command {
        let mut command = Command::new("kind");
        command.args([
            "create",
            "cluster",
            "--name",
            &self.name,
            "--image",
            &self.image,
        ]);
        // Our own file: the user's kubeconfig keeps its current context.
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--wait", "180s"]);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command
    }

    fn export_logs(&self, folder: &Path) -> Command {
        let mut command = Command::new("kind");
        command
            .args(["export", "logs"])
            .arg(folder)
            .args(["--name", &self.name]);
        command
    }

    fn delete(&self) -> Command {
        let mut command = Command::new("kind");
        command.args(["delete", "cluster", "--name", &self.name]);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(options: &Options) -> Cluster {
        Cluster::from_options(options, "1a2b", Path::new("run"))
    }

    fn kubeconfig() -> String {
        Path::new("run").join("kubeconfig").display().to_string()
    }

    #[test]
    fn create_names_cluster_image_and_own_kubeconfig() {
        assert_eq!(
            shell::describe(&cluster(&Options::binaries()).create()),
            format!(
                "kind create cluster --name informers-e2e-1a2b --image kindest/node:v1.37.0 \
                 --kubeconfig {} --wait 180s",
                kubeconfig()
            )
        );
    }

    #[test]
    fn create_follows_the_options() {
        let options = Options {
            kind_name: Some("mine".to_owned()),
            kind_image: Some("local/node:1".to_owned()),
            kind_config: Some("kind.yaml".into()),
            ..Options::binaries()
        };
        assert_eq!(
            shell::describe(&cluster(&options).create()),
            format!(
                "kind create cluster --name mine --image local/node:1 --kubeconfig {} \
                 --wait 180s --config kind.yaml",
                kubeconfig()
            )
        );
    }

    #[test]
    fn image_follows_the_version() {
        let options = Options {
            kubernetes: "1.34".parse().expect("a known version"),
            ..Options::binaries()
        };
        assert_eq!(cluster(&options).image, "kindest/node:v1.34.0");
    }

    #[test]
    fn logs_and_deletion_name_the_same_cluster() {
        let cluster = cluster(&Options::binaries());
        assert_eq!(
            shell::describe(&cluster.export_logs(Path::new("logs"))),
            "kind export logs logs --name informers-e2e-1a2b"
        );
        assert_eq!(
            shell::describe(&cluster.delete()),
            format!(
                "kind delete cluster --name informers-e2e-1a2b --kubeconfig {}",
                kubeconfig()
            )
        );
    }
}
