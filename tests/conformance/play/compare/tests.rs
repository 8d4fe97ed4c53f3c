//! The comparison finds what it is there to find, and lets pass what the rules name.

use serde_json::json;

use super::super::script::parse;
use super::*;

/// `add! 1`, `add 1`, `update 1 2`, `delete 2`, `tombstone 2`, by commas.
fn told(text: &str) -> Vec<Line> {
    let lines = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let line = |one: &str| {
        let words: Vec<&str> = one.split(' ').collect();
        serde_json::from_value(match words[..] {
            ["add!", rv] => json!({"op": "add", "key": "a", "rv": rv, "initial": true}),
            ["add", rv] => json!({"op": "add", "key": "a", "rv": rv, "initial": false}),
            ["update", old, rv] => json!({"op": "update", "key": "a", "old_rv": old, "rv": rv}),
            ["delete", rv] => {
                json!({"op": "delete", "key": "a", "rv": rv, "final_state_unknown": false})
            }
            ["tombstone", rv] => {
                json!({"op": "delete", "key": "a", "rv": rv, "final_state_unknown": true})
            }
            ["error", code] => {
                json!({"op": "error", "code": code.parse::<u16>().ok(), "message": ""})
            }
            _ => panic!("{one}"),
        })
        .unwrap()
    };
    let mut lines: Vec<Line> = lines.map(line).collect();
    let store = json!({"op": "store", "rv": "9", "objects": {}});
    lines.push(serde_json::from_value(store).unwrap());
    lines
}

fn request(text: &str) -> Request {
    let (status, rest) = text.split_once(' ').unwrap();
    let (verb, query) = rest.split_once(' ').unwrap_or((rest, ""));
    let verb = ["list", "watch", "watchlist"]
        .into_iter()
        .find(|known| *known == verb);
    Request::new(verb.unwrap(), query, status.parse().unwrap())
}

fn record(text: &str, requests: &[&str]) -> Record {
    let mut printed = Printed::default();
    printed.lines.extend(told(text));
    Record {
        printed,
        requests: requests.iter().map(|text| request(text)).collect(),
    }
}

fn judge(options: &str, theirs: &Record, ours: &Record) -> Result<Vec<&'static str>> {
    let script = parse(&format!("script s\n{options}\n"))?.remove(0);
    // Versions 1 to 3 are of one object, 4 and 5 of another.
    let uids = (1..=5).map(|rv| {
        let uid = if rv < 4 { "u" } else { "v" };
        (("a".to_owned(), rv.to_string()), uid.to_owned())
    });
    compare(&script, Queue::InOrder, theirs, ours, &uids.collect())
}

fn judge_told(theirs: &str, ours: &str) -> Result<Vec<&'static str>> {
    judge("", &record(theirs, &[]), &record(ours, &[]))
}

fn judge_requests(theirs: &[&str], ours: &[&str]) -> Result<Vec<&'static str>> {
    judge("", &record("", theirs), &record("", ours))
}

#[test]
fn equal_records_differ_by_no_rule() {
    let rules = judge_told(
        "add! 1, update 1 2, delete 3",
        "add! 1, update 1 2, delete 3",
    );
    assert_eq!(rules.unwrap(), Vec::<&str>::new());
}

#[test]
fn differences_of_the_rules_pass_by_their_names() {
    assert_eq!(judge_told("add! 1, update 1 1", "add! 1").unwrap(), ["S3"]);
    let rules = judge_told("add! 1, update 1 4", "add! 1, tombstone 1, add 4");
    assert_eq!(rules.unwrap(), ["S10"]);
    assert_eq!(judge_told("delete 2", "").unwrap(), ["R1"]);
    assert_eq!(
        judge_told("error 500", "error 410, error 500").unwrap(),
        ["A4"]
    );
}

#[test]
fn any_other_difference_of_what_was_told_is_found() {
    for (theirs, ours) in [
        ("add! 1", "add 1"),
        ("add! 1, update 1 2", "add! 1, update 1 3"),
        ("add! 1, delete 2", "add! 1, tombstone 1"),
        ("add! 1, delete 2", "add! 1"),
        ("add! 1", "add! 1, update 1 1"),
        // One object is no two.
        ("add! 1, update 1 2", "add! 1, tombstone 1, add 2"),
        ("error 500", ""),
    ] {
        let error = judge_told(theirs, ours).unwrap_err().to_string();
        assert!(error.contains("client-go"), "{theirs} | {ours}: {error}");
    }
}

