//! WATCH: where it goes on, and when (§2.7 of the rules).

use super::*;

const AT_ONCE: std::ops::RangeInclusive<f64> = 0.0..=0.0;
const FIRST: std::ops::RangeInclusive<f64> = 0.8..=1.6;
const SECOND_ONE: std::ops::RangeInclusive<f64> = 1.6..=3.2;

// B01
#[tokio::test(start_paused = true)]
async fn expired_answer_to_a_watch_relists() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "error 410"),
            ("LIST rv=100", "rv=120"),
            ("WATCH rv=120", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch 410"]);
    assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE]);
    assert_eq!(played.state.counters.relists_expired, 1);
}

// B02; Scenario: TestCloseWatchChannelOnError
#[tokio::test(start_paused = true)]
async fn expired_event_of_a_watch_relists() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "added a@101,event 410,added b@102; hang"),
            ("LIST rv=101", "rv=120"),
            ("WATCH rv=120", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store[1], "add a@101", "what came before counts");
    assert_eq!(played.errors, ["Watch 410"]);
}

// Scenario: TestReflectorWatchHandler (version of the last event, lower or not); B12
#[tokio::test(start_paused = true)]
async fn watch_goes_on_at_the_last_event_even_if_its_version_is_lower() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100 b@80"),
            (
                "WATCH rv=100",
                "modified a@110; deleted b@3; wait 1200; close",
            ),
            ("WATCH rv=3", "error 410"),
            ("LIST rv=3", "rv=111 a@110"),
            ("WATCH rv=111", "hang"),
        ],
    )
    .await;
    assert_gaps(&played, &[AT_ONCE, 1.2..=1.2, FIRST, AT_ONCE]);
}

// B82; Scenario: TestReflectorResourceVersionUpdate
#[tokio::test(start_paused = true)]
async fn bookmark_moves_the_version_on() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "bookmark 777; wait 1200; close"),
            ("WATCH rv=777", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store[1], "bookmark 777");
    assert_eq!(played.state.counters.bookmarks, 1);
    assert_eq!(played.state.counters.events, 0);
}

// B24
#[tokio::test(start_paused = true)]
async fn watches_that_close_at_once_back_off_and_never_relist() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "wait 200; close"),
            ("WATCH rv=10", "wait 200; close"),
            ("WATCH rv=10", "wait 200; close"),
            ("WATCH rv=10", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, [""; 0], "a clean close is no error");
    assert_gaps(&played, &[AT_ONCE, 1.0..=1.8, 1.8..=3.4, 3.4..=6.6]);
}

// B25
#[tokio::test(start_paused = true)]
async fn first_short_watch_is_forgiven_and_further_ones_back_off() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "wait 4000; close"),
            ("WATCH rv=10", "wait 4000; close"),
            ("WATCH rv=10", "wait 4000; close"),
            // This one lives: all is forgotten.
            ("WATCH rv=10", "wait 30000; close"),
            ("WATCH rv=10", "wait 4000; close"),
            ("WATCH rv=10", "hang"),
        ],
    )
    .await;
    assert_gaps(
        &played,
        &[
            AT_ONCE,
            4.0..=4.0,
            4.8..=5.6,
            5.6..=7.2,
            30.0..=30.0,
            4.0..=4.0,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn short_watches_with_news_begin_a_second_apart() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "added a@11; close"),
            ("WATCH rv=11", "added b@12; wait 300; close"),
            ("WATCH rv=12", "added c@13; wait 1500; close"),
            // The same news again are none.
            ("WATCH rv=13", "added c@13; close"),
            ("WATCH rv=13", "hang"),
        ],
    )
    .await;
    assert_gaps(&played, &[AT_ONCE, 1.0..=1.0, 1.0..=1.0, 1.5..=1.5, FIRST]);
}

// B32, B33, B35
#[tokio::test(start_paused = true)]
async fn connections_that_end_are_quiet_and_watched_on() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "added a@11; wait 2000; eof"),
            ("WATCH rv=11", "wait 60000; reset"),
            ("WATCH rv=11", "open; eof"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, [""; 0]);
    assert_gaps(&played, &[AT_ONCE, 2.0..=2.0, 60.0..=60.0, FIRST]);
    let (_, last) = played.state.last_error.unwrap();
    assert!(last.error.is_unexpected_eof(), "the state tells of it");
}

