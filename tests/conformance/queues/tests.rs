//! The comparison finds what it is there to find.

use std::collections::BTreeMap;

use super::*;

const TRACE: &str = "trace t\nqueue delta-fifo\nreplace 5: a@1\nreplace 6: a@2\npop\n";

fn said(work: &str) -> Vec<Answer> {
    let deltas: Vec<_> = work
        .split_whitespace()
        .map(|rv| serde_json::json!({"type": "Replaced", "key": "a", "rv": rv, "uid": "u"}))
        .collect();
    let answer = serde_json::json!({
        "trace": "t", "line": 4, "op": "pop", "synced": true, "work": "deltas", "deltas": deltas,
    });
    vec![serde_json::from_value(answer).unwrap()]
}

fn judge(trace: &str, theirs: &str, ours: &str) -> Result<BTreeMap<String, usize>, String> {
    let mut seen = BTreeMap::new();
    let trace = parse(trace).remove(0);
    compare(&trace, &said(theirs), &said(ours), &mut seen).map(|()| seen)
}

#[test]
fn equal_hand_outs_pass() {
    assert_eq!(judge(TRACE, "1 2", "1 2"), Ok(BTreeMap::new()));
}

#[test]
fn merged_relists_are_counted_as_rule_d2() {
    let seen = judge(TRACE, "1 2", "2").unwrap();
    assert_eq!(seen, BTreeMap::from([("D2".to_owned(), 1)]));
}

#[test]
fn anything_else_is_shown_with_the_trace() {
    let report = judge(TRACE, "1 2", "1").unwrap_err();
    assert!(report.contains("    3  replace 6: a@2\n"), "{report}");
    assert!(
        report.contains("client-go: line 4 pop: Replaced a@1 Replaced a@2"),
        "{report}"
    );
    assert!(
        report.contains("informers: line 4 pop: Replaced a@1 (synced)"),
        "{report}"
    );
    let fewer = compare(
        &parse(TRACE).remove(0),
        &said("1"),
        &[],
        &mut BTreeMap::new(),
    );
    assert!(fewer.unwrap_err().contains("informers: no more lines"));
}

#[test]
fn announced_difference_must_be_exactly_that() {
    let trace = format!("{TRACE}#! D3: Replaced a@1 | Replaced a@7\n");
    let seen = judge(&trace, "1", "7").unwrap();
    assert_eq!(seen, BTreeMap::from([("D3".to_owned(), 1)]));
    assert!(judge(&trace, "1", "8").is_err());
    assert!(judge(&trace, "1", "1").is_err());
}

#[test]
fn announced_difference_of_a_done_is_whether_it_has_synced() {
    let trace =
        parse("trace t\nqueue in-order\ntake\ndone\n#! R5: synced | not synced\n").remove(0);
    let done = |synced: bool| {
        let answer = serde_json::json!({"trace": "t", "line": 3, "op": "done", "synced": synced});
        vec![serde_json::from_value::<Answer>(answer).unwrap()]
    };
    let mut seen = BTreeMap::new();
    assert!(compare(&trace, &done(true), &done(false), &mut seen).is_ok());
    assert_eq!(seen, BTreeMap::from([("R5".to_owned(), 1)]));
    assert!(compare(&trace, &done(true), &done(true), &mut seen).is_err());
}
