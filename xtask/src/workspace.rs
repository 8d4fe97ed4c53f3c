//! What the commands know about the checkout: its files and its packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::shell;

/// The checkout this command was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Where the root manifest is.
    pub(crate) root: PathBuf,
    /// Tracked and not yet tracked (but not ignored) files, relative, with `/`.
    pub(crate) files: Vec<String>,
    /// The member packages.
    pub(crate) packages: Vec<Package>,
}

/// One member, as `cargo metadata` describes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) rust_version: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// A declared dependency.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// Something cargo builds: a library, a binary, an example, a test.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

impl Workspace {
    /// Asks git for the files and cargo for the packages.
    pub(crate) fn load() -> Result<Self> {
        let root = root()?;
        let listing = shell::read(Command::new("git").current_dir(&root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut files: Vec<String> = listing
            .split('\0')
            .filter(|file| !file.is_empty() && root.join(file).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        let metadata = shell::read(shell::cargo().current_dir(&root).args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
        ]))?;
        let metadata: Metadata =
            serde_json::from_str(&metadata).context("cannot read what `cargo metadata` printed")?;
        Ok(Self {
            root,
            files,
            packages: metadata.packages,
        })
    }

    /// The text of a file; `None` where it is missing or not text.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.root.join(file)).ok()
    }

    /// The files that end with `suffix`, each with its text.
    pub(crate) fn texts(&self, suffix: &str) -> impl Iterator<Item = (&str, String)> {
        self.files
            .iter()
            .filter(move |file| file.ends_with(suffix))
            .filter_map(|file| Some((file.as_str(), self.text(file)?)))
    }

    /// The folder of a member relative to the root, with `/`.
    pub(crate) fn folder(&self, package: &Package) -> String {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        folder
            .strip_prefix(&self.root)
            .unwrap_or(folder)
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    }
}

/// The folder of the root manifest.
pub(crate) fn root() -> Result<PathBuf> {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = xtask.parent().context("xtask lies in no folder")?;
    Ok(root.to_path_buf())
}
