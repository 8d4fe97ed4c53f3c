//! The programs of a run, built in release mode.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// Where they are.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) server: PathBuf,
    pub(super) client_go: PathBuf,
    pub(super) kube_rs: PathBuf,
    pub(super) ours: PathBuf,
}

/// Builds all of them.
pub(super) fn programs(root: &Path) -> Result<Programs> {
    let target = target_folder(root)?;
    let folder = target.join("bench");
    let peers = root.join("benches/peers");
    for name in ["server", "clientgo"] {
        println!("building {name} (Go)");
        shell::run(
            Command::new("go")
                .current_dir(&peers)
                .args(["build", "-o"])
                .arg(folder.join(name))
                .arg(format!("./{name}")),
        )?;
    }
    println!("building kubers (kube-rs)");
    shell::run(
        shell::cargo()
            .current_dir(peers.join("kubers"))
            .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
            .arg(folder.join("kubers")),
    )?;
    println!("building bench_client (ours)");
    shell::run(shell::cargo().current_dir(root).args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "informers-benches",
        "--bin",
        "bench_client",
    ]))?;
    Ok(Programs {
        server: folder.join("server"),
        client_go: folder.join("clientgo"),
        kube_rs: folder.join("kubers/release/kubers"),
        ours: target.join("release/bench_client"),
    })
}

/// Built before, by their own names.
pub(super) fn in_folder(folder: &Path) -> Programs {
    Programs {
        server: folder.join("server"),
        client_go: folder.join("clientgo"),
        kube_rs: folder.join("kubers"),
        ours: folder.join("bench_client"),
    }
}

fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = shell::read(shell::cargo().current_dir(root).args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        folder.context("cargo names no target folder")?,
    ))
}
