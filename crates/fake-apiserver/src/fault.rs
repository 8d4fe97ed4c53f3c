//! Faults: what can be made to go wrong, for which requests, and how often.

mod action;
mod set;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::action::duration;
pub(crate) use self::action::{Action, Cut, StatusFault};
pub use self::set::{ActiveFault, FaultId, Faults};
pub(crate) use self::set::{FaultSet, OpenWatches, Struck, WatchGuard};
use crate::request::{RequestRecord, Verb};

/// Something that goes wrong with matching requests.
///
/// A fault says what happens (`Fault::status(429)`), then for which requests (`.on_watch()`,
/// `.on_resource("pods")`), then how often (`.times(2)`). Without a matcher it meets every
/// request below `/api` and `/apis` and all others but `/_fake`; without `times` it meets
/// them until [`Faults::clear`], except compaction and rollback, which happen once.
///
/// The README has one example for each kind, in Rust and in JSON.
///
/// # Examples
///
/// ```
/// # use informers_fake_apiserver::{FakeApiServer, Fault};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let server = FakeApiServer::start().await?;
/// server.faults().inject(Fault::status(429).retry_after(1).on_watch().times(2));
/// # server.shutdown().await; Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    #[serde(flatten)]
    pub(crate) action: Action,
    #[serde(flatten)]
    pub(crate) matcher: Matcher,
    /// How many requests it meets; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<u64>,
    /// Stream faults: after this many watch events instead of at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after_events: Option<u64>,
    /// Strike the watches that are open now instead of requests to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) now: bool,
}

/// Which requests a fault meets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matcher {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verb: Option<Verb>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// Only requests with (true) or without (false) a continue token.
    #[serde(rename = "continue", default, skip_serializing_if = "Option::is_none")]
    pub(crate) continued: Option<bool>,
    /// Only the nth of the requests that match otherwise, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nth: Option<u64>,
    /// Not the first so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skip: Option<u64>,
    /// Only clients whose User-Agent contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
}

impl Matcher {
    /// Whether the request is of the kind, before counting.
    pub(crate) fn matches(&self, request: &RequestRecord) -> bool {
        let verb = self.verb.is_none_or(|verb| {
            // A WatchList is a watch too.
            verb == request.verb || (verb == Verb::Watch && request.verb == Verb::WatchList)
        });
        verb && self
            .resource
            .as_ref()
            .is_none_or(|r| request.plural.as_ref() == Some(r))
            && self
                .namespace
                .as_ref()
                .is_none_or(|ns| request.namespace.as_ref() == Some(ns))
            && self
                .continued
                .is_none_or(|c| c == request.param("continue").is_some_and(|t| !t.is_empty()))
            && self
                .user_agent
                .as_ref()
                .is_none_or(|ua| request.user_agent.contains(ua.as_str()))
    }
}

impl Fault {
    fn of(action: Action) -> Self {
        Self {
            action,
            matcher: Matcher::default(),
            times: None,
            after_events: None,
            now: false,
        }
    }

    /// Answers with this status code and a `Status` body.
    pub fn status(code: u16) -> Self {
        Self::of(Action::Status(StatusFault {
            code,
            ..StatusFault::default()
        }))
    }

    /// Answers 403 Forbidden.
    pub fn forbidden() -> Self {
        Self::status(403)
    }

    /// Answers 404, as for a resource whose definition was removed, until cleared.
    pub fn missing_resource() -> Self {
        Self::status(404)
    }

    /// Answers with this status code, content type and body, whatever was asked.
    pub fn body(code: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = String::from_utf8_lossy(&body.into()).into_owned();
        Self::of(Action::Body {
            code,
            content_type: content_type.to_owned(),
            body,
        })
    }

    /// Ends the watch with an ERROR event that carries this code.
    pub fn error_event(code: u16) -> Self {
        Self::of(Action::ErrorEvent(StatusFault {
            code,
            ..StatusFault::default()
        }))
    }

