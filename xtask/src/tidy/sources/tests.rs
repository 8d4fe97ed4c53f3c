//! Tests of the rules for Rust files.

use super::*;

#[test]
fn file_with_module_docs_is_accepted() {
    assert_eq!(check_file("a.rs", "//! A.\n\nfn a() {}\n", &[]), None);
}

#[test]
fn file_without_module_docs_is_refused() {
    for text in ["fn a() {}\n", "// A.\n", "", "\n//! A.\n"] {
        let violation = check_file("a.rs", text, &[]).expect("a violation");
        assert_eq!((violation.path.as_str(), violation.line), ("a.rs", 1));
    }
}

#[test]
fn file_of_600_lines_is_accepted_and_of_601_refused() {
    let file = |lines: usize| format!("//! A.\n{}", "\n".repeat(lines - 1));
    assert_eq!(check_file("a.rs", &file(600), &[]), None);
    let violation = check_file("a.rs", &file(601), &[]).expect("a violation");
    assert_eq!(violation.line, 601);
    assert_eq!(check_file("a.rs", &file(601), &[("a.rs", "a table")]), None);
}
