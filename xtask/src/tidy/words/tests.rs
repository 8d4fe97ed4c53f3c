//! Tests of the word list; the words are joined here so that this file passes the rule.

use super::*;

#[test]
fn path_of_one_machine_is_found_with_its_line() {
    let text = format!("first\nsee {}{}main\n", "/wo", "rk/");
    assert_eq!(
        check_text("docs/a.md", &text),
        [Violation::new(
            "docs/a.md",
            2,
            format!("{}{} is a path of one machine", "/wo", "rk/")
        )]
    );
}

#[test]
fn folder_of_that_name_inside_a_longer_path_is_accepted() {
    for before in ["target", "a/..", "${DIR}", "$(pwd)"] {
        let text = format!("{before}{}{}file\n", "/ro", "ot/");
        assert_eq!(check_text("a.md", &text), [], "{text}");
    }
}

#[test]
fn mark_of_unfinished_work_counts_in_rust_files_only() {
    let text = format!("// {}{}: later\n", "TO", "DO");
    assert_eq!(check_text("a.md", &text), []);
    assert_eq!(check_text("a.rs", &text).len(), 1);
}

#[test]
fn longer_name_that_holds_the_word_is_accepted() {
    let text = format!("const {}{}_LIST: u8 = 1;\n", "TO", "DO");
    assert_eq!(check_text("a.rs", &text), []);
}