    /// Sends these bytes within the stream, then goes on.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Action::Raw { data: bytes.into() })
    }

    /// Sends a line that is no JSON within the watch, then goes on.
    pub fn malformed_line() -> Self {
        Self::raw(&b"{\"type\":\"MODIFIED\",\"object\":{\"kind\":\n"[..])
    }

    /// Closes the connection (FIN) after this many bytes of the body.
    pub fn cut(after_bytes: u64) -> Self {
        Self::of(Action::Cut {
            after_bytes,
            how: Cut::Fin,
        })
    }

    /// Sends the headers, then nothing more; the connection stays open.
    pub fn stall() -> Self {
        Self::of(Action::Stall {
            after_bytes: 0,
            seconds: None,
        })
    }

    /// Sends not even the headers; the connection stays open.
    pub fn hang() -> Self {
        Self::of(Action::Hang { seconds: None })
    }

    /// Waits before it answers as usual.
    pub fn delay(delay: Duration) -> Self {
        Self::of(Action::Delay {
            seconds: delay.as_secs_f64(),
        })
    }

    /// Loses watch events: the objects change, the watch does not say so.
    pub fn drop_events() -> Self {
        Self::of(Action::DropEvents {
            event: None,
            object: None,
        })
    }

    /// Forgets the event history, so that older revisions get 410. Without a matcher at once,
    /// with one as the matching request arrives.
    pub fn compact() -> Self {
        Self::of(Action::Compact)
    }

    /// Takes state and revision back ("restored from a backup"). Without a matcher at once,
    /// with one as the matching request arrives.
    pub fn rollback(revision: u64) -> Self {
        Self::of(Action::Rollback { revision })
    }

    /// HTTP/2: sends GOAWAY and answers what is open; HTTP/1.1: the answer is the connection's last.
    pub fn goaway() -> Self {
        Self::of(Action::GoAway)
    }

    /// Resets the TCP connection (RST) instead of answering.
    pub fn reset() -> Self {
        Self::of(Action::Reset)
    }

    /// Stops reading from and writing to the connection and keeps it open: a dead peer.
    pub fn black_hole() -> Self {
        Self::of(Action::BlackHole)
    }

    /// Writes at most this many bytes a second to the connection from now on.
    pub fn slow_writer(bytes_per_second: u64) -> Self {
        Self::of(Action::SlowWriter { bytes_per_second })
    }

    /// Reads at most this many bytes a second from the connection from now on.
    pub fn slow_reader(bytes_per_second: u64) -> Self {
        Self::of(Action::SlowReader { bytes_per_second })
    }

    /// Answers reads as a replica does that is this many revisions behind.
    pub fn replica_lag(revisions: u64) -> Self {
        Self::of(Action::ReplicaLag { revisions })
    }

    /// Answers requests for a later page with 410 and no token to go on with.
    pub fn expired_continue() -> Self {
        Self::of(Action::ExpiredContinue {
            inconsistent: false,
        })
        .on_continue()
    }

    /// Answers requests for a later page with 410 and a token for an inconsistent rest.
    pub fn inconsistent_continue() -> Self {
        Self::of(Action::ExpiredContinue { inconsistent: true }).on_continue()
    }

    /// Answers 504 as a server does that has not seen the resource version yet.
    pub fn too_large_resource_version() -> Self {
        Self::of(Action::TooLargeResourceVersion)
    }

    /// Answers WatchList requests with 422, as a server without the feature.
    pub fn watch_list_refused() -> Self {
        let status = StatusFault {
            code: 422,
            reason: Some("Invalid".to_owned()),
            message: Some(
                "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch".to_owned(),
            ),
            ..StatusFault::default()
        };
        Self::of(Action::Status(status)).on_watch_list()
    }

    /// Answers WatchList requests with headers and silence.
    pub fn watch_list_silent() -> Self {
        Self::stall().on_watch_list()
    }

    /// Answers WatchList requests without the bookmark that ends the initial events.
    pub fn watch_list_without_end() -> Self {
        Self::of(Action::WatchListWithoutEnd).on_watch_list()
    }

    /// Compresses the answer with gzip, watches too (each event is flushed as it is sent).
    pub fn gzip() -> Self {
        Self::of(Action::Gzip)
    }
}

