//! The delta FIFO as data: a script of changes, and what is handed out.

use std::sync::Arc;

use super::DeltaFifo;
use crate::testing::{Known, run};
use crate::{KnownObjects, Queue};

/// Runs `script` on a queue in front of a store of `known` objects.
fn with_known(known: &str, script: &str) -> Vec<String> {
    let known = Known::of(known);
    let mut queue = DeltaFifo::new(Some(Arc::clone(&known) as Arc<dyn KnownObjects<_>>));
    run(&mut queue, Some(&known), script)
}

fn alone(script: &str) -> Vec<String> {
    run(&mut DeltaFifo::new(None), None, script)
}

// Scenario: TestDeltaFIFO_basic, D1
#[test]
fn pop_hands_out_keys_in_order_of_first_arrival() {
    let said = alone("add a@1 \n add b@2 \n update a@3 \n pop \n pop \n pop");
    assert_eq!(said, ["Added a@1, Updated a@3", "Added b@2 =3", "nothing"]);
}

// Scenario: TestDeltaFIFO_detectLineJumpers
#[test]
fn update_of_queued_key_does_not_jump_the_line() {
    let said = alone("add a@1\nadd b@2\nadd c@3\npop\nadd a@4\npop\npop\npop");
    assert_eq!(
        said,
        ["Added a@1", "Added b@2", "Added c@3", "Added a@4 =4"]
    );
}

// Scenario: TestDeltaFIFO_replaceWithDeleteDeltaIn, B55
#[test]
fn replace_after_queued_delete_keeps_both() {
    let said = with_known("a@1#one", "delete a@2#one\nreplace 5: a@4#two\npop");
    assert_eq!(said, ["Deleted a@2, Replaced a@4 =5"]);
}

// Scenario: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue, D4
#[test]
fn replace_makes_one_tombstone_for_objects_only_in_the_queue() {
    for (script, expected) in [
        (
            "add a@1\nreplace 5: b@2\npop\npop",
            ["Added a@1, Tombstone a@1", "Replaced b@2 =5"],
        ),
        (
            "add a@1\nupdate a@2\nreplace 5: b@2\npop\npop",
            ["Added a@1, Updated a@2, Tombstone a@2", "Replaced b@2 =5"],
        ),
        (
            "add a@1\ndelete a@2\nreplace 5: b@2\npop\npop",
            ["Added a@1, Deleted a@2", "Replaced b@2 =5"],
        ),
        // The newest queued state is that of the tombstone: it is not nested.
        (
            "replace 3: a@1\nreplace 4: c@1\nreplace 5: c@1\npop\npop",
            ["!Replaced a@1, Tombstone a@1", "Replaced c@1 =5"],
        ),
    ] {
        assert_eq!(alone(script), expected, "{script}");
    }
}

// D2
#[test]
fn consecutive_deletes_are_one_and_an_observed_one_wins() {
    let said = with_known("a@1", "delete a@2\ndelete a@3\npop");
    assert_eq!(said, ["Deleted a@2 =3"]);
    let said = with_known("a@1", "replace 2:\ndelete a@3\npop");
    assert_eq!(said, ["!Deleted a@3 =3"]);
    let said = with_known("a@1", "delete a@2\nreplace 3:\npop");
    assert_eq!(said, ["Deleted a@2 =3"]);
}

// Scenario: TestDeltaFIFO_addUpdate
#[test]
fn add_update_delete_of_one_key_are_handed_out_together() {
    let said = alone("add a@1\nupdate a@2\ndelete a@3\npop\npop");
    assert_eq!(said, ["Added a@1, Updated a@2, Deleted a@3 =3", "nothing"]);
}

// Scenario: TestDeltaFIFO_enqueueingNoLister, D3
#[test]
fn delete_of_unknown_key_without_known_objects_is_dropped() {
    assert_eq!(alone("delete a@1\npop"), ["nothing"]);
    assert_eq!(
        alone("add a@1\npop\ndelete a@2\npop"),
        ["Added a@1 =1", "nothing"]
    );
}

