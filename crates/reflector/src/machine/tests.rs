//! The decisions as data: what came, and what comes next. Whole scenarios are in
//! `reflector/tests`.

use super::*;
use crate::testing::{error, rv};

const SECOND: Duration = Duration::from_secs(1);

/// A machine without jitter, at a time of its own.
struct Desk {
    machine: Machine,
    now: Instant,
}

impl Desk {
    fn new(initial: Initial) -> Self {
        let options = ReflectorOptions {
            initial,
            backoff: BackoffOptions {
                jitter: 0.0,
                ..BackoffOptions::default()
            },
            ..ReflectorOptions::default()
        };
        let settings = Settings::new(&options, true);
        Self {
            machine: Machine::new(settings, fastrand::Rng::with_seed(3)),
            now: Instant::now(),
        }
    }

    /// `start`, `page 10`, `page 10 x`, `list error 410`, `replaced`, `open`, `at 11`,
    /// `close 200`, `failed 200 eof`, `refused error 429`, `event error 410`, `silent`,
    /// `marker 10`, `pass 500`: what follows, as `+DELAY REQUEST`.
    fn tell(&mut self, line: &str) -> String {
        let mut words = line.splitn(2, ' ');
        let verb = words.next().unwrap_or_default();
        let rest = words.next().unwrap_or_default();
        let lived = |text: &str| {
            let millis = text.split(' ').next().and_then(|word| word.parse().ok());
            Duration::from_millis(millis.unwrap_or(0))
        };
        let named = |text: &str| error(text).expect("an error");
        let now = self.now;
        let machine = &mut self.machine;
        let end = |machine: &mut Machine, end| machine.on_watch_end(end, Duration::ZERO, now);
        let step = match verb {
            "start" => machine.start(now),
            "page" => {
                let (version, token) = rest.split_once(' ').unwrap_or((rest, ""));
                let meta = ListMeta {
                    resource_version: ResourceVersion::new(version),
                    continue_token: Some(token.to_owned()),
                    remaining_item_count: None,
                };
                machine.on_page(meta, now)
            }
            "list" => machine.on_list_error(named(rest), now),
            "replaced" => machine.on_replaced(now),
            "store" => {
                let refusal = informers_cache_core::StoreError::new("full");
                machine.on_store_error(refusal.into(), now)
            }
            "marker" => machine.on_initial_events_end(rv(rest)),
            "close" => machine.on_watch_end(WatchEnd::Closed, lived(rest), now),
            "failed" => {
                let (_, what) = rest.split_once(' ').expect("an error");
                machine.on_watch_end(WatchEnd::Failed(named(what)), lived(rest), now)
            }
            "refused" => end(machine, WatchEnd::Refused(named(rest))),
            "event" => end(machine, WatchEnd::Event(named(rest))),
            "silent" => end(machine, WatchEnd::Silent),
            "deadline" => end(machine, WatchEnd::Deadline),
            "open" => {
                machine.on_watch_open(now);
                return String::new();
            }
            "at" => {
                machine.on_applied(rv(rest));
                return String::new();
            }
            "pass" => {
                self.now += lived(rest);
                return String::new();
            }
            _ => panic!("no such line: {line}"),
        };
        show(&step)
    }

    /// `line => what follows`, for each line of `scenario`.
    fn play(mut self, scenario: &str) {
        for line in scenario.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let (told, wanted) = line.split_once("=>").unwrap_or((line, ""));
            let got = self.tell(told.trim());
            assert_eq!(got, wanted.trim(), "after {told:?} in {scenario}");
        }
    }
}

fn show(step: &Step) -> String {
    let version =
        |rv: &Option<ResourceVersion>| rv.as_ref().map_or("-", |rv| rv.as_str()).to_owned();
    let list = |options: &ListOptions| match &options.continue_token {
        Some(token) => format!("page {token}"),
        None => format!(
            "list {} limit {}",
            version(&options.resource_version),
            options.limit.unwrap_or(0)
        ),
    };
    let action = match &step.action {
        Action::ListFirst(options) | Action::ListNext(options) => list(options),
        Action::Replace(rv) => format!("replace {}", version(rv)),
        Action::WatchList(options) => format!("watchlist {}", version(&options.resource_version)),
        Action::Watch(options) => format!("watch {}", version(&options.resource_version)),
        Action::KeepWatching => "keep".to_owned(),
    };
    let delay = step.delay.as_millis();
    let quiet = match &step.failure {
        Some(failure) if failure.is_quiet => " quietly",
        Some(_) => " reported",
        None => "",
    };
    let relist = step
        .relist
        .map_or(String::new(), |cause| format!(" {cause:?}"));
    format!("+{delay} {action}{quiet}{relist}")
}

#[test]
fn list_then_watch_then_end_of_life() {
    Desk::new(Initial::List).play(
        "start => +0 list 0 limit 500
         page 10 => +0 replace 10
         replaced => +0 watch 10
         open
         at 11
         close 400000 => +0 watch 11
         open
         deadline => +0 watch 11
         open
         close 20000 => +0 watch 11",
    );
}

// B24, B25
#[test]
fn short_watches_ramp_up_until_one_proves_itself() {
    Desk::new(Initial::List).play(
        "start => +0 list 0 limit 500
         page 10 => +0 replace 10
         replaced => +0 watch 10
         close 5000 => +0 watch 10
         close 5000 => +800 watch 10
         failed 5000 eof => +1600 watch 10 quietly
         close 100 => +3200 watch 10
         close 10000 => +0 watch 10
         close 100 => +800 watch 10
         at 11
         close 100 => +900 watch 11
         close 1000 => +0 watch 11",
    );
}