/// Details of what happens; each applies to the kinds its text names and is ignored by the others.
impl Fault {
    /// Status and ERROR event: seconds the client is asked to wait.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.with_status(|s| s.retry_after = Some(seconds));
        self
    }

    /// Status and ERROR event: the reason.
    #[must_use]
    pub fn reason(mut self, reason: &str) -> Self {
        self.with_status(|s| s.reason = Some(reason.to_owned()));
        self
    }

    /// Status and ERROR event: the message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.with_status(|s| s.message = Some(message.to_owned()));
        self
    }

    /// Status and ERROR event: the whole object in place of the `Status`.
    #[must_use]
    pub fn object(mut self, object: Value) -> Self {
        self.with_status(|s| s.object = Some(object));
        self
    }

    /// Cut: by RST.
    #[must_use]
    pub fn by_reset(mut self) -> Self {
        self.with_cut(Cut::Rst);
        self
    }

    /// Cut: by FIN in the middle of a chunk (HTTP/1.1) or DATA frame (HTTP/2). Under TLS the
    /// byte count is of the encrypted stream, and the last record is lost.
    #[must_use]
    pub fn mid_chunk(mut self) -> Self {
        self.with_cut(Cut::MidChunk);
        self
    }

    /// Stall: after this many bytes of the body.
    #[must_use]
    pub fn after_bytes(mut self, bytes: u64) -> Self {
        if let Action::Stall { after_bytes, .. } | Action::Cut { after_bytes, .. } =
            &mut self.action
        {
            *after_bytes = bytes;
        }
        self
    }

    /// Stall and hang: go on after this time.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        if let Action::Stall { seconds, .. } | Action::Hang { seconds } = &mut self.action {
            *seconds = Some(time.as_secs_f64());
        }
        self
    }

    /// Lost events: only those of this type (`ADDED`, `MODIFIED`, `DELETED`).
    #[must_use]
    pub fn of_type(mut self, event_type: &str) -> Self {
        if let Action::DropEvents { event, .. } = &mut self.action {
            *event = Some(event_type.to_owned());
        }
        self
    }

    /// Lost events: only those of this object, `namespace/name` or `name`.
    #[must_use]
    pub fn of_object(mut self, key: &str) -> Self {
        if let Action::DropEvents { object, .. } = &mut self.action {
            *object = Some(key.to_owned());
        }
        self
    }

    /// ERROR event, raw, cut, stall, reset, black hole, GOAWAY: after this many events of the watch.
    #[must_use]
    pub fn after_events(mut self, events: u64) -> Self {
        self.after_events = Some(events);
        self
    }

    fn with_status(&mut self, change: impl FnOnce(&mut StatusFault)) {
        if let Action::Status(status) | Action::ErrorEvent(status) = &mut self.action {
            change(status);
        }
    }

    fn with_cut(&mut self, to: Cut) {
        if let Action::Cut { how, .. } = &mut self.action {
            *how = to;
        }
    }
}

/// Which requests, and how often.
impl Fault {
    /// Requests of this verb. [`Verb::Watch`] means watches of both kinds.
    #[must_use]
    pub fn on(mut self, verb: Verb) -> Self {
        self.matcher.verb = Some(verb);
        self
    }

    /// LIST requests.
    #[must_use]
    pub fn on_list(self) -> Self {
        self.on(Verb::List)
    }

    /// Watches, with or without `sendInitialEvents`.
    #[must_use]
    pub fn on_watch(self) -> Self {
        self.on(Verb::Watch)
    }

    /// Watches with `sendInitialEvents=true`.
    #[must_use]
    pub fn on_watch_list(self) -> Self {
        self.on(Verb::WatchList)
    }

    /// GET of one object.
    #[must_use]
    pub fn on_get(self) -> Self {
        self.on(Verb::Get)
    }

    /// LIST requests with a continue token.
    #[must_use]
    pub fn on_continue(mut self) -> Self {
        self.matcher.continued = Some(true);
        self.on_list()
    }

    /// Requests for this resource, by its plural.
    #[must_use]
    pub fn on_resource(mut self, plural: &str) -> Self {
        self.matcher.resource = Some(plural.to_owned());
        self
    }

    /// Requests within this namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.matcher.namespace = Some(namespace.to_owned());
        self
    }

    /// Clients whose User-Agent contains this text.
    #[must_use]
    pub fn from_user_agent(mut self, text: &str) -> Self {
        self.matcher.user_agent = Some(text.to_owned());
        self
    }

    /// Only the nth matching request from now on, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.matcher.nth = Some(n);
        self
    }

    /// Not the first so many matching requests.
    #[must_use]
    pub fn skip(mut self, requests: u64) -> Self {
        self.matcher.skip = Some(requests);
        self
    }

    /// At most so many requests (for lost events: so many events).
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Strikes the matching watches that are open now instead of requests to come; for
    /// ERROR event, raw, cut, stall, reset, black hole and GOAWAY.
    #[must_use]
    pub fn now(mut self) -> Self {
        self.now = true;
        self
    }
}

#[cfg(test)]
mod tests;
