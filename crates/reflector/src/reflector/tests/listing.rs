//! LIST: versions, pages, failures (§2.5 of the rules).

use super::*;

const AT_ONCE: std::ops::RangeInclusive<f64> = 0.0..=0.0;
const FIRST: std::ops::RangeInclusive<f64> = 0.8..=1.6;
const SECOND_ONE: std::ops::RangeInclusive<f64> = 1.6..=3.2;

// Scenario: TestReflectorListAndWatch (WatchList off); B11
#[tokio::test(start_paused = true)]
async fn list_is_replaced_and_watched_from_its_version() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=600 a@590 b@3"),
            (
                "WATCH rv=600",
                "added c@601; modified a@602; deleted b@603; hang",
            ),
        ],
    )
    .await;
    assert_eq!(
        played.store,
        [
            "replace 600: a@590 b@3",
            "add c@601",
            "update a@602",
            "delete b"
        ]
    );
    assert_eq!(played.errors, [""; 0]);
    assert_gaps(&played, &[AT_ONCE]);
    assert_eq!(
        played.state.last_sync_resource_version.unwrap().as_str(),
        "603"
    );
    assert_eq!(played.state.counters.events, 3);
    assert_eq!(played.state.phase, ReflectorPhase::Watching);
}

// Scenario: TestReflectorResyncWithResourceVersion, TestReflectorNotPaginatingNotConsistentReads
#[tokio::test(start_paused = true)]
async fn relist_asks_at_the_last_version_without_a_limit() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 a@1"),
            ("WATCH rv=10", "added b@11; event 500"),
            ("LIST rv=11", "rv=20 a@1"),
            ("WATCH rv=20", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch 500"]);
    assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE]);
    assert_eq!(played.state.counters.relists_watch_failed, 1);
}

// Scenario: TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfExpired
#[tokio::test(start_paused = true)]
async fn list_refused_as_expired_asks_for_the_newest_state_at_once() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 a@1"),
            ("WATCH rv=10", "event 410"),
            ("LIST rv=10", "error 410"),
            ("LIST limit=500", "rv=20 a@1"),
            ("WATCH rv=20", "event 410"),
            ("LIST rv=20", "rv=21"),
            ("WATCH rv=21", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch 410", "List 410", "Watch 410"]);
    assert_gaps(
        &played,
        &[AT_ONCE, FIRST, AT_ONCE, AT_ONCE, SECOND_ONE, AT_ONCE],
    );
}

// B07, B08; Scenario: TestReflectorFullListIfTooLarge
#[tokio::test(start_paused = true)]
async fn list_at_a_version_of_the_future_asks_for_the_newest_state_at_once() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=200 a@1"),
            ("WATCH rv=200", "event 410"),
            ("LIST rv=200", "too-large"),
            ("LIST limit=500", "rv=100 b@80"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE, AT_ONCE]);
    assert_eq!(played.store, ["replace 200: a@1", "replace 100: b@80"]);
}

// B08: a watch refused so must not go on from that version, whatever Retry-After says
#[tokio::test(start_paused = true)]
async fn watch_at_a_version_of_the_future_lists_the_newest_state() {
    play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=200 a@1"),
            ("WATCH rv=200", "too-large"),
            ("LIST limit=500", "rv=100 b@80"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
}

// B05
#[tokio::test(start_paused = true)]
async fn relist_at_the_version_just_refused_is_not_watched_again() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100 a@1"),
            ("WATCH rv=100", "event 410"),
            ("LIST rv=100", "rv=100 a@1"),
            ("LIST limit=500", "rv=120 a@1 b@110"),
            ("WATCH rv=120", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch 410"]);
    assert_eq!(played.store, ["replace 100: a@1", "replace 120: a@1 b@110"]);
}

// B05: even the newest state has that version
#[tokio::test(start_paused = true)]
async fn newest_state_at_the_refused_version_is_watched_after_a_backoff() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "event 410"),
            ("LIST rv=100", "rv=100"),
            ("LIST limit=500", "rv=100"),
            ("WATCH rv=100", "event 410"),
            ("LIST rv=100", "rv=100"),
            ("LIST limit=500", "rv=100"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_gaps(
        &played,
        &[
            AT_ONCE, FIRST, AT_ONCE, AT_ONCE, SECOND_ONE, AT_ONCE, AT_ONCE,
        ],
    );
}

