//! The field table of docs/authentication.md: each field of a kubeconfig that the code reads
//! has its place in it, and each test that the page names exists.

use super::Violation;
use super::markdown;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/authentication.md";
const HEADER: [&str; 3] = ["field", "supported", "tested by"];
const SOURCES: &str = "crates/rest/src/";
/// Where fields of a kubeconfig are read.
const READERS: [&str; 3] = [
    "config/kubeconfig.rs",
    "config/resolve.rs",
    "credentials/oidc.rs",
];
/// The calls that read one: its name is the first text that is handed over.
const CALLS: [&str; 10] = [
    ".string(\"",
    ".bool(\"",
    ".data(\"",
    ".path(\"",
    ".strings(\"",
    ".list(\"",
    ".fields(\"",
    "pem(fields, \"",
    "entries(\"",
    "required(\"",
];
/// Stands for the module of the name before.
const SAME_MODULE: &str = "…::";

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let Some(document) = workspace.text(DOCUMENT) else {
        return vec![Violation::new(DOCUMENT, 1, "the document is missing")];
    };
    let source = |file: &str| workspace.text(&format!("{SOURCES}{file}"));
    let mut violations = check_tests(&document, source);
    for file in READERS {
        if let Some(text) = source(file) {
            violations.extend(check_fields(&document, file, &text));
        } else {
            let message = format!("{SOURCES}{file} is missing: where are fields read?");
            violations.push(Violation::new(DOCUMENT, 1, message));
        }
    }
    violations
}

/// The tests and modules that the page names are there.
fn check_tests(document: &str, source: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    let Some((_, rows)) = markdown::table(document, &HEADER) else {
        let message = format!("no table with the header | {} |", HEADER.join(" | "));
        return vec![Violation::new(DOCUMENT, 1, message)];
    };
    let mut names: Vec<(usize, &str)> = Vec::new();
    for row in &rows {
        let cell = row.cells.get(2).copied().unwrap_or_default();
        names.extend(markdown::code_spans(cell).map(|name| (row.line, name)));
    }
    let in_table: Vec<usize> = rows.iter().map(|row| row.line).collect();
    for (line, content) in markdown::prose(document) {
        if !in_table.contains(&line) {
            let spans = markdown::code_spans(content).filter(|span| span.contains("::tests"));
            names.extend(spans.map(|name| (line, name)));
        }
    }
    let mut violations = Vec::new();
    let mut module = String::new();
    for (line, name) in names {
        let full = match name.strip_prefix(SAME_MODULE) {
            Some(rest) => format!("{module}::{rest}"),
            None => name.to_owned(),
        };
        if let Some(found) = module_of(&full, &source) {
            module = found;
        } else {
            let message = format!("there is no test or module `{full}`");
            violations.push(Violation::new(DOCUMENT, line, message));
        }
    }
    violations
}

/// The module that a name is, or is a function of; `None` if there is none of that name. A `*`
/// at the end stands for any.
fn module_of(name: &str, source: impl Fn(&str) -> Option<String>) -> Option<String> {
    let file = |module: &str| source(&format!("{}.rs", module.replace("::", "/")));
    if file(name).is_some() {
        return Some(name.to_owned());
    }
    let (module, function) = name.rsplit_once("::")?;
    let text = file(module)?;
    let wanted = match function.strip_suffix('*') {
        Some(beginning) => format!("fn {beginning}"),
        None => format!("fn {function}("),
    };
    text.contains(&wanted).then(|| module.to_owned())
}

/// The fields that a source file reads are in the table's first column.
fn check_fields(document: &str, file: &str, text: &str) -> Vec<Violation> {
    let rows = markdown::table(document, &HEADER).map_or_else(Vec::new, |(_, rows)| rows);
    let listed: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.cells.first())
        .flat_map(|cell| markdown::code_spans(cell))
        .flat_map(|span| span.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        .collect();
    fields(text)
        .filter(|field| !listed.contains(field))
        .map(|field| {
            let message = format!("the table lacks `{field}`, which {SOURCES}{file} reads");
            Violation::new(DOCUMENT, 1, message)
        })
        .collect()
}

/// The names of the fields that source text reads.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    CALLS.iter().flat_map(move |call| {
        text.split(call)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| field | supported | tested by |
|---|---|---|
| `clusters[].cluster.server`, `client-key(-data)` | yes | `config::tests::one`, `…::two_*` |
| `token` | yes | `…::one`, `tls` |

Prose of `config::tests::one` and `Config::infer`.
";

    fn source(file: &str) -> Option<String> {
        let text = match file {
            "config/tests.rs" => "async fn one() {}\nfn two_of_them() {}\n",
            "tls.rs" => "",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn messages(violations: Vec<Violation>) -> Vec<String> {
        violations.into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn names_of_tests_and_modules_that_exist_pass() {
        assert_eq!(check_tests(PAGE, source), []);
    }

    #[test]
    fn names_that_do_not_exist_are_found_in_table_and_prose() {
        let page = PAGE
            .replace("…::two_*", "…::three_*")
            .replace("`tls`", "`gone`")
            .replace("of `config::tests::one`", "of `config::tests::on`");
        assert_eq!(
            messages(check_tests(&page, source)),
            [
                "there is no test or module `config::tests::three_*`",
                "there is no test or module `gone`",
                "there is no test or module `config::tests::on`",
            ]
        );
        let none = messages(check_tests("", source));
        assert_eq!(
            none,
            ["no table with the header | field | supported | tested by |"]
        );
    }

    #[test]
    fn fields_that_are_read_are_to_be_in_the_table() {
        let read = r#"fields.string("server")? pem(fields, "client-key") entries("clusters", "x")"#;
        assert_eq!(check_fields(PAGE, "a.rs", read), []);
        let read = r#"fields.bool("insecure")? fields.string("token")"#;
        assert_eq!(
            messages(check_fields(PAGE, "a.rs", read)),
            ["the table lacks `insecure`, which crates/rest/src/a.rs reads"]
        );
    }
}
