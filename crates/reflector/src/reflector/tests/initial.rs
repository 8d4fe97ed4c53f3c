//! WatchList, and its way back to LIST (§2.6 of the rules).

use super::*;

const AT_ONCE: std::ops::RangeInclusive<f64> = 0.0..=0.0;
const FIRST: std::ops::RangeInclusive<f64> = 0.8..=1.6;
const SECOND_ONE: std::ops::RangeInclusive<f64> = 1.6..=3.2;

fn auto() -> ReflectorOptions {
    ReflectorOptions::default()
}

// Scenario: TestReflectorListAndWatch (WatchList on), TestWatchList (synced on marker)
#[tokio::test(start_paused = true)]
async fn initial_events_are_replaced_in_order_and_the_stream_goes_on() {
    for options in [auto(), watch_list()] {
        let played = play(
            options,
            &[
                (
                    "WATCHLIST",
                    "added z@1; added b@2, added a@3; bookmark 4; end 10, added c@11; \
                     modified c@12; wait 1200; close",
                ),
                ("WATCH rv=12", "hang"),
            ],
        )
        .await;
        assert_eq!(
            played.store,
            ["replace 10: z@1 b@2 a@3", "add c@11", "update c@12"]
        );
        assert_eq!(played.errors, [""; 0]);
        assert_gaps(&played, &[1.2..=1.2]);
        assert_eq!(played.state.counters.replaces, 1);
    }
}

// Scenario: TestWatchList (updates and deletes before the marker), TestWatchListResourceVersion
#[tokio::test(start_paused = true)]
async fn changes_before_the_marker_are_applied_in_place() {
    let played = play(
        auto(),
        &[(
            "WATCHLIST",
            "added a@1; added b@2; added c@3; modified a@4; deleted b@5; bad c@6; end 7; hang",
        )],
    )
    .await;
    assert_eq!(played.store, ["replace 7: a@4 and 1 bad"]);
    assert_eq!(played.errors, ["Decode c"]);
}

// Scenario: TestWatchList (annotation value checked)
#[tokio::test(start_paused = true)]
async fn plain_bookmark_is_no_marker() {
    let played = play(
        auto(),
        &[("WATCHLIST", "added a@1; bookmark 5; wait 3000; end 6; hang")],
    )
    .await;
    assert_eq!(played.store, ["replace 6: a@1"]);
}

// Scenario: TestNewReflectorWithDisablementWatchList
#[tokio::test(start_paused = true)]
async fn client_without_watch_list_is_listed() {
    for options in [auto(), watch_list()] {
        let mut server = FakeServer::new(|request, _| {
            let is_list = request.starts_with("LIST");
            if is_list { "rv=10" } else { "hang" }.to_owned()
        });
        server.watch_list = false;
        let played = Rig::start(server, options, Arc::default())
            .play(SECOND)
            .await;
        assert_eq!(played.requests, ["LIST rv=0 limit=500", "WATCH rv=10"]);
    }
}

// B20c, B20d; Scenario: TestWatchList (any error, Invalid ⇒ fallback)
#[tokio::test(start_paused = true)]
async fn refusal_falls_back_to_list_at_once_and_is_remembered() {
    for code in ["400", "422", "405"] {
        let answer = format!("error {code}");
        let played = play(
            auto(),
            &[
                ("WATCHLIST", &*answer),
                ("LIST rv=0 limit=500", "rv=10 a@1"),
                ("WATCH rv=10", "event 410"),
                ("LIST rv=10", "rv=20"),
                ("WATCH rv=20", "hang"),
            ],
        )
        .await;
        assert_eq!(
            played.errors,
            [format!("WatchList {code}"), "Watch 410".to_owned()]
        );
        assert_gaps(&played, &[AT_ONCE, AT_ONCE, FIRST, AT_ONCE]);
    }
}

