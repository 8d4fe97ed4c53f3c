//! The rule table of docs/parity.md: each rule of client-go has its row, and what a row is
//! shown by exists.

use std::collections::HashSet;

use super::Violation;
use super::markdown;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/parity.md";
const HEADER: [&str; 4] = ["rule", "in short", "informers", "shown by"];
const VERDICTS: [&str; 3] = ["same", "different", "not applicable"];

/// The letters of the rules, and how many there are of each.
const RULES: [(&str, usize); 12] = [
    ("D", 7),
    ("R", 14),
    ("S", 16),
    ("Y", 7),
    ("L", 5),
    ("W", 8),
    ("A", 10),
    ("X", 5),
    ("F", 5),
    ("V", 4),
    ("M", 4),
    ("Q", 10),
];

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let Some(document) = workspace.text(DOCUMENT) else {
        return vec![Violation::new(DOCUMENT, 1, "the document is missing")];
    };
    let mut known = HashSet::new();
    for (path, text) in workspace.texts(".rs") {
        if !path.starts_with("xtask/") {
            known.extend(functions(&text).map(str::to_owned));
        }
    }
    for (path, text) in workspace.texts(".txt") {
        if path.starts_with("tests/conformance/") {
            known.extend(played(&text).map(str::to_owned));
        }
    }
    check_document(&document, &known)
}

/// The names of functions.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (_, rest) = line.trim_start().split_once("fn ")?;
        rest.split(['(', '<']).next()
    })
}

/// The names of traces and scripts.
fn played(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        line.strip_prefix("script ")
            .or_else(|| line.strip_prefix("trace "))
            .map(str::trim)
    })
}

fn check_document(document: &str, known: &HashSet<String>) -> Vec<Violation> {
    let Some((line, rows)) = markdown::table(document, &HEADER) else {
        let message = format!("no table with the header | {} |", HEADER.join(" | "));
        return vec![Violation::new(DOCUMENT, 1, message)];
    };
    let mut violations = Vec::new();
    let mut listed = HashSet::new();
    for row in &rows {
        let [rule, _, verdict, shown_by] = row.cells[..] else {
            violations.push(Violation::new(DOCUMENT, row.line, "a row has four cells"));
            continue;
        };
        if !listed.insert(rule.to_owned()) {
            violations.push(Violation::new(DOCUMENT, row.line, format!("{rule} twice")));
        }
        let word = verdict.split([':', ';']).next().unwrap_or_default().trim();
        if !VERDICTS.contains(&word) {
            let message = format!("{rule}: {word:?} is none of {}", VERDICTS.join(", "));
            violations.push(Violation::new(DOCUMENT, row.line, message));
        }
        let names: Vec<&str> = markdown::code_spans(shown_by).collect();
        if names.is_empty() && word != "not applicable" {
            let message = format!("{rule} is shown by nothing");
            violations.push(Violation::new(DOCUMENT, row.line, message));
        }
        for name in names.into_iter().filter(|name| !known.contains(*name)) {
            let message = format!("{rule}: there is no test, trace or script `{name}`");
            violations.push(Violation::new(DOCUMENT, row.line, message));
        }
    }
    for (letter, count) in RULES {
        for number in 1..=count {
            let rule = format!("{letter}{number}");
            if !listed.contains(&rule) {
                let message = format!("the table has no row for {rule}");
                violations.push(Violation::new(DOCUMENT, line, message));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(rows: &str) -> String {
        let mut rest = String::new();
        for (letter, count) in RULES {
            for number in 1..=count {
                let rule = format!("{letter}{number}");
                if !rows.contains(&format!("| {rule} |")) {
                    rest += "| ";
                    rest += &rule;
                    rest += " | x | not applicable | |\n";
                }
            }
        }
        format!(
            "| {} |\n|---|---|---|---|\n{rows}{rest}",
            HEADER.join(" | ")
        )
    }

    fn messages(document: &str) -> Vec<String> {
        let known = ["a_test".to_owned(), "a-script".to_owned()].into();
        check_document(document, &known)
            .into_iter()
            .map(|violation| violation.message)
            .collect()
    }

    #[test]
    fn tests_traces_and_scripts_are_known_by_name() {
        let source = "    async fn a_test() {\n    pub(super) fn generic<T>(t: T) {}\n";
        assert_eq!(functions(source).collect::<Vec<_>>(), ["a_test", "generic"]);
        let scripts = "script a-script\ncreate a\ntrace a-trace\n";
        assert_eq!(played(scripts).collect::<Vec<_>>(), ["a-script", "a-trace"]);
    }

    #[test]
    fn table_of_every_rule_with_existing_tests_passes() {
        let rows =
            "| D1 | x | same | `a_test`, `a-script` |\n| D2 | y | different: z | `a_test` |\n";
        assert_eq!(messages(&document(rows)), Vec::<String>::new());
    }

    #[test]
    fn missing_rule_test_and_verdict_are_each_found() {
        let rows =
            "| D1 | x | same | `gone` |\n| D2 | x | perhaps | `a_test` |\n| D3 | x | same | |\n";
        let found = messages(&document(rows).replace("| Q10 |", "| Q9 |"));
        for expected in [
            "D1: there is no test, trace or script `gone`",
            "D2: \"perhaps\" is none of same, different, not applicable",
            "D3 is shown by nothing",
            "Q9 twice",
            "the table has no row for Q10",
        ] {
            assert!(found.iter().any(|message| message == expected), "{found:?}");
        }
    }
}
