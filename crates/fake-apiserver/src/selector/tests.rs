//! Selectors against label sets and fields.

use super::*;

fn labels(text: &str) -> BTreeMap<String, String> {
    text.split(',')
        .filter_map(|p| p.split_once('='))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

#[test]
fn label_selector_every_operator_matches_as_documented() {
    // selector, labels, matches
    let table = [
        ("", "a=1", true),
        ("a=1", "a=1", true),
        ("a==1", "a=2", false),
        ("a!=1", "a=2", true),
        ("a!=1", "", true),
        ("a", "a=", true),
        ("a", "b=1", false),
        ("!a", "b=1", true),
        ("!a", "a=1", false),
        ("a in (1, 2)", "a=2", true),
        ("a in (1,2)", "a=3", false),
        ("a in ()", "a=", true),
        ("a notin (1,2)", "a=3", true),
        ("a notin (1,2)", "b=1", true),
        ("a notin (1,2),b", "a=1,b=1", false),
        ("a>5", "a=6", true),
        ("a>5", "a=x", false),
        ("a<5", "a=4", true),
        (
            "app.kubernetes.io/name=web,tier in (front,back)",
            "app.kubernetes.io/name=web,tier=back",
            true,
        ),
    ];
    for (selector, set, wanted) in table {
        let parsed = LabelSelector::parse(selector).unwrap();
        assert_eq!(parsed.matches(&labels(set)), wanted, "{selector} on {set}");
    }
}

#[test]
fn label_selector_malformed_is_a_bad_request() {
    for text in [
        "a in 1",
        "a in (1",
        "=1",
        "a,,b",
        "a foo (1)",
        "a=$",
        "a in (1) x",
    ] {
        assert_eq!(
            LabelSelector::parse(text).unwrap_err().code(),
            400,
            "{text}"
        );
    }
}

#[test]
fn field_selector_compares_and_refuses_unknown_paths() {
    let fields = vec!["spec.nodeName".to_owned()];
    let selector =
        FieldSelector::parse("spec.nodeName=n1,metadata.name!=x", Some(&fields)).unwrap();
    let node_n1 = |path: &str| {
        if path == "spec.nodeName" {
            "n1".to_owned()
        } else {
            "y".to_owned()
        }
    };
    assert!(selector.matches(node_n1));
    assert!(!selector.matches(|_: &str| "n2".to_owned()));
    assert!(
        !FieldSelector::parse("metadata.name!=y", Some(&fields))
            .unwrap()
            .matches(node_n1)
    );
    assert_eq!(
        FieldSelector::parse("spec.foo=1", Some(&fields))
            .unwrap_err()
            .code(),
        400
    );
    assert_eq!(
        FieldSelector::parse("spec.nodeName", Some(&fields))
            .unwrap_err()
            .code(),
        400
    );
    assert!(FieldSelector::parse("spec.foo=1", None).is_ok());
}
