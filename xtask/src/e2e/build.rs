//! kube-apiserver and etcd built from their Go modules.
//!
//! `k8s.io/kubernetes` is a module like any other, but its go.mod replaces the
//! staging modules (`k8s.io/api`, …) by folders that only its repository has. A
//! module of our own repeats those replacements with the published versions.

use std::fs;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::cache;
use super::versions::{ETCD, Kubernetes};
use crate::shell;

const KUBERNETES: &str = "k8s.io/kubernetes";
const COMPONENT_VERSION: &str = "k8s.io/component-base/version";

/// How often progress is said where it cannot overwrite itself.
const PROGRESS: Duration = Duration::from_secs(15);

/// The two programs of a control plane.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) apiserver: PathBuf,
    pub(super) etcd: PathBuf,
}

/// What is built: a program of a Go module in a module of our own.
struct Recipe {
    name: &'static str,
    package: &'static str,
    linker_flags: String,
    /// Files of our module, by name.
    files: Vec<(&'static str, String)>,
}

/// Builds what the cache does not hold.
pub(super) fn programs(version: Kubernetes) -> Result<Programs> {
    let cache = cache::folder()?;
    Ok(Programs {
        etcd: program(&cache.join("etcd").join(format!("v{ETCD}")), "etcd", || {
            Ok(etcd_recipe())
        })?,
        apiserver: program(
            &cache.join("kubernetes").join(version.module()),
            "kube-apiserver",
            || apiserver_recipe(version),
        )?,
    })
}

/// The program `name` in `folder`, built first where it is not there.
fn program(folder: &Path, name: &str, recipe: impl FnOnce() -> Result<Recipe>) -> Result<PathBuf> {
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    let _lock = cache::lock(folder)?;
    if program.is_file() {
        return Ok(program);
    }
    let module = folder.join("module");
    fs::create_dir_all(&module).with_context(|| format!("cannot create {}", module.display()))?;
    let recipe = recipe()?;
    for (name, text) in &recipe.files {
        let path = module.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let unfinished = program.with_extension("unfinished");
    build(&recipe, &module, &unfinished)?;
    // The name appears at once and complete, or not at all.
    fs::rename(&unfinished, &program)
        .with_context(|| format!("cannot rename {}", unfinished.display()))?;
    Ok(program)
}

fn build(recipe: &Recipe, module: &Path, output: &Path) -> Result<()> {
    println!(
        "building {} in {} (some minutes when the Go cache is cold)",
        recipe.name,
        module.display()
    );
    let mut command = go(module);
    command
        .args([
            "build",
            "-v",
            "-mod=mod",
            "-ldflags",
            &recipe.linker_flags,
            "-o",
        ])
        .arg(output)
        .arg(recipe.package)
        .stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run `{}`", shell::describe(&command)))?;
    let mut progress = Progress::new(recipe.name);
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines() {
            progress.line(&line.context("cannot read what go says")?);
        }
    }
    let status = child.wait().context("cannot wait for go")?;
    progress.finish();
    if !status.success() {
        bail!(
            "building {} failed with {status}:\n{}",
            recipe.name,
            progress.complaints.join("\n")
        );
    }
    println!("built {} in {} s", recipe.name, started.elapsed().as_secs());
    Ok(())
}

fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("GOWORK", "off")
        .env("GOFLAGS", "-buildvcs=false");
    command
}

fn etcd_recipe() -> Recipe {
    let main = "package main\n\n\
                import (\n\t\"os\"\n\n\t\"go.etcd.io/etcd/server/v3/etcdmain\"\n)\n\n\
                func main() { etcdmain.Main(os.Args) }\n";
    let module = format!(
        "module informers.test/etcd\n\ngo 1.24\n\nrequire go.etcd.io/etcd/server/v3 v{ETCD}\n"
    );
    Recipe {
        name: "etcd",
        package: ".",
        linker_flags: "-s -w".to_owned(),
        files: vec![("main.go", main.to_owned()), ("go.mod", module)],
    }
}

fn apiserver_recipe(version: Kubernetes) -> Result<Recipe> {
    Ok(Recipe {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        // Without them the server says it is v0.0.0.
        linker_flags: format!(
            "-s -w -X {COMPONENT_VERSION}.gitVersion={} -X {COMPONENT_VERSION}.gitMajor=1 \
             -X {COMPONENT_VERSION}.gitMinor={}",
            version.module(),
            version.minor()
        ),
        files: vec![("go.mod", wrap_module(&upstream_module(version)?, version))],
    })
}

/// The go.mod of `k8s.io/kubernetes`.
fn upstream_module(version: Kubernetes) -> Result<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Download {
        go_mod: PathBuf,
    }

    println!("fetching {KUBERNETES} {}", version.module());
    let folder = cache::folder()?;
    let answer = shell::read(go(&folder).args([
        "mod",
        "download",
        "-json",
        &format!("{KUBERNETES}@{}", version.module()),
    ]))?;
    let download: Download =
        serde_json::from_str(&answer).context("cannot read what `go mod download` printed")?;
    fs::read_to_string(&download.go_mod)
        .with_context(|| format!("cannot read {}", download.go_mod.display()))
}

/// A module that requires Kubernetes and replaces its staging modules by the published ones.
fn wrap_module(upstream: &str, version: Kubernetes) -> String {
    let keep = |word: &str| {
        upstream
            .lines()
            .find(|line| line.starts_with(word))
            .map(|line| format!("{line}\n\n"))
            .unwrap_or_default()
    };
    let replacements: String = upstream
        .lines()
        .filter_map(|line| {
            let (module, folder) = line
                .trim()
                .trim_start_matches("replace ")
                .split_once(" => ")?;
            folder
                .starts_with("./staging/")
                .then(|| format!("\t{module} => {module} {}\n", version.staging()))
        })
        .collect();
    format!(
        "module informers.test/kube-apiserver\n\n{}{}require {KUBERNETES} {}\n\n\
         replace (\n{replacements})\n",
        keep("go "),
        keep("godebug "),
        version.module()
    )
}

/// Progress of `go build -v`, which prints the name of each package it compiles.
struct Progress {
    name: &'static str,
    packages: usize,
    terminal: bool,
    said: Instant,
    /// What is no package: downloads are said at once, the rest is kept for the error.
    complaints: Vec<String>,
}

impl Progress {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            packages: 0,
            terminal: std::io::stdout().is_terminal(),
            said: Instant::now(),
            complaints: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        if !is_package(line) {
            if !line.starts_with("go: downloading ") {
                self.complaints.push(line.to_owned());
            }
            return;
        }
        self.packages += 1;
        if self.terminal {
            print!("\r\x1b[K{}: {} packages, {line}", self.name, self.packages);
        } else if self.said.elapsed() >= PROGRESS {
            println!("{}: {} packages, {line}", self.name, self.packages);
            self.said = Instant::now();
        }
    }

    fn finish(&self) {
        if self.terminal {
            print!("\r\x1b[K");
        }
        println!("{}: {} packages compiled", self.name, self.packages);
    }
}

/// Whether a line of `go build -v` is the import path of a package.
fn is_package(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#') && !line.contains([' ', ':'])
}

#[cfg(test)]
mod tests;