#[test]
fn repetitions_by_the_clock_need_not_be_as_many() {
    let (theirs, ours) = (
        record("add! 1, update 1 1, update 1 1, update 1 2", &[]),
        record("add! 1, update 1 1, update 1 2, update 2 2", &[]),
    );
    assert_eq!(
        judge("resync 1", &theirs, &ours).unwrap(),
        Vec::<&str>::new()
    );
}

#[test]
fn requests_that_differ_by_rule_pass() {
    let list = "200 list resourceVersion=5";
    let (watch, newest) = ("200 watch resourceVersion=5", "200 list limit=500");
    let pass = |theirs: &[&str], ours: &[&str]| judge_requests(theirs, ours).unwrap();
    assert_eq!(pass(&[list, watch], &[list, newest, watch]), ["A8"]);
    assert_eq!(pass(&[watch, list, watch], &[watch, watch]), ["A5"]);
    let refused = "504 list resourceVersion=5";
    assert_eq!(
        pass(&[refused, list, watch], &[refused, newest, watch]),
        ["1.11"]
    );
    let expired = "410 list resourceVersion=5";
    assert_eq!(
        pass(&[expired, "200 list", watch], &[expired, newest, watch]),
        ["2.5"]
    );
}

#[test]
fn silent_initial_events_may_be_given_up_for_a_list_if_that_was_told() {
    let (initial, watch) = ("200 watchlist", "200 watch resourceVersion=7");
    let fallback = ["200 list resourceVersion=0", "200 watch resourceVersion=6"];
    let theirs = record("", &[initial, watch]);
    let mut ours = record("", &[initial, fallback[0], fallback[1], watch]);
    assert!(judge("", &theirs, &ours).is_err());
    let error = json!({"op": "error", "code": null, "message": format!("x {NO_END}")});
    let error = serde_json::from_value(error).unwrap();
    ours.printed.lines.insert(0, error);
    assert_eq!(judge("", &theirs, &ours).unwrap(), ["A4", "W4"]);
}

#[test]
fn requests_that_differ_otherwise_are_found() {
    for (theirs, ours) in [
        (vec!["200 list resourceVersion=0"], vec!["200 list"]),
        (
            vec!["200 watch resourceVersion=5"],
            vec!["200 watch resourceVersion=6"],
        ),
        (vec!["200 list resourceVersion=5"], vec![]),
        (vec![], vec!["200 watch resourceVersion=5"]),
        (vec!["200 watchlist"], vec!["200 list limit=500"]),
    ] {
        assert!(
            judge_requests(&theirs, &ours).is_err(),
            "{theirs:?} | {ours:?}"
        );
    }
}

#[test]
fn order_across_objects_counts_but_among_tombstones() {
    let line = |op: &str, key: &str| {
        let line = json!({"op": op, "key": key, "rv": "1", "initial": false,
            "final_state_unknown": true});
        serde_json::from_value::<Line>(line).unwrap()
    };
    let of = |lines: [Line; 2]| {
        let mut record = record("", &[]);
        record.printed.lines.splice(0..0, lines);
        record
    };
    let adds = [line("add", "a"), line("add", "b")];
    let turned = [line("add", "b"), line("add", "a")];
    assert!(judge("", &of(adds), &of(turned)).is_err());
    let deletes = [line("delete", "a"), line("delete", "b")];
    let turned = [line("delete", "b"), line("delete", "a")];
    assert!(judge("", &of(deletes), &of(turned)).is_ok());
}

#[test]
fn stores_that_differ_in_the_end_are_found() {
    let mut ours = record("", &[]);
    let store = json!({"op": "store", "rv": "9", "objects": {"a": "1"}});
    ours.printed.lines = vec![serde_json::from_value(store).unwrap()];
    let error = judge("", &record("", &[]), &ours).unwrap_err();
    assert!(
        error.to_string().contains("the store in the end"),
        "{error}"
    );
}