#[test]
fn each_kind_of_watch_error_goes_its_way() {
    for (line, wanted) in [
        ("refused error 410", "+800 list 10 limit 0 reported Expired"),
        ("event error 410", "+800 list 10 limit 0 reported Expired"),
        (
            "event too-large",
            "+1000 list - limit 500 reported TooLarge",
        ),
        (
            "refused too-large",
            "+1000 list - limit 500 reported TooLarge",
        ),
        (
            "failed 0 garbage",
            "+800 list - limit 500 reported Unreadable",
        ),
        (
            "refused error 500",
            "+800 list 10 limit 0 reported WatchFailed",
        ),
        (
            "event error 500",
            "+800 list 10 limit 0 reported WatchFailed",
        ),
        (
            "refused error 401",
            "+800 list 10 limit 0 reported WatchFailed",
        ),
        ("refused tls", "+800 list 10 limit 0 reported WatchFailed"),
        ("refused error 429", "+800 watch 10 reported"),
        ("event error 429 after 7", "+7000 watch 10 reported"),
        ("refused error 503 after 7", "+7000 watch 10 reported"),
        // An answer that will not change: the time it states means nothing.
        (
            "refused error 403 after 7",
            "+800 list 10 limit 0 reported WatchFailed",
        ),
        ("refused refused", "+800 watch 10 reported"),
        ("refused timeout", "+800 watch 10 reported"),
        ("failed 0 reset", "+800 watch 10 quietly"),
        ("failed 2000 reset", "+0 watch 10 quietly"),
        ("store", "+800 list 10 limit 0 reported Store"),
    ] {
        Desk::new(Initial::List).play(&format!(
            "start => +0 list 0 limit 500
             page 10 => +0 replace 10
             replaced => +0 watch 10
             {line} => {wanted}"
        ));
    }
}

#[test]
fn cycle_backoff_restarts_after_two_healthy_minutes() {
    Desk::new(Initial::List).play(
        "start => +0 list 0 limit 500
         list error 500 => +800 list 0 limit 500 reported ListFailed
         list error 500 => +1600 list 0 limit 500 reported ListFailed
         page 10 => +0 replace 10
         replaced => +0 watch 10
         open
         pass 119000
         event error 500 => +3200 list 10 limit 0 reported WatchFailed
         page 10 => +0 replace 10
         replaced => +0 watch 10
         open
         pass 120000
         event error 500 => +800 list 10 limit 0 reported WatchFailed",
    );
}

// §2.6
#[test]
fn watch_list_and_its_ways_back() {
    for (line, wanted) in [
        ("marker 10", "+0 replace 10"),
        ("refused error 422", "+0 list 0 limit 500 reported"),
        ("refused error 500", "+0 list 0 limit 500 reported"),
        ("event error 500", "+0 list 0 limit 500 reported"),
        ("refused error 410", "+0 list 0 limit 500 reported"),
        ("failed 0 garbage", "+0 list 0 limit 500 reported"),
        ("silent", "+0 list 0 limit 500 reported"),
        ("refused error 429 after 2", "+2000 watchlist - reported"),
        ("refused refused", "+800 watchlist - reported"),
        ("close 0", "+800 watchlist - quietly"),
        ("failed 0 eof", "+800 watchlist - quietly"),
    ] {
        for initial in [Initial::Auto, Initial::WatchList] {
            Desk::new(initial).play(&format!("start => +0 watchlist -\n{line} => {wanted}"));
        }
    }
}

#[test]
fn watch_list_begins_at_the_position_until_that_is_refused() {
    Desk::new(Initial::Auto).play(
        "start => +0 watchlist -
         marker 10 => +0 replace 10
         replaced => +0 keep
         open
         at 12
         event error 410 => +800 watchlist 12 reported Expired
         refused error 410 => +0 watchlist - reported
         refused error 410 => +0 list - limit 500 reported
         page 20 => +0 replace 20
         replaced => +0 watch 20",
    );
}

#[test]
fn memory_of_a_server_without_watch_list_lasts_ten_minutes() {
    for (initial, soon) in [
        (Initial::Auto, "list 10 limit 0"),
        (Initial::WatchList, "watchlist 10"),
    ] {
        Desk::new(initial).play(&format!(
            "start => +0 watchlist -
             refused error 400 => +0 list 0 limit 500 reported
             page 10 => +0 replace 10
             replaced => +0 watch 10
             pass 599000
             event error 410 => +800 {soon} reported Expired"
        ));
        Desk::new(initial).play(
            "start => +0 watchlist -
             refused error 400 => +0 list 0 limit 500 reported
             page 10 => +0 replace 10
             replaced => +0 watch 10
             pass 600000
             event error 410 => +800 watchlist 10 reported Expired",
        );
    }
}

#[test]
fn third_early_close_falls_back() {
    Desk::new(Initial::Auto).play(
        "start => +0 watchlist -
         close 0 => +800 watchlist - quietly
         close 3000 => +1600 watchlist - quietly
         close 0 => +0 list 0 limit 500 reported
         list error 500 => +3200 list 0 limit 500 reported ListFailed",
    );
}

#[test]
fn every_watch_asks_for_an_end_within_the_users_time() {
    let mut desk = Desk::new(Initial::List);
    let mut longest = Duration::ZERO;
    let mut shortest = Duration::MAX;
    for _ in 0..500 {
        let timeout = desk.machine.watch_timeout();
        assert_eq!(timeout.subsec_nanos(), 0);
        longest = longest.max(timeout);
        shortest = shortest.min(timeout);
    }
    assert!((300 * SECOND..310 * SECOND).contains(&shortest));
    assert!((590 * SECOND..600 * SECOND).contains(&longest));
}
