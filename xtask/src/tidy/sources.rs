//! What every Rust file keeps to: docs at its top, a length a reader can hold.

use super::Violation;
use crate::workspace::Workspace;

const MAX_LINES: usize = 600;

/// Files that may be longer, each with the reason.
const LONGER: &[(&str, &str)] = &[];

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut violations: Vec<Violation> = workspace
        .texts(".rs")
        .filter_map(|(path, text)| check_file(path, &text, LONGER))
        .collect();
    for (path, reason) in LONGER {
        if !workspace.files.iter().any(|file| file == path) {
            let message = format!("allowed to be long ({reason}) but no longer there");
            violations.push(Violation::new(path, 1, message));
        }
    }
    violations
}

fn check_file(path: &str, text: &str, longer: &[(&str, &str)]) -> Option<Violation> {
    let lines = text.lines().count();
    // A page taken in as the docs says it just as well.
    if !text.starts_with("//!") && !text.starts_with("#![doc = include_str!(") {
        return Some(Violation::new(
            path,
            1,
            "starts without a //! line that says what it holds",
        ));
    }
    let allowed = longer.iter().any(|(file, _)| *file == path);
    (lines > MAX_LINES && !allowed).then(|| {
        let message = format!("{lines} lines; {MAX_LINES} is the most: one concept a file");
        Violation::new(path, MAX_LINES + 1, message)
    })
}

#[cfg(test)]
mod tests;
