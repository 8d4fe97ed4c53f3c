//! Selectors: what parses, what matches, what is written.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{LabelSelector, Operator, Requirement};
use crate::testing::Thing;

fn parse(text: &str) -> LabelSelector {
    text.parse()
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn labels(pairs: &[(&str, &str)]) -> Thing {
    let pairs = pairs.iter();
    Thing {
        labels: pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..Thing::default()
    }
}

// Scenario: TestSelectorParse, TestSetSelectorParser, TestParserLookahead of apimachinery
#[test]
fn selector_parses_and_is_written_in_one_form() {
    for (text, written) in [
        ("", ""),
        (" \t\r\n", ""),
        ("x=a", "x=a"),
        ("x == a", "x=a"),
        ("x!=a", "x!=a"),
        ("x=", "x="),
        ("x=,y", "x=,y"),
        ("x != ", "x!="),
        ("x", "x"),
        ("! x", "!x"),
        ("y,x", "x,y"),
        ("x in (b, a,b)", "x in (a,b)"),
        ("x in(a)", "x in (a)"),
        ("x notin (a)", "x notin (a)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (a,,c)", "x in (,a,c)"),
        ("x notin (,b)", "x notin (,b)"),
        ("in in (in, notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("!in", "!in"),
        ("x>1", "x>1"),
        ("x < 007", "x<007"),
        ("a.example.com/b-c_d.E=f", "a.example.com/b-c_d.E=f"),
        ("x=a,x=b", "x=a,x=b"),
    ] {
        let selector = parse(text);
        assert_eq!(selector.to_string(), written, "{text:?}");
        assert_eq!(parse(written), selector, "{text:?}");
        assert_eq!(selector.is_everything(), written.is_empty());
    }
}

#[test]
fn text_that_is_no_selector_is_refused_with_its_place() {
    for (text, position, message) in [
        (",", 0, r#"expected a key or '!' at position 0, found ",""#),
        (
            "x,",
            2,
            "expected a key or '!' at position 2, found the end",
        ),
        (
            "x,,y",
            2,
            r#"expected a key or '!' at position 2, found ",""#,
        ),
        ("!", 1, "expected a key at position 1, found the end"),
        ("!!x", 1, r#"expected a key at position 1, found "!""#),
        (
            "!x=a",
            2,
            r#"expected ',' or the end at position 2, found "=""#,
        ),
        ("x in", 4, "expected '(' at position 4, found the end"),
        ("x in a", 5, r#"expected '(' at position 5, found "a""#),
        (
            "x in (a",
            7,
            "expected ',' or ')' at position 7, found the end",
        ),
        (
            "x in (a b)",
            8,
            r#"expected ',' or ')' at position 8, found "b""#,
        ),
        (
            "x in (=,a)",
            6,
            r#"expected ',' or ')' at position 6, found "=""#,
        ),
        (
            "x=a b",
            4,
            r#"expected ',' or the end at position 4, found "b""#,
        ),
        ("x=!a", 2, r#"expected a value at position 2, found "!""#),
        ("x===a", 3, r#"expected a value at position 3, found "=""#),
        (
            "x=a)",
            3,
            r#"expected ',' or the end at position 3, found ")""#,
        ),
        (
            "(x)",
            0,
            r#"expected a key or '!' at position 0, found "(""#,
        ),
    ] {
        let error = text.parse::<LabelSelector>().unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.position()),
            (message, position),
            "{text:?}"
        );
        assert!(std::error::Error::source(&error).is_none());
    }
    let error = "x y".parse::<LabelSelector>().unwrap_err();
    assert_eq!(error.position(), 2);
}

#[test]
fn key_or_value_that_no_label_has_is_refused_with_its_place_and_reason() {
    let long = "a".repeat(64);
    for (text, position, reason) in [
        ("-x=a".to_owned(), 0, "no label key"),
        ("ok,a/b/c".to_owned(), 3, "no label key"),
        ("/x".to_owned(), 0, "prefix is no DNS subdomain"),
        ("A/x".to_owned(), 0, "prefix is no DNS subdomain"),
        ("a..b/x".to_owned(), 0, "prefix is no DNS subdomain"),
        ("a/".to_owned(), 0, "1 to 63 characters"),
        (long.clone(), 0, "1 to 63 characters"),
        (
            format!("{}/x", "a".repeat(254)),
            0,
            "prefix is no DNS subdomain",
        ),
        (format!("x={long}"), 2, "more than 63 characters"),
        ("x in (a, b_)".to_owned(), 9, "no label value"),
        ("x='a'".to_owned(), 2, "no label value"),
        ("x=\"a\"".to_owned(), 2, "no label value"),
        ("x=ä".to_owned(), 2, "no label value"),
        ("x=a\0".to_owned(), 2, "no label value"),
        ("ok, x>a".to_owned(), 4, "no integer of 64 bits"),
        ("x<".to_owned(), 0, "no integer of 64 bits"),
        (
            "x>9223372036854775808".to_owned(),
            0,
            "no integer of 64 bits",
        ),
        ("x>-1".to_owned(), 2, "no label value"),
    ] {
        let error = text.parse::<LabelSelector>().unwrap_err();
        assert_eq!(error.position(), position, "{text:?}");
        let source = std::error::Error::source(&error)
            .expect("it says why")
            .to_string();
        assert!(source.contains(reason), "{text:?}: {source}");
    }
}

// Scenario: TestSelectorMatches, TestLabelSelectorParse, TestRequirementSelectorMatching
#[test]
fn selector_matches_by_labels() {
    let obj = labels(&[("app", "web"), ("weight", "10"), ("empty", "")]);
    for (text, expected) in [
        ("", true),
        ("app=web", true),
        ("app=db", false),
        ("none=web", false),
        ("app!=db", true),
        ("app!=web", false),
        ("none!=web", true),
        ("app in (db,web)", true),
        ("app notin (db,web)", false),
        ("none notin (a)", true),
        ("none in (a)", false),
        ("app", true),
        ("none", false),
        ("!app", false),
        ("!none", true),
        ("empty=", true),
        ("none=", false),
        ("empty", true),
        ("empty in ()", true),
        ("app in ()", false),
        ("weight>9", true),
        ("weight>10", false),
        ("weight<11", true),
        ("weight<10", false),
        ("app>1", false),
        ("app<1", false),
        ("none<1", false),
        ("app=web,weight>9,!none", true),
        ("app=web,weight>10", false),
        ("app=web,app=db", false),
    ] {
        assert_eq!(parse(text).matches(&obj), expected, "{text:?}");
    }
}

// Scenario: TestEverything, TestNothing (labels)
#[test]
fn everything_and_nothing_match_all_and_none() {
    let (plain, labelled) = (labels(&[]), labels(&[("nothing", "")]));
    for obj in [&plain, &labelled] {
        assert!(LabelSelector::everything().matches(obj));
        assert!(!LabelSelector::nothing().matches(obj));
        // Sent to a server, it must not select everything.
        assert!(!parse(&LabelSelector::nothing().to_string()).matches(obj));
    }
    assert!(LabelSelector::nothing().is_nothing() && !LabelSelector::nothing().is_everything());
    assert_eq!(LabelSelector::default(), LabelSelector::everything());
    let requirement = Requirement::new("x", Operator::Exists, [""; 0]).unwrap();
    assert!(
        LabelSelector::nothing()
            .and(requirement.clone())
            .is_nothing()
    );
    assert_eq!(LabelSelector::everything().and(requirement), parse("x"));
}

// Scenario: TestRequirementConstructor
#[test]
fn requirement_takes_the_values_its_operator_needs() {
    for (operator, count) in [
        (Operator::In, [false, true, true]),
        (Operator::NotIn, [false, true, true]),
        (Operator::Equals, [false, true, false]),
        (Operator::NotEquals, [false, true, false]),
        (Operator::Exists, [true, false, false]),
        (Operator::DoesNotExist, [true, false, false]),
        (Operator::GreaterThan, [false, true, false]),
        (Operator::LessThan, [false, true, false]),
    ] {
        for (values, expected) in [&[][..], &["1"], &["1", "2"]].into_iter().zip(count) {
            let requirement = Requirement::new("x", operator, values);
            assert_eq!(requirement.is_ok(), expected, "{operator} {values:?}");
            if let Ok(requirement) = requirement {
                assert!(requirement.values().eq(values.iter().copied()));
                assert_eq!((requirement.key(), requirement.operator()), ("x", operator));
            }
        }
    }
}

// Scenario: TestValidatedSelectorFromSet
#[test]
fn selector_from_labels_requires_each_of_them() {
    let selector = LabelSelector::from_labels([("tier", "edge"), ("app", "web")]).unwrap();
    assert_eq!(selector, parse("app=web,tier=edge"));
    let none: [(&str, &str); 0] = [];
    assert!(LabelSelector::from_labels(none).unwrap().is_everything());
    let error = LabelSelector::from_labels([("app", "we b")]).unwrap_err();
    assert!(
        error.to_string().starts_with(r#""we b" is no label value"#),
        "{error}"
    );
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-c]",
        "[0-9]{1,2}",
        Just("in".to_owned())
    ]
}

/// Operator, key and values as text, and a naive reading of them.
fn requirement() -> impl Strategy<Value = (Operator, String, Vec<String>)> {
    let key = r"[a-e]|in|notin|x\.y/z";
    prop_oneof![
        (
            prop_oneof![Just(Operator::Equals), Just(Operator::NotEquals)],
            key,
            vec(value(), 1)
        ),
        (
            prop_oneof![Just(Operator::In), Just(Operator::NotIn)],
            key,
            vec(value(), 1..4)
        ),
        (
            prop_oneof![Just(Operator::Exists), Just(Operator::DoesNotExist)],
            key,
            vec(value(), 0)
        ),
        (
            prop_oneof![Just(Operator::GreaterThan), Just(Operator::LessThan)],
            key,
            vec("[0-9]{1,2}", 1)
        ),
    ]
}

fn naive(
    (operator, key, values): &(Operator, String, Vec<String>),
    labels: &BTreeMap<String, String>,
) -> bool {
    let label = labels.get(key);
    let listed = label.is_some_and(|label| values.contains(label));
    let ordering = label
        .and_then(|label| label.parse::<i64>().ok())
        .and_then(|label| Some(label.cmp(&values.first()?.parse().ok()?)));
    match operator {
        Operator::Equals | Operator::In => listed,
        Operator::NotEquals | Operator::NotIn => !listed,
        Operator::Exists => label.is_some(),
        Operator::DoesNotExist => label.is_none(),
        Operator::GreaterThan => ordering == Some(std::cmp::Ordering::Greater),
        Operator::LessThan => ordering == Some(std::cmp::Ordering::Less),
    }
}

/// The requirement as someone might write it, with `gap` wherever white space may be.
fn write((operator, key, values): &(Operator, String, Vec<String>), gap: &str) -> String {
    match operator {
        Operator::In | Operator::NotIn => {
            let values = values.join(&format!("{gap},{gap}"));
            format!("{gap}{key} {gap}{operator}{gap}({gap}{values}{gap})")
        }
        Operator::Exists => format!("{gap}{key}{gap}"),
        Operator::DoesNotExist => format!("!{gap}{key}{gap}"),
        Operator::Equals | Operator::NotEquals | Operator::GreaterThan | Operator::LessThan => {
            format!("{key}{gap}{operator}{gap}{}{gap}", values[0])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn selector_matches_as_a_naive_reading_and_round_trips(
        requirements in vec(requirement(), 0..4),
        labels in btree_map(r"[a-e]|in|notin|x\.y/z", value(), 0..5),
        gap in prop_oneof![Just(""), Just(" "), Just("\t\n ")],
    ) {
        let text = requirements.iter().map(|r| write(r, gap)).collect::<Vec<_>>().join(",");
        let selector = parse(&text);
        let built = requirements.iter().map(|(operator, key, values)| {
            Requirement::new(key, *operator, values).unwrap()
        });
        prop_assert_eq!(&selector, &LabelSelector::new(built));
        prop_assert_eq!(&parse(&selector.to_string()), &selector);
        let expected = requirements.iter().all(|requirement| naive(requirement, &labels));
        let thing = Thing { labels, ..Thing::default() };
        prop_assert_eq!(selector.matches(&thing), expected, "{}", text);
    }

    #[test]
    fn parser_takes_any_text_without_a_panic(text in "[a-b=!<>(), \tin/.ä-]{0,20}") {
        if let Ok(selector) = text.parse::<LabelSelector>() {
            prop_assert_eq!(parse(&selector.to_string()), selector);
        }
    }
}
