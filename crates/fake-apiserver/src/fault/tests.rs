//! Faults: matching, counting and JSON.

use serde_json::json;

use super::*;
use crate::request::parse_query;

fn request(verb: Verb, plural: &str, query: &str) -> RequestRecord {
    RequestRecord {
        index: 0,
        method: "GET".to_owned(),
        path: String::new(),
        query: parse_query(query),
        verb,
        plural: Some(plural.to_owned()),
        namespace: Some("default".to_owned()),
        at: Duration::ZERO,
        status: None,
        user_agent: "kubectl/v1".to_owned(),
    }
}

fn set_of(faults: Vec<Fault>) -> FaultSet {
    let set = FaultSet::default();
    for fault in faults {
        set.add(fault);
    }
    set
}

fn codes(set: &FaultSet, request: &RequestRecord) -> Vec<u16> {
    let code = |s: Struck| match s.action {
        Action::Status(status) => status.code,
        _ => 0,
    };
    set.meet(request).into_iter().map(code).collect()
}

#[test]
fn fault_matchers_select_requests() {
    let pods_watch = request(Verb::Watch, "pods", "");
    let watch_list = request(Verb::WatchList, "pods", "");
    let list = request(Verb::List, "pods", "");
    let page = request(Verb::List, "pods", "continue=x");
    let nodes = request(Verb::List, "nodes", "");
    let all = [&pods_watch, &watch_list, &list, &page, &nodes];
    let table = [
        (Fault::status(500), [true, true, true, true, true]),
        (
            Fault::status(500).on_watch(),
            [true, true, false, false, false],
        ),
        (
            Fault::status(500).on_watch_list(),
            [false, true, false, false, false],
        ),
        (
            Fault::status(500).on_list(),
            [false, false, true, true, true],
        ),
        (
            Fault::status(500).on_continue(),
            [false, false, false, true, false],
        ),
        (
            Fault::status(500).on_resource("nodes"),
            [false, false, false, false, true],
        ),
        (Fault::status(500).in_namespace("other"), [false; 5]),
        (Fault::status(500).from_user_agent("kubectl"), [true; 5]),
        (Fault::error_event(410), [true, true, false, false, false]),
        (
            Fault::expired_continue(),
            [false, false, false, true, false],
        ),
        (
            Fault::watch_list_without_end(),
            [false, true, false, false, false],
        ),
    ];
    for (fault, wanted) in table {
        let got = all.map(|request| !set_of(vec![fault.clone()]).meet(request).is_empty());
        assert_eq!(got, wanted, "{fault:?}");
    }
}

#[test]
fn fault_counts_say_which_requests_are_met() {
    let list = request(Verb::List, "pods", "");
    let hits = |fault: Fault| {
        let set = set_of(vec![fault]);
        (0..5)
            .map(|_| !set.meet(&list).is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        hits(Fault::status(500).times(2)),
        [true, true, false, false, false]
    );
    assert_eq!(
        hits(Fault::status(500).nth(3)),
        [false, false, true, false, false]
    );
    assert_eq!(
        hits(Fault::status(500).skip(1).times(2)),
        [false, true, true, false, false]
    );
    assert_eq!(
        hits(Fault::compact().on_list()),
        [true, false, false, false, false]
    );
}

#[test]
fn faults_of_one_outcome_meet_one_request_each() {
    let list = request(Verb::List, "pods", "");
    let set = set_of(vec![
        Fault::status(429).times(1),
        Fault::delay(Duration::ZERO).times(1),
        Fault::status(500).times(1),
    ]);
    assert_eq!(codes(&set, &list), [429, 0], "a delay goes with an answer");
    assert_eq!(
        codes(&set, &list),
        [500],
        "the second answer waited for its request"
    );
    assert!(codes(&set, &list).is_empty());
}

#[test]
fn lost_events_are_selected_and_counted() {
    let watch = request(Verb::Watch, "pods", "");
    let set = set_of(vec![
        Fault::drop_events()
            .of_type("DELETED")
            .of_object("default/a")
            .times(1),
    ]);
    assert!(set.meet(&watch).is_empty(), "requests do not use it up");
    assert!(!set.loses(&watch, "MODIFIED", "default/a"));
    assert!(!set.loses(&watch, "DELETED", "default/b"));
    assert!(set.loses(&watch, "DELETED", "default/a"));
    assert!(!set.loses(&watch, "DELETED", "default/a"));
}

#[test]
fn fault_in_json_is_the_fault_in_rust() {
    let table = [
        (
            json!({"fault": "status", "code": 429, "retryAfter": 1, "verb": "watch", "times": 2}),
            Fault::status(429).retry_after(1).on_watch().times(2),
        ),
        (
            json!({"fault": "cut", "afterBytes": 10, "how": "midChunk", "resource": "pods"}),
            Fault::cut(10).mid_chunk().on_resource("pods"),
        ),
        (
            json!({"fault": "compact", "verb": "watch"}),
            Fault::compact().on_watch(),
        ),
        (
            json!({"fault": "raw", "data": "x\n", "afterEvents": 3, "now": true}),
            Fault::raw("x\n").after_events(3).now(),
        ),
        (
            json!({"fault": "dropEvents", "type": "DELETED"}),
            Fault::drop_events().of_type("DELETED"),
        ),
        (json!({"fault": "stall"}), Fault::stall()),
        (json!({"fault": "goaway", "nth": 2}), Fault::goaway().nth(2)),
        (
            json!({"fault": "delay", "seconds": 0.5}),
            Fault::delay(Duration::from_millis(500)),
        ),
        (
            json!({"fault": "expiredContinue", "inconsistent": true, "verb": "list", "continue": true}),
            Fault::inconsistent_continue(),
        ),
    ];
    for (text, fault) in table {
        assert_eq!(
            serde_json::from_value::<Fault>(text.clone()).unwrap(),
            fault,
            "{text}"
        );
        let back = serde_json::to_value(&fault).unwrap();
        assert_eq!(serde_json::from_value::<Fault>(back).unwrap(), fault);
    }
    assert!(serde_json::from_value::<Fault>(json!({"fault": "nonsense"})).is_err());
    assert!(serde_json::from_value::<Fault>(json!({"code": 500})).is_err());
}

#[test]
fn status_fault_carries_the_customary_words() {
    let status = StatusFault {
        code: 429,
        retry_after: Some(3),
        ..StatusFault::default()
    }
    .to_object();
    assert_eq!(
        (&status["reason"], &status["details"]["retryAfterSeconds"]),
        (&json!("TooManyRequests"), &json!(3))
    );
    let own = StatusFault {
        code: 500,
        object: Some(json!({"a": 1})),
        ..StatusFault::default()
    }
    .to_object();
    assert_eq!(own, json!({"a": 1}));
}
