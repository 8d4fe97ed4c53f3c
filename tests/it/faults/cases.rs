//! The table: what goes wrong, when, and what ends it.

use std::time::Duration;

use informers::Initial;
use informers_fake_apiserver::Fault;

/// One row.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) when: When,
    pub(super) heal: Heal,
    /// Only for informers that list so; `None`: for all.
    pub(super) initial: Option<Initial>,
    pub(super) faults: fn() -> Vec<Fault>,
}

/// When the fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// The first requests of all.
    AtFirst,
    /// The watch that is open.
    Watching,
    /// The next watch, after a disconnect.
    Rewatching,
    /// The list after a 410.
    Relisting,
    /// As the server is restored from a backup.
    RollingBack,
}

/// What ends the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heal {
    /// It strikes so many times, or does not keep an informer from its work.
    Itself,
    /// It is cleared once it has struck.
    Cleared,
    /// It is cleared, and everything is listed again.
    Relist,
}

use Heal::{Cleared, Itself, Relist};
use When::{AtFirst, Relisting, Rewatching, RollingBack, Watching};

const fn row(name: &'static str, when: When, heal: Heal, faults: fn() -> Vec<Fault>) -> Case {
    Case {
        name,
        when,
        heal,
        initial: None,
        faults,
    }
}

const fn watch_list(
    name: &'static str,
    when: When,
    heal: Heal,
    faults: fn() -> Vec<Fault>,
) -> Case {
    Case {
        initial: Some(Initial::WatchList),
        ..row(name, when, heal, faults)
    }
}

const fn list(name: &'static str, when: When, heal: Heal, faults: fn() -> Vec<Fault>) -> Case {
    Case {
        initial: Some(Initial::List),
        ..row(name, when, heal, faults)
    }
}

