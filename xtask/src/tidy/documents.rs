//! README, changelog and links: what a reader is told can be run and found.

use std::path::{Component, Path};

use super::Violation;
use super::markdown;
use crate::workspace::Workspace;

/// The commands of cargo a document may name.
const CARGO_COMMANDS: &[&str] = &[
    "add", "bench", "build", "check", "clippy", "doc", "fmt", "install", "package", "run", "test",
];

/// What can be named on cargo's command line.
struct Catalog {
    packages: Vec<String>,
    examples: Vec<String>,
    binaries: Vec<String>,
    /// The subcommands of `cargo xtask`.
    tasks: Vec<String>,
    /// The lines of `.ci/run`.
    ci: String,
}

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let catalog = Catalog::new(workspace);
    let mut violations = Vec::new();
    match workspace.text("README.md") {
        Some(readme) => {
            violations.extend(check_commands("README.md", &readme, &catalog));
            violations.extend(check_crate_map(&readme, &published(workspace)));
        }
        None => violations.push(Violation::new("README.md", 1, "there is no README.md")),
    }
    if let Some(contributing) = workspace.text("CONTRIBUTING.md") {
        violations.extend(check_commands("CONTRIBUTING.md", &contributing, &catalog));
    }
    let version = workspace
        .packages
        .first()
        .map(|package| package.version.as_str());
    violations.extend(check_changelog(
        workspace.text("CHANGELOG.md").as_deref(),
        version.unwrap_or_default(),
    ));
    for (path, text) in workspace.texts(".md") {
        violations.extend(check_links(path, &text, |target| {
            workspace.root.join(target).exists()
        }));
    }
    violations
}

impl Catalog {
    fn new(workspace: &Workspace) -> Self {
        let targets = |kind: &str| {
            workspace
                .packages
                .iter()
                .flat_map(|package| &package.targets)
                .filter(|target| target.kind.iter().any(|other| other == kind))
                .map(|target| target.name.clone())
                .collect()
        };
        Self {
            packages: workspace
                .packages
                .iter()
                .map(|package| package.name.clone())
                .collect(),
            examples: targets("example"),
            binaries: targets("bin"),
            tasks: crate::task_names(),
            ci: workspace.text(".ci/run").unwrap_or_default(),
        }
    }

    /// What is wrong with `command`; `None` where it can be run.
    fn refusal(&self, command: &str) -> Option<String> {
        if self.ci.lines().any(|line| line.trim() == command) || command == ".ci/run" {
            return None;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["cargo", "xtask", task, ..] => (!self.tasks.iter().any(|name| name == task))
                .then(|| format!("cargo xtask has no command {task}")),
            ["cargo", name, rest @ ..] if CARGO_COMMANDS.contains(name) => rest
                .windows(2)
                .find_map(|pair| self.missing(pair[0], pair[1])),
            ["git", "clone", ..] | ["cd", _] => None,
            _ => Some(format!(
                "`{command}` is neither a cargo command nor in .ci/run"
            )),
        }
    }

    fn missing(&self, option: &str, name: &str) -> Option<String> {
        let (kind, names) = match option {
            "-p" | "--package" => ("package", &self.packages),
            "--example" => ("example", &self.examples),
            "--bin" => ("binary", &self.binaries),
            _ => return None,
        };
        (!names.iter().any(|known| known == name)).then(|| format!("there is no {kind} {name}"))
    }
}

/// Name and folder of each crate under `crates/`.
fn published(workspace: &Workspace) -> Vec<(String, String)> {
    workspace
        .packages
        .iter()
        .map(|package| (package.name.clone(), workspace.folder(package)))
        .filter(|(_, folder)| folder.starts_with("crates/"))
        .collect()
}

fn check_commands(path: &str, text: &str, catalog: &Catalog) -> Vec<Violation> {
    markdown::fences(text)
        .into_iter()
        .filter(|fence| fence.language == "sh")
        .flat_map(|fence| fence.lines)
        .filter_map(|(line, content)| {
            let command = content.split(" #").next().unwrap_or_default().trim();
            let command = command.strip_prefix("$ ").unwrap_or(command);
            if command.is_empty() || command.starts_with('#') {
                return None;
            }
            let message = catalog.refusal(command)?;
            Some(Violation::new(path, line, message))
        })
        .collect()
}

/// The README's map names every crate, in backticks or as a link to its folder.
fn check_crate_map(readme: &str, crates: &[(String, String)]) -> Vec<Violation> {
    crates
        .iter()
        .filter(|(name, folder)| {
            !readme.contains(&format!("`{name}`")) && !readme.contains(&format!("]({folder}"))
        })
        .map(|(name, _)| Violation::new("README.md", 1, format!("the crate map lacks `{name}`")))
        .collect()
}

fn check_changelog(text: Option<&str>, version: &str) -> Option<Violation> {
    let Some(text) = text else {
        return Some(Violation::new(
            "CHANGELOG.md",
            1,
            "there is no CHANGELOG.md",
        ));
    };
    let known = markdown::headings(text).iter().any(|(_, level, title)| {
        let name = title.trim_start_matches('[');
        *level == 2 && (name.starts_with("Unreleased") || name.starts_with(version))
    });
    (!known).then(|| {
        let message = format!("no heading ## Unreleased or ## {version}");
        Violation::new("CHANGELOG.md", 1, message)
    })
}

/// Links to files of the checkout lead somewhere.
fn check_links(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    markdown::links(text)
        .into_iter()
        .filter_map(|(line, link)| {
            let target = link.split(['#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains(':') {
                return None;
            }
            let target = resolve(path, target);
            (!exists(&target))
                .then(|| Violation::new(path, line, format!("{target} does not exist")))
        })
        .collect()
}

/// `link` as seen from the root, where `path` holds it.
fn resolve(path: &str, link: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let joined = Path::new(path).parent().unwrap_or(Path::new("")).join(link);
    for part in joined.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