// B09
#[tokio::test(start_paused = true)]
async fn versions_that_go_backwards_are_followed() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=25199 a@25100 b@25150 c@25199"),
            ("WATCH rv=25199", "event 410"),
            ("LIST rv=25199", "too-large"),
            ("LIST limit=500", "rv=70 a@60 c@50"),
            ("WATCH rv=70", "added d@71; wait 1200; close"),
            ("WATCH rv=71", "hang"),
        ],
    )
    .await;
    assert_eq!(
        played.store,
        [
            "replace 25199: a@25100 b@25150 c@25199",
            "replace 70: a@60 c@50",
            "add d@71"
        ]
    );
}

// B10
#[tokio::test(start_paused = true)]
async fn versions_are_opaque() {
    play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=b2c-9 a@a1f-7"),
            ("WATCH rv=b2c-9", "modified a@0f-3; wait 1200; close"),
            ("WATCH rv=0f-3", "hang"),
        ],
    )
    .await;
}

// B06; Scenario: TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled
#[tokio::test(start_paused = true)]
async fn server_without_watch_cache_is_relisted_in_pages_of_the_newest_state() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 continue=x a@1"),
            ("LIST limit=500 continue=x", "rv=10 b@2"),
            ("WATCH rv=10", "event 410"),
            ("LIST limit=500", "rv=20 a@1"),
            ("WATCH rv=20", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 10: a@1 b@2", "replace 20: a@1"]);
}

// Scenario: TestReflectorWatchListPageSize
#[tokio::test(start_paused = true)]
async fn page_size_of_the_user_is_on_every_page_and_list() {
    let played = play(
        page_size(4),
        &[
            ("LIST rv=0 limit=4", "rv=10 continue=x a@1"),
            ("LIST limit=4 continue=x", "rv=11 continue=y b@2"),
            ("LIST limit=4 continue=y", "rv=12 c@3"),
            ("WATCH rv=10", "event 410"),
            ("LIST limit=4", "rv=20 a@1"),
            ("WATCH rv=20", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store[0], "replace 10: a@1 b@2 c@3");
}

// B80
#[tokio::test(start_paused = true)]
async fn expired_page_leads_to_one_full_list_and_voids_what_came() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=11 continue=x old@1"),
            ("LIST limit=500 continue=x", "error 410"),
            ("LIST rv=0", "rv=15 new@12"),
            ("WATCH rv=15", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 15: new@12"]);
    assert_eq!(played.errors, ["List 410"]);
    assert_gaps(&played, &[AT_ONCE; 3]);
}

// B80, B31
#[tokio::test(start_paused = true)]
async fn failed_page_lists_from_the_first_after_a_backoff() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=11 continue=x a@1"),
            ("LIST limit=500 continue=x", "error 500"),
            ("LIST rv=0 limit=500", "rv=11 continue=x a@1"),
            ("LIST limit=500 continue=x", "b@2"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 11: a@1 b@2"]);
    assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE, AT_ONCE]);
}

#[tokio::test(start_paused = true)]
async fn list_that_continues_at_its_own_page_fails() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=11 continue=x a@1"),
            ("LIST limit=500 continue=x", "continue=x a@1"),
            ("LIST rv=0 limit=500", "rv=11 a@1"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["List EndlessList"]);
}

// B33: a truncated list must fail
#[tokio::test(start_paused = true)]
async fn truncated_list_fails_and_never_reaches_the_store() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "a@1 cut"),
            ("LIST rv=0 limit=500", "rv=11 a@1 b@2"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 11: a@1 b@2"]);
    assert_eq!(played.errors, ["List TruncatedList"]);
}

