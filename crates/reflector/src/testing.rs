//! Doubles for the tests: a server that plays a script, and a store that records.
//!
//! A script is text. An answer to LIST: `rv=10 a@1 b@2`, `rv=10 continue=x a@1`,
//! `bad@3` for an object that does not decode, `wait 1500 rv=…`, `cut`, `hang`. To
//! WATCH: `added b@11; modified b@12; deleted b@13; bad b@14; bookmark 15; end 16` (the
//! marker), `garbage`, `close`, `reset`, `eof`, `hang`, `wait 200`, `event 410`. To
//! both: `error 429 after 1`, `refused`, `timeout`, `too-large`.

use std::fmt::Write as _;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use informers_cache_core::{
    Change, ListItem, Object, ObjectName, ReflectorStore, Replacement, ResourceVersion, StoreError,
    Undecodable,
};
use tokio::time::{Instant, sleep};

use crate::{
    Error, ListMeta, ListOptions, ListPart, ListStream, ListerWatcher, StatusCause, StatusError,
    TransportKind, WatchEvent, WatchOptions, WatchStart, WatchStream,
};

/// An object of the tests.
pub(crate) struct Obj {
    name: String,
    version: String,
}

impl Object for Obj {
    fn name(&self) -> &str {
        &self.name
    }
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn uid(&self) -> Option<&str> {
        None
    }
    fn resource_version(&self) -> Option<&str> {
        Some(&*self.version).filter(|version| !version.is_empty())
    }
    fn label(&self, _key: &str) -> Option<&str> {
        None
    }
}

/// `name@version`.
fn obj(text: &str) -> Obj {
    let (name, version) = text.split_once('@').unwrap_or((text, ""));
    Obj {
        name: name.to_owned(),
        version: version.to_owned(),
    }
}

fn bad(text: &str) -> Undecodable {
    let obj = obj(text);
    Undecodable {
        name: ObjectName::of(&obj),
        uid: None,
        resource_version: ResourceVersion::new(&obj.version),
        path: "spec.priority".to_owned(),
        message: "expected a number".to_owned(),
    }
}

pub(crate) fn rv(text: &str) -> ResourceVersion {
    ResourceVersion::new(text).expect("a version in a test")
}

/// The error that `text` names; `None` if it names none.
pub(crate) fn error(text: &str) -> Option<Error> {
    let transport = |kind| Some(Error::transport(kind, "by script"));
    let mut words = text.split_whitespace();
    match words.next()? {
        "refused" => transport(TransportKind::Refused),
        "connect" => transport(TransportKind::Connect),
        "reset" => transport(TransportKind::Reset),
        "eof" => transport(TransportKind::Eof),
        "timeout" => transport(TransportKind::Timeout),
        "tls" => transport(TransportKind::Tls),
        "garbage" => Some(Error::decode("a watch event", "by script")),
        "too-large" => Some(Error::from_status(StatusError {
            code: 504,
            reason: "Timeout".to_owned(),
            causes: vec![StatusCause {
                reason: "ResourceVersionTooLarge".to_owned(),
                ..StatusCause::default()
            }],
            retry_after: Some(Duration::from_secs(1)),
            ..StatusError::default()
        })),
        "error" | "event" => {
            let code = words.next()?.parse().expect("a code");
            let after = words.nth(1).map(|secs| secs.parse().expect("seconds"));
            Some(Error::http(code, "", after.map(Duration::from_secs)))
        }
        _ => None,
    }
}

type Answers = dyn Fn(&str, usize) -> String + Send + Sync;

/// A server that answers each request with what a function of the request (and its
/// number) writes.
pub(crate) struct FakeServer {
    answers: Box<Answers>,
    pub(crate) log: Mutex<Vec<(Instant, String)>>,
    pub(crate) watch_list: bool,
}

