//! The layer table of docs/architecture.md against the real dependency graph.
//!
//! The document is the only place that says which crate lies where and what it may
//! not know; names in backticks in its last column are packages a crate must not
//! depend on. Only normal dependencies count: tests may look anywhere.

use std::collections::HashMap;

use super::Violation;
use super::markdown::{self, Row};
use crate::workspace::{Package, Workspace};

const DOCUMENT: &str = "docs/architecture.md";
const HEADER: [&str; 4] = ["layer", "crate folder", "holds", "may not know"];

/// Where a crate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// May see crates of lower layers only.
    Number(u8),
    /// Sees none of ours, so that it shares no mistake with what it is used to test.
    Apart,
    /// Sees all crates; no crate sees it.
    Top,
}

/// One row of the table.
#[derive(Debug)]
struct Entry<'a> {
    line: usize,
    layer: Layer,
    /// Relative to the root.
    folder: String,
    forbidden: Vec<&'a str>,
}

/// A member of the workspace as far as this rule looks at it.
#[derive(Debug)]
struct Member<'a> {
    name: &'a str,
    folder: String,
    /// The normal dependencies.
    dependencies: Vec<&'a str>,
    manifest: String,
}

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let Some(document) = workspace.text(DOCUMENT) else {
        return vec![Violation::new(
            DOCUMENT,
            1,
            "the layer table's document is missing",
        )];
    };
    let members: Vec<Member<'_>> = workspace
        .packages
        .iter()
        .map(|package| member(workspace, package))
        .collect();
    check_document(&document, &members)
}

fn member<'a>(workspace: &Workspace, package: &'a Package) -> Member<'a> {
    let folder = workspace.folder(package);
    Member {
        name: &package.name,
        dependencies: package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind.is_none())
            .map(|dependency| dependency.name.as_str())
            .collect(),
        manifest: workspace
            .text(&format!("{folder}/Cargo.toml"))
            .unwrap_or_default(),
        folder,
    }
}

fn check_document(document: &str, members: &[Member<'_>]) -> Vec<Violation> {
    let Some((line, rows)) = markdown::table(document, &HEADER) else {
        return vec![Violation::new(
            DOCUMENT,
            1,
            format!("no table with the header | {} |", HEADER.join(" | ")),
        )];
    };
    let mut violations = Vec::new();
    let mut entries: HashMap<String, Entry<'_>> = HashMap::new();
    for row in &rows {
        match entry(row) {
            Ok(entry) => {
                if !members.iter().any(|member| member.folder == entry.folder) {
                    let message = format!("{} is not a member of the workspace", entry.folder);
                    violations.push(Violation::new(DOCUMENT, row.line, message));
                }
                if let Some(first) = entries.insert(entry.folder.clone(), entry) {
                    let message = format!("{} stands in line {} already", first.folder, first.line);
                    violations.push(Violation::new(DOCUMENT, row.line, message));
                }
            }
            Err(message) => violations.push(Violation::new(DOCUMENT, row.line, message)),
        }
    }
    for member in members {
        match entries.get(&member.folder) {
            Some(entry) => violations.extend(check_member(member, entry, members, &entries)),
            None => violations.push(Violation::new(
                DOCUMENT,
                line,
                format!("the layer table has no row for {}", member.folder),
            )),
        }
    }
    violations
}

fn entry<'a>(row: &Row<'a>) -> Result<Entry<'a>, String> {
    let [layer, folder, _, may_not_know] = row.cells[..] else {
        return Err(format!(
            "a row of {} cells in a table of 4",
            row.cells.len()
        ));
    };
    let layer = match layer {
        "apart" => Layer::Apart,
        "top" => Layer::Top,
        number => number
            .parse()
            .map(Layer::Number)
            .map_err(|_| format!("`{number}` is neither a layer's number nor apart nor top"))?,
    };
    let name = markdown::code_spans(folder)
        .next()
        .ok_or("the crate folder stands in backticks")?;
    Ok(Entry {
        line: row.line,
        layer,
        folder: match layer {
            Layer::Top => name.to_owned(),
            Layer::Number(_) | Layer::Apart => format!("crates/{name}"),
        },
        forbidden: markdown::code_spans(may_not_know).collect(),
    })
}

fn check_member(
    member: &Member<'_>,
    entry: &Entry<'_>,
    members: &[Member<'_>],
    entries: &HashMap<String, Entry<'_>>,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let Some(expected) = package_name(&member.folder).filter(|name| *name != member.name) {
        violations.push(Violation::new(
            &format!("{}/Cargo.toml", member.folder),
            line_of(&member.manifest, "name"),
            format!("the package of this folder is called {expected}"),
        ));
    }
    let mut dependencies = member.dependencies.clone();
    dependencies.sort_unstable();
    dependencies.dedup();
    for dependency in dependencies {
        let target = members
            .iter()
            .find(|other| other.name == dependency)
            .and_then(|other| entries.get(&other.folder));
        let reason = if entry.forbidden.contains(&dependency) {
            Some(format!(
                "may not know {dependency} ({DOCUMENT}:{})",
                entry.line
            ))
        } else {
            target.and_then(|target| refusal(entry.layer, target.layer))
        };
        if let Some(reason) = reason {
            violations.push(Violation::new(
                &format!("{}/Cargo.toml", member.folder),
                line_of(&member.manifest, dependency),
                format!("{} depends on {dependency}: {reason}", member.name),
            ));
        }
    }
    violations
}

/// Why a crate of layer `from` must not see one of layer `to`; `None` where it may.
fn refusal(from: Layer, to: Layer) -> Option<String> {
    match (from, to) {
        (Layer::Top, Layer::Number(_) | Layer::Apart) => None,
        (Layer::Number(from), Layer::Number(to)) if to < from => None,
        (Layer::Number(from), Layer::Number(to)) => {
            Some(format!("layer {from} sees layers below it, not layer {to}"))
        }
        (Layer::Apart, _) => Some("it stands apart and imports none of ours".to_owned()),
        (_, Layer::Apart) => Some("only tests use what stands apart".to_owned()),
        (_, Layer::Top) => Some("nothing depends on the top".to_owned()),
    }
}

/// The name the package of a folder under `crates/` has.
fn package_name(folder: &str) -> Option<String> {
    let name = folder.strip_prefix("crates/")?;
    Some(match name {
        "informers" => name.to_owned(),
        other => format!("informers-{other}"),
    })
}

/// The line of a manifest whose key is `key`; the first where there is none.
fn line_of(manifest: &str, key: &str) -> usize {
    manifest
        .lines()
        .position(|line| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        })
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests;
