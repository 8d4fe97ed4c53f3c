//! No answer of a server, however often it comes, makes a hot loop (decision 9).

use super::*;

/// Every failing answer, to requests and within streams.
fn failing() -> Vec<String> {
    let mut answers: Vec<String> = [
        "close",
        "open; eof",
        "open; reset",
        "open; timeout",
        "open; garbage",
        "added a@11; close",
        "added a@11; eof",
        "added a@11; event 410",
        "added a@11; event 429",
        "added a; close",
        "bookmark 11; close",
        "bookmark 12; garbage",
        "added a@11; wait 1000; close",
        "added a@11; garbage",
        "end 11; close",
        "end 11; garbage",
        "end 11; event 410",
        "end 11; event 500",
        "open; hang",
        "no answer",
        "wait 999; close",
        "wait 1001; close",
        "wait 9000; close",
        "wait 1001; event 410",
        "refused",
        "connect",
        "reset",
        "eof",
        "timeout",
        "tls",
        "garbage",
        "too-large",
        "open; too-large",
    ]
    .map(str::to_owned)
    .into();
    for code in [
        400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503,
        504,
    ] {
        for after in ["", " after 0", " after 1", " after 30"] {
            answers.push(format!("error {code}{after}"));
            answers.push(format!("event {code}{after}"));
        }
    }
    answers
}

/// How a server answers a LIST where LIST works, or does not.
fn lists() -> Vec<&'static str> {
    vec![
        "rv=10 a@1",
        "rv=11 a@1",
        "a@1",
        "rv=10 continue=x a@1",
        "cut",
        "hang",
        "refused",
        "reset",
        "garbage",
        "too-large",
        "error 401",
        "error 403",
        "error 404",
        "error 410",
        "error 422",
        "error 429",
        "error 429 after 1",
        "error 500",
        "error 503 after 1",
    ]
}

/// Requests of a virtual hour: at most one watch a second, and only while each brings
/// something new; everything else backs off to at least 30 s.
const BOUND: usize = 450;

async fn hour(
    options: ReflectorOptions,
    answers: impl Fn(&str, usize) -> String + Send + Sync + 'static,
) -> Played {
    Rig::start(FakeServer::new(answers), options, Arc::default())
        .play(3_600 * SECOND)
        .await
}

fn busiest_minute(played: &Played) -> usize {
    let mut times = vec![0.0];
    for gap in &played.gaps {
        times.push(times[times.len() - 1] + gap);
    }
    let in_minute = |from: &f64| {
        times
            .iter()
            .filter(|at| (*from..from + 60.0).contains(*at))
            .count()
    };
    times.iter().map(in_minute).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn no_pair_of_answers_makes_a_hot_loop() {
    for options in [list(), watch_list(), ReflectorOptions::default()] {
        for watch in failing() {
            for list in lists() {
                let (to_list, to_watch) = (list, watch.clone());
                let played = hour(options.clone(), move |request, _| {
                    if request.starts_with("LIST") {
                        to_list.to_owned()
                    } else {
                        to_watch.clone()
                    }
                })
                .await;
                let what = format!("{:?}, LIST: {list}, WATCH: {watch}", options.initial);
                let n = played.requests.len();
                assert!(n <= BOUND, "{what}: {n} requests");
                let minute = busiest_minute(&played);
                assert!(minute <= 60, "{what}: {minute} requests in a minute");
            }
        }
    }
}

// After a good start, the same answers are no worse.
#[tokio::test(start_paused = true)]
async fn answers_that_turn_bad_later_make_no_hot_loop() {
    for options in [list(), ReflectorOptions::default()] {
        for bad in failing() {
            let answer = bad.clone();
            let played = hour(options.clone(), move |request, n| match n {
                _ if n >= 4 => answer.clone(),
                _ if request.starts_with("LIST") => "rv=10 a@1".to_owned(),
                _ if request.starts_with("WATCHLIST") => {
                    "added a@1; end 10; wait 60000; close".to_owned()
                }
                _ => "wait 60000; close".to_owned(),
            })
            .await;
            let n = played.requests.len();
            assert!(n <= BOUND, "{bad}: {n} requests");
        }
    }
}

/// A server whose watches each bring something new and end at once: once a second.
#[tokio::test(start_paused = true)]
async fn endless_news_in_short_watches_are_paced() {
    let played = hour(list(), |request, n| {
        if request.starts_with("LIST") {
            "rv=10".to_owned()
        } else {
            format!("added a@{}; close", n + 100)
        }
    })
    .await;
    let n = played.requests.len();
    assert!((3_590..=3_602).contains(&n), "{n} requests");
    assert_eq!(played.state.counters.list_requests, 1);
}

// B26: the pace of a lasting outage
#[tokio::test(start_paused = true)]
async fn lasting_outage_settles_at_the_cap() {
    let played = hour(list(), |_, _| "error 403".to_owned()).await;
    let n = played.requests.len();
    assert!((70..=100).contains(&n), "{n} requests");
    assert!(
        played.gaps[6..]
            .iter()
            .all(|gap| (30.0..=60.0).contains(gap))
    );
    assert_eq!(played.errors.len(), n);
}
