//! The in-order FIFO as data: a script of changes, and what is handed out.

use super::InOrderFifo;
use crate::Queue;
use crate::testing::{obj, run};

fn alone(script: &str) -> Vec<String> {
    run(&mut InOrderFifo::new(), None, script)
}

// Scenario: TestRealFIFO_basic, R1
#[test]
fn pop_hands_out_changes_in_arrival_order_across_keys() {
    let said = alone("add a@1\nadd b@2\nupdate a@3\ndelete b@4\npop\npop\npop\npop\npop");
    assert_eq!(
        said,
        [
            "Added a@1 =1",
            "Added b@2 =2",
            "Updated a@3 =3",
            "Deleted b@4 =4",
            "nothing"
        ]
    );
}

// Scenario: TestRealFIFO_PopMultipleDeltaInBatch, R8
#[test]
fn batch_is_a_prefix_of_distinct_single_deltas() {
    for (script, expected) in [
        ("add a@1\nadd b@2\npop 9", vec!["Added a@1; Added b@2 =2"]),
        (
            "add a@1\nupdate a@2\npop 9\npop 9",
            vec!["Added a@1 =1", "Updated a@2 =2"],
        ),
        (
            "add a@1\nadd b@2\nadd c@3\nupdate b@4\npop 9\npop 9",
            vec!["Added a@1; Added b@2; Added c@3 =3", "Updated b@4 =4"],
        ),
        (
            "add a@1\nadd b@2\nadd c@3\npop 2\npop 2",
            vec!["Added a@1; Added b@2 =2", "Added c@3 =3"],
        ),
        (
            "add a@1\nresync\nadd b@2\npop 9\npop 9\npop 9",
            vec!["Added a@1 =1", "SyncAll", "Added b@2 =2"],
        ),
        (
            "add a@1\nbookmark 7\npop 9\npop 9",
            vec!["Added a@1 =1", "Bookmark =7"],
        ),
        (
            "add a@1\nreplace 5: a@5\nadd b@6\npop 9\npop 9\npop 9",
            vec!["Added a@1 =1", "ReplacedAll a@5 =5", "Added b@6 =6"],
        ),
    ] {
        assert_eq!(alone(script), expected, "{script}");
    }
}

// Scenario: TestRealFIFO_ReplaceAtomic, TestRealFIFO_ReplaceAtomicPop, R4
#[test]
fn replace_is_one_atomic_entry() {
    let said = alone("replace 5: b@2 a@1 ?c\npop 9");
    assert_eq!(said, ["!ReplacedAll b@2 a@1 ?c =5"]);
}

// Scenario: TestRealFIFO_ResyncAtomic, R4
#[test]
fn resync_is_one_entry_each_time() {
    let said = alone("add a@1\npop\nresync\nresync\npop\npop\npop");
    assert_eq!(said, ["Added a@1 =1", "SyncAll", "SyncAll", "nothing"]);
}

// Scenario: TestRealFIFO_HasSynced, R5, R6
#[test]
fn has_synced_follows_the_processing_of_the_first_list() {
    for (script, expected) in [
        ("synced?", vec!["not yet"]),
        ("add a@1\nsynced?", vec!["synced"]),
        // An empty list counts once it has been processed.
        (
            "replace 1:\nsynced?\npop\nsynced?",
            vec!["not yet", "!ReplacedAll  =1", "synced"],
        ),
        (
            "replace 1: a\ntake\nsynced?\ndone\nsynced?",
            vec!["!ReplacedAll a@1 =1", "not yet", "synced"],
        ),
        (
            "replace 1: a\nadd b@2\npop 9\nsynced?\npop 9",
            vec!["!ReplacedAll a@1 =1", "synced", "Added b@2 =2"],
        ),
    ] {
        assert_eq!(alone(script), expected, "{script}");
    }
}

// B57
#[test]
fn changes_wait_while_work_is_in_flight() {
    let said = alone("add a@1\ntake\ndelete a@2\npop\ndone\npop");
    assert_eq!(said, ["Added a@1 =1", "nothing", "Deleted a@2 =2"]);
}

// R13
#[test]
fn is_full_from_its_depth_on() {
    let mut queue = InOrderFifo::new();
    for n in 0..InOrderFifo::<crate::testing::Obj>::DEPTH {
        assert!(!queue.is_full(), "at {n}");
        queue.add(std::sync::Arc::new(obj(&format!("p{n}"))));
    }
    assert!(queue.is_full());
}