impl FakeServer {
    pub(crate) fn new(answers: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Self {
        Self {
            answers: Box::new(answers),
            log: Mutex::default(),
            watch_list: true,
        }
    }

    fn answer(&self, request: &str) -> String {
        let mut log = self.log.lock().unwrap();
        log.push((Instant::now(), request.to_owned()));
        let answer = (self.answers)(request, log.len() - 1);
        drop(log);
        answer
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.iter().map(|(_, request)| request.clone()).collect()
    }
}

fn list_line(options: &ListOptions) -> String {
    let mut line = "LIST".to_owned();
    if let Some(version) = &options.resource_version {
        let _ = write!(line, " rv={version}");
    }
    if let Some(version_match) = options.version_match {
        let _ = write!(line, " match={}", version_match.as_str());
    }
    if let Some(limit) = options.limit {
        let _ = write!(line, " limit={limit}");
    }
    if let Some(token) = &options.continue_token {
        let _ = write!(line, " continue={token}");
    }
    line
}

fn watch_line(options: &WatchOptions) -> String {
    assert!(options.allow_bookmarks);
    assert!(options.timeout >= Duration::from_secs(1));
    assert_eq!(options.timeout.subsec_nanos(), 0);
    assert_eq!(
        options.send_initial_events,
        options.version_match.is_some(),
        "NotOlderThan goes with initial events"
    );
    let verb = if options.send_initial_events {
        "WATCHLIST"
    } else {
        "WATCH"
    };
    match &options.resource_version {
        Some(version) => format!("{verb} rv={version}"),
        None => verb.to_owned(),
    }
}

/// Waits for `wait MILLIS` at the front of `text`; the rest of it.
async fn after_wait(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("wait ") else {
        return text;
    };
    let (millis, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    sleep(Duration::from_millis(millis.parse().expect("milliseconds"))).await;
    rest
}

async fn page(text: String) -> Vec<Result<ListPart<Obj>, Error>> {
    let text = after_wait(&text).await;
    if let Some(error) = error(text) {
        return vec![Err(error)];
    }
    let mut parts = Vec::new();
    let mut meta = ListMeta::default();
    for word in text.split_whitespace() {
        if word == "hang" {
            return pending().await;
        } else if word == "cut" {
            return parts;
        } else if let Some(version) = word.strip_prefix("rv=") {
            meta.resource_version = ResourceVersion::new(version);
        } else if let Some(token) = word.strip_prefix("continue=") {
            meta.continue_token = Some(token.to_owned());
        } else if word.starts_with("bad@") {
            parts.push(Ok(ListPart::Items(vec![ListItem::Undecodable(Box::new(
                bad(word),
            ))])));
        } else {
            parts.push(Ok(ListPart::Items(vec![ListItem::Object(obj(word))])));
        }
    }
    parts.push(Ok(ListPart::End(meta)));
    parts
}

fn events(text: &str) -> WatchStream<Obj> {
    let steps: Vec<String> = text.split(';').map(|step| step.trim().to_owned()).collect();
    let steps = stream::iter(steps).take_while(|step| {
        let goes_on = step != "close";
        async move { goes_on }
    });
    let batches = steps.filter_map(|step| async move {
        if step == "hang" {
            return pending().await;
        }
        let step = after_wait(&step).await;
        if let Some(error) = error(step) {
            return Some(if step.starts_with("event") {
                Ok(vec![WatchEvent::Error(error)])
            } else {
                Err(error)
            });
        }
        let batch: Vec<_> = step.split(',').filter_map(event).collect();
        (!batch.is_empty()).then_some(Ok(batch))
    });
    Box::pin(batches)
}

/// `added a@1`, `bookmark 2`, …
fn event(text: &str) -> Option<WatchEvent<Obj>> {
    let mut words = text.split_whitespace();
    let verb = words.next()?;
    let what = words.next().expect("of what");
    Some(match verb {
        "added" => WatchEvent::Added(obj(what)),
        "modified" => WatchEvent::Modified(obj(what)),
        "deleted" => {
            let object = obj(what);
            WatchEvent::Deleted {
                name: ObjectName::of(&object),
                resource_version: ResourceVersion::new(&object.version),
                object: Some(object),
            }
        }
        "bad" => WatchEvent::Undecodable(Box::new(bad(what))),
        "bookmark" | "end" => WatchEvent::Bookmark {
            resource_version: rv(what),
            initial_events_end: verb == "end",
        },
        "event" => WatchEvent::Error(error(text).expect("an error")),
        _ => panic!("no such event: {text}"),
    })
}

impl ListerWatcher<Obj> for FakeServer {
    fn list(&self, options: ListOptions) -> ListStream<Obj> {
        let answer = self.answer(&list_line(&options));
        Box::pin(stream::once(page(answer)).flat_map(stream::iter))
    }

    fn watch(&self, options: WatchOptions) -> WatchStart<Obj> {
        let answer = self.answer(&watch_line(&options));
        Box::pin(async move {
            let answer = answer.as_str();
            if answer == "no answer" {
                return pending().await;
            }
            let first = answer.split(';').next().unwrap_or_default();
            // As the only step it is the answer to the request; behind others, or after
            // `open`, it is said within the stream.
            match error(answer) {
                Some(error) if !first.starts_with("event") => Err(error),
                _ => Ok(events(answer.strip_prefix("open;").unwrap_or(answer))),
            }
        })
    }

    fn supports_watch_list(&self) -> bool {
        self.watch_list
    }

    fn description(&self) -> String {
        "pods".to_owned()
    }
}

/// A store that writes down what it is given, as text.
#[derive(Default)]
pub(crate) struct Recorder {
    state: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    log: Vec<String>,
    /// Refuse the change whose record begins so, once for each entry.
    refuse: Vec<String>,
    is_full: bool,
    waiting: Option<Waker>,
}

impl Recorder {
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    pub(crate) fn refuse_once(&self, prefix: &str) {
        self.state.lock().unwrap().refuse.push(prefix.to_owned());
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        let mut state = self.state.lock().unwrap();
        state.is_full = is_full;
        if let Some(waker) = state.waiting.take() {
            waker.wake();
        }
    }

    fn record(&self, text: String) -> Result<(), StoreError> {
        let mut state = self.state.lock().unwrap();
        if let Some(i) = state.refuse.iter().position(|p| text.starts_with(p)) {
            state.refuse.remove(i);
            state.log.push(format!("refused {text}"));
            return Err(StoreError::new("by script"));
        }
        state.log.push(text);
        Ok(())
    }
}

fn name_version(obj: &Obj) -> String {
    format!("{}@{}", obj.name, obj.version)
}

impl ReflectorStore<Obj> for Recorder {
    fn begin_replace(&self) -> Replacement<Obj> {
        Replacement::new(None, None)
    }

    fn replace(
        &self,
        list: Replacement<Obj>,
        resource_version: Option<&ResourceVersion>,
    ) -> Result<(), StoreError> {
        let version = resource_version.map_or("-", ResourceVersion::as_str);
        let mut text = format!("replace {version}:");
        for obj in list.objects() {
            let _ = write!(text, " {}", name_version(obj));
        }
        let undecodable = list.len() - list.objects().count();
        if undecodable > 0 {
            let _ = write!(text, " and {undecodable} bad");
        }
        self.record(text)
    }

    fn apply(
        &self,
        changes: &mut Vec<Change<Obj>>,
        _refused: &mut Vec<Arc<Undecodable>>,
    ) -> Result<(), StoreError> {
        for change in changes.drain(..) {
            self.record(match change {
                Change::Added(obj) => format!("add {}", name_version(&obj)),
                Change::Updated(obj) => format!("update {}", name_version(&obj)),
                Change::Deleted { name, .. } => format!("delete {name}"),
                Change::Undecodable(undecodable) => format!("bad {}", undecodable.name),
                Change::Bookmark(version) => format!("bookmark {version}"),
            })?;
        }
        Ok(())
    }

    fn resync(&self) -> Result<(), StoreError> {
        self.record("resync".to_owned())
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock().unwrap();
        if state.is_full {
            state.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}