#[tokio::test(start_paused = true)]
async fn refusal_is_forgotten_after_ten_minutes() {
    let server = FakeServer::new(|request, n| {
        match n {
            0 => "error 422",
            2 => "added a@11; wait 590000; event 410",
            4 => "added a@12; wait 20000; event 410",
            _ if request.starts_with("LIST") => "rv=10",
            _ => "hang",
        }
        .to_owned()
    });
    let options = ReflectorOptions {
        watch_timeout: 1_000 * SECOND,
        ..auto()
    };
    let played = Rig::start(server, options, Arc::default())
        .play(620 * SECOND)
        .await;
    assert_eq!(
        played.requests[..6],
        [
            "WATCHLIST",
            "LIST rv=0 limit=500",
            "WATCH rv=10",
            "LIST rv=11",
            "WATCH rv=10",
            "WATCHLIST rv=12",
        ]
    );
}

// W6: asked for by name, it is tried in each cycle
#[tokio::test(start_paused = true)]
async fn refusal_is_not_remembered_where_watch_list_is_asked_for() {
    play(
        watch_list(),
        &[
            ("WATCHLIST", "error 422"),
            ("LIST rv=0 limit=500", "rv=10 a@1"),
            ("WATCH rv=10", "event 410"),
            ("WATCHLIST rv=10", "end 20; hang"),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn trouble_falls_back_for_this_cycle_only() {
    for answer in ["error 500", "error 403", "connect", "event 500", "garbage"] {
        let played = play(
            auto(),
            &[
                ("WATCHLIST", answer),
                ("LIST rv=0 limit=500", "rv=10"),
                ("WATCH rv=10", "event 410"),
                ("WATCHLIST rv=10", "end 20; hang"),
            ],
        )
        .await;
        assert_gaps(&played, &[AT_ONCE, AT_ONCE, FIRST]);
    }
}

// B21; Scenario: TestWatchList (429 retried)
#[tokio::test(start_paused = true)]
async fn too_many_requests_are_waited_out_and_never_fall_back() {
    let played = play(
        auto(),
        &[
            ("WATCHLIST", "error 429 after 1"),
            ("WATCHLIST", "error 429 after 1"),
            ("WATCHLIST", "event 429 after 1"),
            ("WATCHLIST", "refused"),
            ("WATCHLIST", "error 503 after 1"),
            ("WATCHLIST", "end 10; hang"),
        ],
    )
    .await;
    let stated = 1.0..=1.25;
    assert_gaps(
        &played,
        &[
            stated.clone(),
            stated.clone(),
            stated.clone(),
            FIRST,
            stated,
        ],
    );
    assert_eq!(played.errors.len(), 5);
}

// WL2, W5
#[tokio::test(start_paused = true)]
async fn expired_version_asks_for_the_newest_state_at_once() {
    for answer in ["error 410", "event 410", "too-large", "error 410"] {
        let played = play(
            auto(),
            &[
                ("WATCHLIST", "end 100; wait 1200; close"),
                ("WATCH rv=100", "event 410"),
                ("WATCHLIST rv=100", answer),
                ("WATCHLIST", "added b@105; end 110; hang"),
            ],
        )
        .await;
        assert_gaps(&played, &[1.2..=1.2, FIRST, AT_ONCE]);
        assert_eq!(played.store, ["replace 100:", "replace 110: b@105"]);
    }
}

#[tokio::test(start_paused = true)]
async fn newest_state_that_is_refused_as_expired_falls_back() {
    play(
        auto(),
        &[
            ("WATCHLIST", "error 410"),
            ("LIST rv=0 limit=500", "rv=10"),
            ("WATCH rv=10", "hang"),
        ],
    )
    .await;
}

// W4; Scenario: TestWatchList (not synced without marker)
#[tokio::test(start_paused = true)]
async fn early_closes_back_off_then_fall_back_and_show_nothing() {
    let played = play(
        auto(),
        &[
            ("WATCHLIST", "added a@1; close"),
            ("WATCHLIST", "added a@1; added b@2; eof"),
            ("WATCHLIST", "close"),
            ("LIST rv=0 limit=500", "rv=10 a@1 b@2"),
            ("WATCH rv=10", "event 410"),
            ("LIST rv=10", "rv=11"),
            ("WATCH rv=11", "hang"),
        ],
    )
    .await;
    assert_eq!(played.store[0], "replace 10: a@1 b@2");
    assert_eq!(
        played.errors,
        ["WatchList InitialEventsCutShort", "Watch 410"]
    );
    assert_gaps(
        &played,
        &[FIRST, SECOND_ONE, AT_ONCE, AT_ONCE, 3.2..=6.4, AT_ONCE],
    );
}

// Scenario: TestWatchList (stop before sync ⇒ new WatchList)
#[tokio::test(start_paused = true)]
async fn watch_cut_before_the_marker_is_begun_anew() {
    let played = play(
        auto(),
        &[
            ("WATCHLIST", "added a@1; reset"),
            ("WATCHLIST", "added a@1; end 2; hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 2: a@1"]);
    assert_eq!(played.errors, [""; 0]);
}

// B20a, B20b; Scenario: TestInitialEventsEndBookmarkTicker
#[tokio::test(start_paused = true)]
async fn silence_before_the_marker_falls_back_and_is_remembered() {
    for answer in ["open; hang", "added a@1; added b@2; bookmark 5; hang"] {
        let played = play(
            auto(),
            &[
                ("WATCHLIST", answer),
                ("LIST rv=0 limit=500", "rv=10 a@1"),
                ("WATCH rv=10", "event 410"),
                ("LIST rv=10", "rv=11"),
                ("WATCH rv=11", "hang"),
            ],
        )
        .await;
        assert_eq!(played.errors[0], "WatchList NoInitialEventsEnd");
        assert_eq!(played.store[0], "replace 10: a@1", "no partial list");
        assert_gaps(&played, &[5.0..=5.0, AT_ONCE, FIRST, AT_ONCE]);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_initial_events_have_time_until_the_watch_ends() {
    let slow = "modified a@1; wait 4000; ".repeat(30);
    let played = play(auto(), &[("WATCHLIST", &format!("{slow} end 10; hang"))]).await;
    assert_eq!(played.store, ["replace 10: a@1"]);
}

#[tokio::test(start_paused = true)]
async fn trickle_without_a_marker_is_given_up_at_the_deadline() {
    let server = FakeServer::new(|request, _| match request {
        "WATCHLIST" => "added a@1; wait 4000; ".repeat(500),
        "WATCH rv=10" => "hang".to_owned(),
        _ => "rv=10".to_owned(),
    });
    let played = Rig::start(server, auto(), Arc::default())
        .play(700 * SECOND)
        .await;
    assert_eq!(played.requests[..2], ["WATCHLIST", "LIST rv=0 limit=500"]);
    assert!(
        (330.0..=630.0).contains(&played.gaps[0]),
        "{:?}",
        played.gaps
    );
}

// Scenario: TestWatchList (expired after sync)
#[tokio::test(start_paused = true)]
async fn expired_event_behind_the_marker_relists() {
    let played = play(
        auto(),
        &[
            ("WATCHLIST", "added a@1; end 10, event 410"),
            ("WATCHLIST rv=10", "end 20; hang"),
        ],
    )
    .await;
    assert_eq!(played.store, ["replace 10: a@1", "replace 20:"]);
    assert_gaps(&played, &[FIRST]);
}

#[tokio::test(start_paused = true)]
async fn list_without_version_after_a_fallback_is_polled_by_list() {
    let played = Rig::start(
        FakeServer::new(|request, _| {
            let is_watch = request.starts_with("WATCH");
            if is_watch { "error 405" } else { "a@1" }.to_owned()
        }),
        auto(),
        Arc::default(),
    )
    .play(20 * SECOND)
    .await;
    assert_eq!(played.requests[0], "WATCHLIST");
    assert!(
        played.requests[1..]
            .iter()
            .all(|line| line == "LIST rv=0 limit=500")
    );
}

#[tokio::test(start_paused = true)]
async fn replacement_that_the_store_refuses_begins_anew() {
    let store = Arc::new(Recorder::default());
    store.refuse_once("replace");
    let played = play_into(
        auto(),
        &[
            ("WATCHLIST", "added a@1; end 10, added b@11; hang"),
            ("WATCHLIST", "added a@1; added b@11; end 11; hang"),
        ],
        store,
    )
    .await;
    assert_eq!(
        played.store,
        ["refused replace 10: a@1", "replace 11: a@1 b@11"]
    );
    assert_eq!(played.errors, ["Store refusal"]);
}