pub(super) const CASES: &[Case] = &[
    // Answers that are failures.
    row("400 at first", AtFirst, Itself, || {
        vec![Fault::status(400).times(1)]
    }),
    row("401 at first", AtFirst, Itself, || {
        vec![Fault::status(401).times(2)]
    }),
    row("403 at first, until cleared", AtFirst, Cleared, || {
        vec![Fault::forbidden()]
    }),
    row("404 at first, until cleared", AtFirst, Cleared, || {
        vec![Fault::missing_resource()]
    }),
    row("409 at first", AtFirst, Itself, || {
        vec![Fault::status(409).times(2)]
    }),
    row("410 at first", AtFirst, Itself, || {
        vec![Fault::status(410).times(2)]
    }),
    row("429 with a delay at first", AtFirst, Itself, || {
        vec![Fault::status(429).retry_after(1).times(1)]
    }),
    row("500 at first", AtFirst, Itself, || {
        vec![Fault::status(500).times(3)]
    }),
    row("503 without a delay at first", AtFirst, Itself, || {
        vec![Fault::status(503).times(3)]
    }),
    row("504 at first", AtFirst, Itself, || {
        vec![Fault::status(504).times(2)]
    }),
    row("401 for the next watch", Rewatching, Itself, || {
        vec![Fault::status(401).on_watch().times(2)]
    }),
    row("403 for the next watch", Rewatching, Cleared, || {
        vec![Fault::forbidden().on_watch()]
    }),
    row("404 for the next watch", Rewatching, Cleared, || {
        vec![Fault::missing_resource()]
    }),
    row("410 for the next watch", Rewatching, Itself, || {
        vec![Fault::status(410).on_watch().times(1)]
    }),
    row("429 for the next watch", Rewatching, Itself, || {
        vec![Fault::status(429).retry_after(1).on_watch().times(1)]
    }),
    row("500 for the next watch", Rewatching, Itself, || {
        vec![Fault::status(500).on_watch().times(3)]
    }),
    row("503 for the next watch", Rewatching, Itself, || {
        vec![Fault::status(503).on_watch().times(3)]
    }),
    row(
        "a failure with a Status of its own",
        Rewatching,
        Itself,
        || {
            let object = serde_json::json!({"kind": "Status", "status": "Failure", "code": 500, "details": null});
            vec![Fault::status(500).object(object).times(1)]
        },
    ),
    row("several failures in a row", Rewatching, Itself, || {
        vec![
            Fault::status(500).on_watch().times(1),
            Fault::reset().on_watch().times(1),
            Fault::status(410).on_watch().times(1),
            Fault::status(503).times(1),
        ]
    }),
    // Answers that are something else.
    row("a gateway's page at first", AtFirst, Itself, || {
        vec![Fault::body(502, "text/html", "<h1>Bad Gateway</h1>").times(2)]
    }),
    row(
        "a log-in page with code 200 at first",
        AtFirst,
        Itself,
        || vec![Fault::body(200, "text/html", "<h1>Log in</h1>").times(2)],
    ),
    row(
        "a log-in page for the next watch",
        Rewatching,
        Itself,
        || {
            vec![
                Fault::body(200, "text/html", "<h1>Log in</h1>")
                    .on_watch()
                    .times(1),
            ]
        },
    ),
    row("an empty body at first", AtFirst, Itself, || {
        vec![Fault::body(200, "application/json", "").times(2)]
    }),
    // ERROR events and bytes that are no events.
    row("ERROR 410 within the watch", Watching, Itself, || {
        vec![Fault::error_event(410).now()]
    }),
    row("ERROR 500 within the watch", Watching, Itself, || {
        vec![Fault::error_event(500).now()]
    }),
    row("ERROR 504 within the watch", Watching, Itself, || {
        vec![Fault::error_event(504).now()]
    }),
    row("ERROR 410 after two events", Rewatching, Itself, || {
        vec![Fault::error_event(410).after_events(2).times(1)]
    }),
    row("ERROR among the initial events", AtFirst, Itself, || {
        vec![Fault::error_event(500).after_events(3).times(1).on_watch()]
    }),
    row(
        "a line that is no JSON within the watch",
        Watching,
        Itself,
        || vec![Fault::malformed_line().now()],
    ),
    row(
        "a line that is no JSON at the start",
        AtFirst,
        Itself,
        || vec![Fault::malformed_line().times(1)],
    ),
    row(
        "empty lines and CRLF within the watch",
        Watching,
        Itself,
        || vec![Fault::raw("\r\n").now(), Fault::raw("\n\n").now()],
    ),
    row("an event of an unknown type", Watching, Itself, || {
        let event = r#"{"type":"TRANSFERRED","object":{"metadata":{"name":"map-0","namespace":"default","resourceVersion":"1"}}}"#;
        vec![Fault::raw(format!("{event}\n")).now()]
    }),
    row(
        "an event without a resource version",
        Watching,
        Itself,
        || {
            let event = r#"{"type":"MODIFIED","object":{"metadata":{"name":"map-0","namespace":"default"}}}"#;
            vec![Fault::raw(format!("{event}\n")).now()]
        },
    ),
    // Connections.
    row("cut within the first answer", AtFirst, Itself, || {
        vec![Fault::cut(1000).times(1)]
    }),
    row("cut before the first byte", AtFirst, Itself, || {
        vec![Fault::cut(0).times(1)]
    }),
    row("cut in the middle of a chunk", AtFirst, Itself, || {
        vec![Fault::cut(1000).mid_chunk().times(1)]
    }),
    row("reset within the first answer", AtFirst, Itself, || {
        vec![Fault::cut(1000).by_reset().times(1)]
    }),
    row("reset instead of an answer", AtFirst, Itself, || {
        vec![Fault::reset().times(2)]
    }),
    row("the watch is cut", Watching, Itself, || {
        vec![Fault::cut(0).now()]
    }),
    row(
        "the watch is cut in the middle of a chunk",
        Watching,
        Itself,
        || vec![Fault::cut(0).mid_chunk().now()],
    ),
    row("the watch is reset", Watching, Itself, || {
        vec![Fault::cut(0).by_reset().now()]
    }),
    row(
        "the next watch is cut within an event",
        Rewatching,
        Itself,
        || vec![Fault::cut(150).on_watch().times(1)],
    ),
    row("the relist is cut", Relisting, Itself, || {
        vec![Fault::cut(500).skip(1).times(1)]
    }),
    row("GOAWAY at first", AtFirst, Itself, || {
        vec![Fault::goaway().times(2)]
    }),
    row("GOAWAY within the watch", Watching, Itself, || {
        vec![Fault::goaway().now()]
    }),
    // Silence.
    row("headers, then silence at first", AtFirst, Itself, || {
        vec![Fault::stall().times(1)]
    }),
    row("silence within the first answer", AtFirst, Itself, || {
        vec![Fault::stall().after_bytes(2000).times(1)]
    }),
    row("no headers at first", AtFirst, Itself, || {
        vec![Fault::hang().times(1)]
    }),
    row("no headers for the next watch", Rewatching, Itself, || {
        vec![Fault::hang().on_watch().times(1)]
    }),
    row("the watch falls silent", Watching, Itself, || {
        vec![Fault::stall().now()]
    }),
    row("a black hole at first", AtFirst, Itself, || {
        vec![Fault::black_hole().times(1)]
    }),
    row("a black hole within the watch", Watching, Itself, || {
        vec![Fault::black_hole().now()]
    }),
    row("a pause within the first answer", AtFirst, Itself, || {
        vec![
            Fault::stall()
                .after_bytes(500)
                .lasting(Duration::from_millis(100))
                .times(1),
        ]
    }),
    row("late answers", AtFirst, Itself, || {
        vec![Fault::delay(Duration::from_millis(100)).times(3)]
    }),
    row("a slow server", AtFirst, Cleared, || {
        vec![Fault::slow_writer(20_000)]
    }),
    row("a server that reads slowly", AtFirst, Cleared, || {
        vec![Fault::slow_reader(4000)]
    }),
    // What the server knows.
    row("events are lost", Rewatching, Relist, || {
        vec![Fault::drop_events()]
    }),
    row("deletes are lost", Rewatching, Relist, || {
        vec![Fault::drop_events().of_type("DELETED")]
    }),
    row("events of one object are lost", Rewatching, Relist, || {
        vec![Fault::drop_events().of_object("default/map-5")]
    }),
    row(
        "the history is gone for the next watch",
        Rewatching,
        Itself,
        || vec![Fault::compact().on_watch()],
    ),
    // Watches from the server's future are refused, as B09 has it; a server that lets them
    // wait in silence gives no client a sign.
    row("restored from a backup", RollingBack, Itself, || {
        vec![Fault::too_large_resource_version().on_watch().times(2)]
    }),
    row("a replica that is behind at first", AtFirst, Itself, || {
        vec![Fault::replica_lag(5).times(1)]
    }),
    row(
        "a replica that is behind for the next watch",
        Rewatching,
        Itself,
        || vec![Fault::replica_lag(5).times(2)],
    ),
    row(
        "a version that is too new for the relist",
        Relisting,
        Itself,
        || vec![Fault::too_large_resource_version().times(2)],
    ),
    row(
        "a version that is too new at first",
        AtFirst,
        Itself,
        || vec![Fault::too_large_resource_version().times(2)],
    ),
    // Ways to list.
    list("a later page expires", Relisting, Itself, || {
        vec![Fault::expired_continue().times(1)]
    }),
    list("a later page is inconsistent", Relisting, Itself, || {
        vec![Fault::inconsistent_continue().times(1)]
    }),
    list("a later page is refused", Relisting, Itself, || {
        vec![Fault::status(500).on_continue().times(1)]
    }),
    list("a later page is cut", Relisting, Itself, || {
        vec![Fault::cut(300).on_continue().times(1)]
    }),
    row("compressed answers", AtFirst, Cleared, || {
        vec![Fault::gzip()]
    }),
    watch_list("no WatchList", AtFirst, Cleared, || {
        vec![Fault::watch_list_refused()]
    }),
    watch_list("a WatchList without an answer", AtFirst, Cleared, || {
        vec![Fault::watch_list_silent()]
    }),
    watch_list("a WatchList without its end", AtFirst, Cleared, || {
        vec![Fault::watch_list_without_end()]
    }),
    watch_list(
        "a WatchList that is cut every time",
        AtFirst,
        Cleared,
        || vec![Fault::cut(3000).on_watch_list()],
    ),
    watch_list(
        "a later page of the fallback expires",
        Relisting,
        Cleared,
        || {
            vec![
                Fault::watch_list_refused(),
                Fault::expired_continue().times(1),
            ]
        },
    ),
    watch_list(
        "a later page of the fallback is inconsistent",
        Relisting,
        Cleared,
        || {
            vec![
                Fault::watch_list_refused(),
                Fault::inconsistent_continue().times(1),
            ]
        },
    ),
];