// Scenario: TestDeltaFIFO_enqueueingWithLister, TestDeltaFIFO_DeleteExistingNonPropagated, D3
#[test]
fn delete_is_kept_if_the_store_or_the_queue_knows_the_key() {
    assert_eq!(with_known("a@1", "delete a@2\npop"), ["Deleted a@2 =2"]);
    assert_eq!(with_known("a@1", "delete b@2\npop"), ["nothing"]);
    // A key that never decoded is known too.
    assert_eq!(with_known("?a", "delete-unread a\npop"), ["Deleted a"]);
}

// Scenario: TestDeltaFIFO_addReplace
#[test]
fn add_then_replace_keeps_both() {
    let said = alone("add a@1\nreplace 5: a@3\npop\npop");
    assert_eq!(said, ["Added a@1, Replaced a@3 =5", "nothing"]);
}

// Scenario: TestDeltaFIFO_ResyncNonExisting, TestDeltaFIFO_Resync, D5
#[test]
fn resync_repeats_idle_known_objects_only() {
    assert_eq!(with_known("", "resync\npop"), ["nothing"]);
    assert_eq!(
        alone("add a@1\nresync\npop\npop"),
        ["Added a@1 =1", "nothing"]
    );
    let said = with_known("a@1 b@2 ?c", "update b@3\nresync\npop\npop\npop");
    assert_eq!(said, ["Updated b@3", "Sync a@1 =3", "nothing"]);
}

// Scenario: TestDeltaFIFO_UpdateResyncRace
#[test]
fn resync_skips_a_key_in_flight() {
    let said = with_known("a@1", "update a@2\ntake\nresync\ndone\npop");
    assert_eq!(said, ["Updated a@2 =2", "nothing"]);
}

// Scenario: TestDeltaFIFO_ReplaceMakesDeletions, TestDeltaFIFO_ReplaceMakesDeletionsReplaced, D4
#[test]
fn replace_makes_tombstones_after_the_items() {
    let said = with_known(
        "a@1 b@2 c@3",
        "delete a@9\nreplace 10: a@5\npop\npop\npop\npop",
    );
    assert_eq!(
        said,
        [
            "Deleted a@9, Replaced a@5",
            "Tombstone b@2",
            "Tombstone c@3 =10",
            "nothing"
        ]
    );
    // A tombstone for a queued key has the queued state, not the stored one.
    let said = with_known("a@1", "update a@2\nreplace 5:\npop");
    assert_eq!(said, ["Updated a@2, Tombstone a@2 =5"]);
}

// Scenario: TestDeltaFIFO_HasSynced, TestDeltaFIFO_HasSyncedCorrectOnDeletion, D6 (decision 11)
#[test]
fn has_synced_follows_the_processing_of_the_first_list() {
    for (script, expected) in [
        ("synced?", vec!["not yet"]),
        ("add a@1\nsynced?", vec!["synced"]),
        ("delete a@1\nsynced?", vec!["synced"]),
        ("replace 1:\nsynced?", vec!["synced"]),
        (
            "replace 1: a b\npop\nsynced?",
            vec!["!Replaced a@1", "not yet"],
        ),
        (
            "replace 1: a b\npop\npop\nsynced?",
            vec!["!Replaced a@1", "!Replaced b@1 =1", "synced"],
        ),
        // Not before the last item has been processed.
        (
            "replace 1: a\ntake\nsynced?\ndone\nsynced?",
            vec!["!Replaced a@1 =1", "not yet", "synced"],
        ),
        // A second list does not take it back, nor does it count.
        (
            "replace 1: a\nreplace 2: a b\npop\nsynced?\npop",
            vec!["!Replaced a@1", "synced", "Replaced b@1 =2"],
        ),
    ] {
        assert_eq!(alone(script), expected, "{script}");
    }
    // Synthetic deletes of the first list count.
    let said = with_known("x@1", "replace 2: a\npop\nsynced?\npop\nsynced?");
    assert_eq!(
        said,
        ["!Replaced a@1", "not yet", "!Tombstone x@1 =2", "synced"]
    );
}