// B28; Scenario: TestReflectorListAndWatchInitConnBackoff
#[tokio::test(start_paused = true)]
async fn refused_connections_back_off_and_never_relist() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "wait 1300; reset"),
            ("WATCH rv=100", "refused"),
            ("WATCH rv=100", "refused"),
            ("WATCH rv=100", "refused"),
            ("WATCH rv=100", "refused"),
            ("WATCH rv=100", "refused"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch Refused"; 5]);
    assert_gaps(
        &played,
        &[
            AT_ONCE,
            1.3..=1.3,
            FIRST,
            SECOND_ONE,
            3.2..=6.4,
            6.4..=12.8,
            12.8..=25.6,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn watch_without_a_connection_relists_after_some_attempts() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "connect"),
            ("WATCH rv=100", "timeout"),
            ("WATCH rv=100", "eof"),
            ("WATCH rv=100", "reset"),
            ("LIST rv=100", "rv=100"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn watch_without_an_answer_times_out() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "no answer"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch Timeout"]);
    assert_gaps(&played, &[AT_ONCE, 60.8..=61.6]);
}

// B29; Scenario: TestBackoffOnTooManyRequests, TestNoRelistOnTooManyRequests
#[tokio::test(start_paused = true)]
async fn too_many_requests_keep_the_version_in_both_shapes() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "error 429"),
            ("WATCH rv=100", "error 429 after 2"),
            ("WATCH rv=100", "event 429"),
            ("WATCH rv=100", "event 429 after 2"),
            ("WATCH rv=100", "error 503 after 2"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors.len(), 5);
    let stated = 2.0..=2.5;
    assert_gaps(
        &played,
        &[
            AT_ONCE,
            FIRST,
            stated.clone(),
            SECOND_ONE,
            stated.clone(),
            stated,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn server_error_to_a_watch_relists() {
    for answer in ["error 500", "error 503", "error 403", "error 405", "tls"] {
        let played = play(
            list(),
            &[
                ("LIST rv=0 limit=500", "rv=100"),
                ("WATCH rv=100", answer),
                ("LIST rv=100", "rv=100"),
                ("WATCH rv=100", "hang"),
            ],
        )
        .await;
        assert_eq!(played.errors.len(), 1, "{answer}");
        assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE]);
    }
}

// Scenario: TestRetryInternalError
#[tokio::test(start_paused = true)]
async fn internal_errors_are_watched_through_for_as_long_as_configured() {
    let options = ReflectorOptions {
        internal_error_retry: 5 * SECOND,
        ..list()
    };
    let played = play(
        options,
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            ("WATCH rv=100", "event 500"),
            ("WATCH rv=100", "event 500"),
            ("WATCH rv=100", "wait 5000; event 500"),
            ("LIST rv=100", "rv=100"),
            ("WATCH rv=100", "hang"),
        ],
    )
    .await;
    assert_eq!(played.errors, ["Watch 500"; 3]);
}

// Scenario: TestReflectorReplacesStoreOnUnsafeDelete
#[tokio::test(start_paused = true)]
async fn internal_error_event_relists_what_is_left() {
    let played = play(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=10 a@1 corrupt@2"),
            ("WATCH rv=10", "event 500"),
            ("LIST rv=10", "rv=11 a@1"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store[1], "replace 11: a@1");
}

// B13
#[tokio::test(start_paused = true)]
async fn unreadable_events_end_the_watch_and_list_the_newest_state() {
    for event in ["garbage", "deleted b", "added a", "modified @7", "bad c"] {
        let played = play(
            list(),
            &[
                ("LIST rv=0 limit=500", "rv=100 b@80"),
                (
                    "WATCH rv=100",
                    &format!("added x@101; {event}; modified a@102; hang"),
                ),
                ("LIST limit=500", "rv=102 a@102 x@101"),
                ("WATCH rv=102", "hang"),
            ],
        )
        .await;
        assert_eq!(played.errors, ["Watch unreadable"], "{event}");
        assert_eq!(
            played.store,
            ["replace 100: b@80", "add x@101", "replace 102: a@102 x@101"],
            "{event}"
        );
        assert_eq!(played.state.counters.relists_unreadable, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn batch_that_the_store_refuses_relists() {
    let store = Arc::new(Recorder::default());
    store.refuse_once("add b");
    let played = play_into(
        list(),
        &[
            ("LIST rv=0 limit=500", "rv=100"),
            (
                "WATCH rv=100",
                "added a@101; added b@102; added c@103; hang",
            ),
            ("LIST rv=101", "rv=103 a@101 b@102 c@103"),
            ("WATCH rv=103", "hang"),
        ],
        store,
    )
    .await;
    assert_eq!(played.errors, ["Store refusal"]);
    assert_gaps(&played, &[AT_ONCE, FIRST, AT_ONCE]);
}

// B27, B34
#[tokio::test(start_paused = true)]
async fn idle_watch_lives_to_its_deadline_and_goes_on_quietly() {
    let server = FakeServer::new(|request, _| {
        if request.starts_with("LIST") {
            "rv=10".to_owned()
        } else {
            "hang".to_owned()
        }
    });
    let rig = Rig::start(server, list(), Arc::default());
    let played = rig.play(3_600 * SECOND).await;
    assert_eq!(played.errors, [""; 0]);
    assert_eq!(played.state.counters.list_requests, 1);
    assert!(
        played.requests[1..]
            .iter()
            .all(|line| line == "WATCH rv=10")
    );
    assert!(
        played.gaps[1..]
            .iter()
            .all(|gap| (330.0..=630.0).contains(gap)),
        "{:?}",
        played.gaps
    );
}

// Scenario: TestWatchTimeout
#[tokio::test(start_paused = true)]
async fn watch_timeout_is_the_users_and_its_double() {
    let options = ReflectorOptions {
        watch_timeout: 1_800 * SECOND,
        watch_margin: Duration::ZERO,
        ..list()
    };
    let server = FakeServer::new(|request, _| {
        let is_list = request.starts_with("LIST");
        if is_list { "rv=10" } else { "hang" }.to_owned()
    });
    let rig = Rig::start(server, options, Arc::default());
    let played = rig.play(36_000 * SECOND).await;
    assert!(
        played.gaps[1..]
            .iter()
            .all(|gap| (1800.0..=3600.0).contains(gap)),
        "{:?}",
        played.gaps
    );
}
