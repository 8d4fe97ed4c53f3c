//! Tests of warnings.

use super::parse;

#[test]
fn warning_text_is_unquoted() {
    let text = parse(r#"299 - "policy/v1beta1 is \"old\"" "#).unwrap();
    assert_eq!(text, r#"policy/v1beta1 is "old""#);
    assert_eq!(parse("299 kube-apiserver \"a\u{7f}b\"").unwrap(), "a b");
}

#[test]
fn warning_of_other_form_is_ignored() {
    for value in [
        "",
        "110 - \"stale\"",
        "299 -",
        "299 - unquoted",
        "299 - \"open",
    ] {
        assert_eq!(parse(value), None, "{value:?}");
    }
}