#[test]
fn batch_ends_where_the_initial_population_ends() {
    let said = alone("replace 5: a b\nadd c@6\nadd d@7\npop 10\nsynced?\npop 10");
    assert_eq!(
        said,
        [
            "!Replaced a@1; Replaced b@1",
            "synced",
            "Added c@6; Added d@7 =7"
        ]
    );
}

// B57, decision 11
#[test]
fn delete_that_arrives_while_its_add_is_processed_is_kept() {
    let said = with_known("", "add a@1\ntake\ndelete a@2\npop\ndone\npop");
    assert_eq!(said, ["Added a@1 =1", "nothing", "Deleted a@2 =2"]);
}

#[test]
fn replace_treats_in_flight_keys_as_known() {
    // Its add is not in the store yet; the relist no longer has it.
    let said = with_known("", "add a@1\ntake\nreplace 5:\ndone\npop\npop");
    assert_eq!(said, ["Added a@1 =1", "Tombstone a@1 =5", "nothing"]);
    // Its delete is in flight: there is nothing more to tell.
    let said = with_known("a@1", "delete a@2\ntake\nreplace 5:\ndone\npop");
    assert_eq!(said, ["Deleted a@2 =2", "nothing"]);
}

// B37
#[test]
fn repeated_relists_of_one_object_keep_the_newest_only() {
    let said = alone("replace 1: a@1\nreplace 2: a@2\nreplace 3: a@3\npop");
    assert_eq!(said, ["!Replaced a@3 =3"]);
    // Unless the name was given to another object in between.
    let said = alone("replace 1: a@1#x\nreplace 2: a@2#y\npop");
    assert_eq!(said, ["!Replaced a@1, Replaced a@2 =2"]);
    // And no delete is lost.
    let said = with_known("a@1", "replace 1:\nreplace 2: a@2\nreplace 3:\npop");
    assert_eq!(said, ["!Tombstone a@1, Replaced a@2, Tombstone a@2 =3"]);
}

// B14
#[test]
fn undecodable_item_counts_as_present() {
    let said = with_known("a@1 b@2", "replace 5: ?a@4 c@5\npop 9");
    assert_eq!(said, ["!Undecodable a; Replaced c@5; Tombstone b@2 =5"]);
    let said = with_known("?a b@2", "replace 5: b@2\npop 9");
    assert_eq!(said, ["!Replaced b@2; Tombstone a =5"]);
}

#[test]
fn relist_of_one_namespace_leaves_the_others_alone() {
    let known = Known::of("x/a@1 y/b@2");
    let queue = DeltaFifo::new(Some(Arc::clone(&known) as Arc<dyn KnownObjects<_>>));
    let mut queue = queue.awaiting_namespaces(["x", "y"].map(Arc::from));
    let script = "replace-in x 5: x/c@5\npop 9\nsynced?\nupdate x/c@6\npop\nsynced?\n\
                  replace-in y 7: y/b@2\nsynced?\npop 9\nsynced?";
    let said = run(&mut queue, Some(&known), script);
    assert_eq!(
        said,
        [
            "!Replaced x/c@5; Tombstone x/a@1 =5",
            "not yet",
            "!Updated x/c@6 =6",
            "not yet",
            "not yet",
            "!Replaced y/b@2 =7",
            "synced"
        ]
    );
}

#[test]
fn checkpoint_is_told_only_when_everything_is_out() {
    let said = alone("add a@1\nadd b@2\nbookmark 9\npop\npop");
    assert_eq!(said, ["Added a@1", "Added b@2 =9"]);
}

// B64: memory is returned after a burst.
#[test]
fn memory_of_a_burst_is_returned() {
    let mut queue = DeltaFifo::new(None);
    for n in 0..100_000 {
        queue.add(Arc::new(crate::testing::obj(&format!("p{n}"))));
    }
    while queue
        .pop(std::num::NonZeroUsize::new(1000).unwrap())
        .is_some()
    {
        queue.done();
    }
    assert!(queue.queue.capacity() <= 2 * super::KEPT_CAPACITY);
    assert!(queue.items.capacity() <= 4 * super::KEPT_CAPACITY);
}