#[tokio::test(start_paused = true)]
async fn list_without_an_answer_times_out() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "hang"),
            ("LIST rv=0 limit=500", "rv=11"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_gaps(&played, &[60.8..=61.6, AT_ONCE]);
    assert_eq!(played.errors, ["List Timeout"]);
}

// B26, B89; Scenario: TestReflectorListAndWatchWithErrors
#[tokio::test(start_paused = true)]
async fn list_errors_are_each_told_and_backed_off() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "error 403"),
            ("LIST rv=0 limit=500", "error 403"),
            ("LIST rv=0 limit=500", "error 401"),
            ("LIST rv=0 limit=500", "error 404"),
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "hang"),
        ],
    )
    .await;
    assert_eq!(
        played.errors,
        ["List 403", "List 403", "List 401", "List 404"]
    );
    assert_gaps(
        &played,
        &[FIRST, SECOND_ONE, 3.2..=6.4, 6.4..=12.8, AT_ONCE],
    );
    assert_eq!(played.state.counters.failures, 4);
    assert_eq!(played.state.consecutive_failures, 0, "the watch is proven");
    let (_, last) = played.state.last_error.unwrap();
    assert!(last.error.is_not_found());
}

// B30
#[tokio::test(start_paused = true)]
async fn list_waits_as_long_as_the_server_asks() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "error 503 after 3"),
            ("LIST rv=0 limit=500", "error 429 after 3"),
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "hang"),
        ],
    )
    .await;
    assert_gaps(&played, &[3.0..=3.75, 3.0..=3.75, AT_ONCE]);
}

// B15, B16; decision 12
#[tokio::test(start_paused = true)]
async fn list_without_version_is_applied_reported_and_polled() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "a@1"),
            ("LIST rv=0 limit=500", "a@1 b@2"),
            ("LIST rv=0 limit=500", "hang"),
            ("LIST rv=0 limit=500", "hang"),
            ("LIST rv=0 limit=500", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace -: a@1", "replace -: a@1 b@2"]);
    assert_eq!(
        played.errors[..2],
        [
            "List ListWithoutResourceVersion",
            "List ListWithoutResourceVersion"
        ]
    );
    assert_eq!(played.state.counters.relists_no_resource_version, 2);
}

// B14
#[tokio::test(start_paused = true)]
async fn undecodable_item_is_told_once_and_hides_nothing() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 a@1 bad@2 c@3"),
            ("WATCH rv=10", "bad d@11; modified d@12; hang"),
        ],
    )
    .await;
    assert_eq!(
        played.store,
        ["replace 10: a@1 c@3 and 1 bad", "bad d", "update d@12"]
    );
    assert_eq!(played.errors, ["Decode bad", "Decode d"]);
    assert_eq!(played.state.counters.undecodable, 2);
}

// B31
#[tokio::test(start_paused = true)]
async fn list_that_the_store_refuses_is_listed_again() {
    let store = Arc::new(Recorder::default());
    store.refuse_once("replace");
    let played = play_into(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 a@1"),
            ("LIST rv=0 limit=500", "rv=11 a@1"),
            ("WATCH rv=11", "hang"),
        ],
        store,
    )
    .await;
    assert_eq!(played.errors, ["Store refusal"]);
    assert_gaps(&played, &[FIRST, AT_ONCE]);
    assert_eq!(played.state.counters.relists_store, 1);
}

// B88
#[tokio::test(start_paused = true)]
async fn resource_that_goes_and_comes_back_is_listed_anew() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100 a@90"),
            ("WATCH rv=100", "wait 1200; close"),
            ("WATCH rv=100", "error 404"),
            ("LIST rv=100", "error 404"),
            ("LIST rv=100", "rv=210 other@205"),
            ("WATCH rv=210", "hang"),
        ],
    )
    .await;
    assert_eq!(
        played.store,
        ["replace 100: a@90", "replace 210: other@205"]
    );
    assert_eq!(played.errors, ["Watch 404", "List 404"]);
}
