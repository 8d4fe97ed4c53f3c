//! Stops, resyncs, back-pressure, and the state that can be read.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn always(answer: &'static str) -> FakeServer {
    FakeServer::new(move |_, _| answer.to_owned())
}

/// A list of version 10, then `watch` for each watch.
fn listed_then(watch: &'static str) -> FakeServer {
    FakeServer::new(move |request, _| {
        let is_list = request.starts_with("LIST");
        if is_list { "rv=10 a@1" } else { watch }.to_owned()
    })
}

// B69; Scenario: TestReflectorStopWatch, TestRunUntil, TestReflectorHandleWatchStopped…
#[tokio::test(start_paused = true)]
async fn stop_takes_no_time_wherever_it_comes() {
    use ReflectorPhase::{Connecting, InitialEvents, Listing, Waiting, Watching};
    let cases = [
        ("a list without an answer", list(), always("hang"), Listing),
        ("a list that stalls", list(), always("a@1 hang"), Listing),
        ("a backoff", list(), always("error 500"), Waiting),
        (
            "a Retry-After",
            list(),
            always("error 429 after 60"),
            Waiting,
        ),
        ("an idle watch", list(), listed_then("hang"), Watching),
        (
            "a watch request",
            list(),
            listed_then("no answer"),
            Connecting,
        ),
        (
            "initial events",
            watch_list(),
            always("added a@1; hang"),
            InitialEvents,
        ),
    ];
    for (what, options, server, phase) in cases {
        let rig = Rig::start(server, options, Arc::default());
        sleep(SECOND / 2).await;
        assert_eq!(rig.handle.state().phase, phase, "{what}");
        // `play` asserts that the stop takes no virtual time.
        rig.play(SECOND / 10).await;
    }
}

// Scenario: TestReflectorWatchStoppedBefore
#[tokio::test(start_paused = true)]
async fn cancelled_reflector_makes_no_further_request() {
    let server = Arc::new(always("hang"));
    let reflector = Reflector::new(
        Arc::clone(&server) as _,
        Arc::new(Recorder::default()),
        list(),
    );
    let handle = reflector.handle();
    assert_eq!(handle.state().phase, ReflectorPhase::Idle);
    let cancel = CancellationToken::new();
    cancel.cancel();
    reflector.run(cancel).await;
    // Nothing of a stream happens before it is polled.
    assert!(server.requests().len() <= 1);
    assert_eq!(handle.state().phase, ReflectorPhase::Stopped);
}

fn resync_every(
    period: Duration,
    hook: impl Fn() -> bool + Send + Sync + 'static,
) -> ReflectorOptions {
    ReflectorOptions {
        resync_check: Some((period, Arc::new(move |_| hook()))),
        ..list()
    }
}

// Scenario: TestReflectorResyncChan; Y4
#[tokio::test(start_paused = true)]
async fn resync_is_asked_for_in_every_phase() {
    for (what, server) in [
        ("list", always("hang")),
        ("backoff", always("error 429 after 60")),
        ("watch", listed_then("hang")),
    ] {
        let rig = Rig::start(server, resync_every(SECOND, || true), Arc::default());
        let played = rig.play(SECOND * 7 / 2).await;
        let resyncs = played.store.iter().filter(|line| *line == "resync").count();
        assert_eq!(resyncs, 3, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn resync_that_is_not_due_does_nothing() {
    let is_due = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_due);
    let options = resync_every(SECOND, move || asked.swap(false, Ordering::Relaxed));
    let rig = Rig::start(listed_then("hang"), options, Arc::default());
    sleep(10 * SECOND).await;
    assert_eq!(rig.store.log(), ["replace 10: a@1"]);
    is_due.store(true, Ordering::Relaxed);
    let played = rig.play(10 * SECOND).await;
    assert_eq!(played.store, ["replace 10: a@1", "resync"]);
}

// Scenario: TestReflectorResync
#[tokio::test(start_paused = true)]
async fn resync_that_fails_ends_the_watch_and_relists() {
    let store = Arc::new(Recorder::default());
    store.refuse_once("resync");
    let options = resync_every(5 * SECOND, || true);
    let rig = Rig::start(listed_then("hang"), options, store);
    let played = rig.play(9 * SECOND).await;
    assert_eq!(
        played.requests,
        [
            "LIST rv=0 limit=500",
            "WATCH rv=10",
            "LIST rv=10",
            "WATCH rv=10"
        ]
    );
    assert_eq!(played.errors, ["Store refusal"]);
}

#[tokio::test(start_paused = true)]
async fn full_store_holds_the_watch_and_not_the_resync_or_the_stop() {
    let store = Arc::new(Recorder::default());
    let options = resync_every(5 * SECOND, || true);
    let server = listed_then("wait 1000; added b@11; wait 1000; added c@12; hang");
    let rig = Rig::start(server, options, Arc::clone(&store));
    sleep(SECOND * 3 / 2).await;
    store.set_full(true);
    sleep(SECOND * 4).await;
    // The batch that was being waited for is taken; nothing more is read.
    assert_eq!(
        store.log(),
        ["replace 10: a@1", "add b@11", "add c@12", "resync"]
    );
    store.set_full(false);
    sleep(SECOND / 10).await;
    store.set_full(true);
    rig.play(SECOND).await;
}

// B22
#[tokio::test(start_paused = true)]
async fn full_store_leaves_further_events_in_the_stream() {
    let store = Arc::new(Recorder::default());
    store.set_full(true);
    let rig = Rig::start(
        always("added a@1; end 2; added b@3; hang"),
        watch_list(),
        Arc::clone(&store),
    );
    sleep(20 * SECOND).await;
    assert_eq!(store.log(), [""; 0]);
    store.set_full(false);
    let played = rig.play(SECOND).await;
    assert_eq!(played.store, ["replace 2: a@1", "add b@3"]);
}

// B81, and the "readable at any time"
#[tokio::test(start_paused = true)]
async fn state_tells_the_next_attempt_and_the_last_error() {
    let rig = Rig::start(always("error 403"), list(), Arc::default());
    let begun = Instant::now();
    sleep(SECOND / 2).await;
    let state = rig.handle.state();
    assert_eq!(state.phase, ReflectorPhase::Waiting);
    assert_eq!(state.consecutive_failures, 1);
    let next = state.next_attempt.unwrap() - begun;
    assert!((0.8..=1.6).contains(&next.as_secs_f64()), "{next:?}");
    let (_, error) = state.last_error.unwrap();
    assert!(error.error.is_forbidden());
    assert_eq!(error.to_string(), "failed to list pods");
    assert_eq!(state.last_sync_resource_version, None);
    let played = rig.play(100 * SECOND).await;
    assert!(played.state.consecutive_failures >= 5);
}

#[tokio::test(start_paused = true)]
async fn failures_are_forgotten_when_events_come() {
    let server = FakeServer::new(|request, n| {
        match n {
            0 => "error 500",
            _ if request.starts_with("LIST") => "rv=10",
            _ => "wait 1000; added a@11; hang",
        }
        .to_owned()
    });
    let rig = Rig::start(server, list(), Arc::default());
    sleep(SECOND * 17 / 10).await;
    assert_eq!(rig.handle.state().consecutive_failures, 1);
    let played = rig.play(SECOND * 2).await;
    assert_eq!(played.state.consecutive_failures, 0);
    assert!(played.state.last_event.is_some());
}
