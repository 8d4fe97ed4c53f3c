//! Manifests, crate READMEs and versions: what one says the others say too.

use super::Violation;
use super::markdown;
use crate::workspace::{Package, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let folder = workspace.folder(package);
        if !folder.starts_with("crates/") {
            continue;
        }
        let readme = workspace.text(&format!("{folder}/README.md"));
        violations.extend(check_readme(&folder, &package.name, readme.as_deref()));
        let manifest = workspace.text(&format!("{folder}/Cargo.toml"));
        violations.extend(check_keys(&folder, &manifest.unwrap_or_default()));
        if workspace.text(&format!("{folder}/src/lib.rs")).is_none() {
            let message = "every crate is a library";
            violations.push(Violation::new(&format!("{folder}/src/lib.rs"), 1, message));
        }
    }
    let root = workspace.text("Cargo.toml").unwrap_or_default();
    violations.extend(check_versions(&root, &workspace.packages));
    if let Some(package) = workspace.packages.first() {
        for (path, text) in workspace.texts(".md") {
            violations.extend(check_mentions(path, &text, package));
        }
    }
    violations
}

fn check_readme(folder: &str, name: &str, text: Option<&str>) -> Option<Violation> {
    let path = format!("{folder}/README.md");
    let Some(text) = text else {
        return Some(Violation::new(&path, 1, format!("{name} has no README.md")));
    };
    match markdown::headings(text).first() {
        Some((_, 1, title)) if *title == name => None,
        Some((line, ..)) => Some(Violation::new(
            &path,
            *line,
            format!("the first heading is the package's name: # {name}"),
        )),
        None => Some(Violation::new(&path, 1, format!("no heading # {name}"))),
    }
}

/// A published crate says what crates.io and docs.rs need.
fn check_keys(folder: &str, manifest: &str) -> Vec<Violation> {
    let path = format!("{folder}/Cargo.toml");
    [
        "description",
        "license",
        "rust-version",
        "documentation",
        "readme",
    ]
    .into_iter()
    .filter(|key| !manifest.lines().any(|line| line.starts_with(key)))
    .map(|key| Violation::new(&path, 1, format!("the manifest lacks {key}")))
    .collect()
}

/// All members have one version, and the root manifest asks for it.
fn check_versions(root: &str, packages: &[Package]) -> Vec<Violation> {
    let Some(version) = packages.first().map(|package| &package.version) else {
        return Vec::new();
    };
    let mut violations: Vec<Violation> = packages
        .iter()
        .filter(|package| package.version != *version)
        .map(|package| {
            let message = format!(
                "{} has version {}, not {version}",
                package.name, package.version
            );
            Violation::new("Cargo.toml", 1, message)
        })
        .collect();
    for (index, line) in root.lines().enumerate() {
        if line.contains("path = \"crates/") && !line.contains(&format!("version = \"{version}\""))
        {
            let message = format!("a dependency on a member asks for version {version}");
            violations.push(Violation::new("Cargo.toml", index + 1, message));
        }
    }
    violations
}

/// A document that names our version or the oldest Rust names the right one.
fn check_mentions(path: &str, text: &str, package: &Package) -> Vec<Violation> {
    let mut violations = Vec::new();
    let minor = package
        .version
        .rsplit_once('.')
        .map_or("", |(minor, _)| minor);
    for fence in markdown::fences(text) {
        if fence.language != "toml" {
            continue;
        }
        for (line, content) in fence.lines {
            let Some((key, value)) = content.split_once('=') else {
                continue;
            };
            let ours = key.trim() == "informers" || key.trim().starts_with("informers-");
            let named = value.split('"').nth(1).unwrap_or_default();
            let is_version = named.starts_with(|c: char| c.is_ascii_digit());
            if ours && is_version && named != minor && named != package.version {
                let message = format!("the version is {}, not {named}", package.version);
                violations.push(Violation::new(path, line, message));
            }
        }
    }
    let Some(rust_version) = &package.rust_version else {
        return violations;
    };
    if path == "README.md" {
        for (line, content) in markdown::prose(text) {
            for rest in content.split("Rust 1.").skip(1) {
                let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let named = format!("1.{minor}");
                if named != *rust_version {
                    let message = format!("the oldest Rust is {rust_version}, not {named}");
                    violations.push(Violation::new(path, line, message));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests;
