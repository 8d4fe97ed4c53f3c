//! Names of the code in docs/architecture.md: each is still a name of the code.

use std::collections::HashSet;

use super::Violation;
use super::markdown;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/architecture.md";

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let Some(document) = workspace.text(DOCUMENT) else {
        return Vec::new();
    };
    let mut known = HashSet::new();
    for suffix in [".rs", "Cargo.toml"] {
        for (path, text) in workspace.texts(suffix) {
            if !path.starts_with("xtask/") {
                known.extend(code(&text).flat_map(words).map(str::to_owned));
            }
        }
    }
    check_document(&document, &known)
}

/// Compares words in backticks that look like names of types and functions.
fn check_document(document: &str, known: &HashSet<String>) -> Vec<Violation> {
    markdown::prose(document)
        .into_iter()
        .flat_map(|(line, content)| {
            markdown::code_spans(content)
                .flat_map(words)
                .filter(|word| is_name(word) && !known.contains(*word))
                .map(move |word| {
                    let message = format!("`{word}` is no name of the code");
                    Violation::new(DOCUMENT, line, message)
                })
        })
        .collect()
}

/// The lines of a source that are not comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Whether a word can only be meant as a name: `DeltaFifo`, `queue_action`, not `tokio`.
fn is_name(word: &str) -> bool {
    let camel = word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().any(|c| c.is_ascii_lowercase());
    camel || word.trim_matches('_').contains('_')
}

#[cfg(test)]
mod tests;
