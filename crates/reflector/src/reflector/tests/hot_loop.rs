//! No answer of a server, however often it comes, makes a hot loop (decision 9).

use super::*;

/// Every status with which a server may refuse, with and without `Retry-After`.
fn statuses() -> Vec<String> {
    let mut answers = Vec::new();
    for code in [
        400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503,
        504,
    ] {
        for after in ["", " after 0", " after 1", " after 30"] {
            answers.push(format!("error {code}{after}"));
        }
    }
    answers
}

fn connection_errors() -> Vec<String> {
    [
        "refused",
        "connect",
        "reset",
        "eof",
        "timeout",
        "tls",
        "garbage",
        "too-large",
    ]
    .map(str::to_owned)
    .into()
}

/// Every failing answer to a watch: to the request, and within the stream.
fn failing_watches() -> Vec<String> {
    let mut answers = [statuses(), connection_errors()].concat();
    let in_stream: Vec<String> = answers
        .iter()
        .map(|answer| match answer.strip_prefix("error") {
            Some(status) => format!("event{status}"),
            None => format!("open; {answer}"),
        })
        .collect();
    answers.extend(in_stream);
    answers.extend(
        [
            "close",
            "added a@11; close",
            "added a@11; eof",
            "added a@11; event 410",
            "added a@11; event 429",
            "added a@11; garbage",
            "added a@11; wait 1000; close",
            "added a; close",
            "bookmark 11; close",
            "bookmark 12; garbage",
            "end 11; close",
            "end 11; garbage",
            "end 11; event 410",
            "end 11; event 500",
            "open; hang",
            "no answer",
            "wait 999; close",
            "wait 1001; close",
            "wait 1001; event 410",
            "wait 9000; close",
        ]
        .map(str::to_owned),
    );
    answers
}

/// Every failing answer to a list.
fn failing_lists() -> Vec<String> {
    let mut answers = [statuses(), connection_errors()].concat();
    answers.extend(
        [
            "a@1",
            "rv=10 continue=x a@1",
            "a@1 cut",
            "hang",
            "wait 100 cut",
        ]
        .map(str::to_owned),
    );
    answers
}

/// Requests of a virtual hour: a watch may fail as fast as it lives 10 s; everything
/// else backs off to at least 30 s.
const BOUND: usize = 450;

fn modes() -> [ReflectorOptions; 3] {
    [list(), watch_list(), ReflectorOptions::default()]
}

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
    let mut most = 0;
    let mut from = 0;
    for to in 0..times.len() {
        while times[to] - times[from] >= 60.0 {
            from += 1;
        }
        most = most.max(to - from + 1);
    }
    most
}

async fn assert_bounded(options: ReflectorOptions, to_list: &str, to_watch: &str) {
    let what = format!("{:?}, LIST: {to_list}, WATCH: {to_watch}", options.initial);
    let (to_list, to_watch) = (to_list.to_owned(), to_watch.to_owned());
    let played = hour(options, move |request, _| {
        let is_list = request.starts_with("LIST");
        if is_list { &to_list } else { &to_watch }.clone()
    })
    .await;
    let n = played.requests.len();
    assert!(n <= BOUND, "{what}: {n} requests");
    let minute = busiest_minute(&played);
    assert!(minute <= 40, "{what}: {minute} requests in a minute");
}

#[tokio::test(start_paused = true)]
async fn no_answer_to_a_watch_makes_a_hot_loop() {
    for options in modes() {
        for watch in failing_watches() {
            assert_bounded(options.clone(), "rv=10 a@1", &watch).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_to_a_watch_makes_a_hot_loop_where_lists_are_odd() {
    for watch in failing_watches() {
        // The list moves on; there is nothing to watch from; there are pages.
        for to_list in ["rv=11 a@1", "a@1"] {
            assert_bounded(ReflectorOptions::default(), to_list, &watch).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_to_a_list_makes_a_hot_loop() {
    for options in modes() {
        for to_list in failing_lists() {
            for watch in ["error 422", "open; garbage"] {
                assert_bounded(options.clone(), &to_list, watch).await;
            }
        }
    }
}

// After a good start, the same answers are no worse.
#[tokio::test(start_paused = true)]
async fn answers_that_turn_bad_later_make_no_hot_loop() {
    for options in modes() {
        for bad in failing_watches() {
            let answer = bad.clone();
            let played = hour(options.clone(), move |request, n| match n {
                _ if n >= 4 && request.starts_with("WATCH") => answer.clone(),
                _ if n >= 4 && crate::testing::error(&answer).is_some() => answer.clone(),
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
