//! Tests of the rule for names in the architecture document.

use super::*;

const SOURCE: &str = "\
//! GoneFifo lives in a comment only.
pub struct DeltaFifo;
impl DeltaFifo {
    fn queue_action(&mut self) {}
}
";

fn known() -> HashSet<String> {
    code(SOURCE).flat_map(words).map(str::to_owned).collect()
}

#[test]
fn names_of_the_code_are_accepted() {
    let document = "**`DeltaFifo::queue_action`** and `tokio`, `--cfg x`, `&mut self`.\n";
    assert_eq!(check_document(document, &known()), []);
}

#[test]
fn name_that_left_the_code_is_refused_at_its_line() {
    let document = "one\n`DeltaFifo` and `GoneFifo::old_action`\n";
    assert_eq!(
        check_document(document, &known()),
        [
            Violation::new(DOCUMENT, 2, "`GoneFifo` is no name of the code"),
            Violation::new(DOCUMENT, 2, "`old_action` is no name of the code"),
        ]
    );
}

#[test]
fn words_outside_backticks_and_in_fences_are_left_alone() {
    let document = "GoneFifo\n```text\n`GoneFifo`\n```\n";
    assert_eq!(check_document(document, &known()), []);
}
