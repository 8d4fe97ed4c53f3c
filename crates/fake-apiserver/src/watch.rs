//! Answers to WATCH: initial objects, events as they happen, bookmarks, and the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::body::{Content, cut};
use crate::connection::Control;
use crate::encode::{write_bookmark, write_event, write_value_event};
use crate::fault::{Action, Cut, OpenWatches, Struck, WatchGuard, duration};
use crate::object::Stored;
use crate::options::{Filter, ListOptions, Shape, Version};
use crate::request::RequestRecord;
use crate::resource::Resource;
use crate::server::{ExpiredWatch, Shared};
use crate::status::ApiError;
use crate::store::{Cursor, Event, EventKind, Range, Read, Take};

/// At most so many events in one piece of the body.
const BATCH: usize = 64;

/// What a watch is asked for.
pub(crate) struct WatchRequest {
    pub(crate) record: RequestRecord,
    pub(crate) resource: Arc<Resource>,
    pub(crate) options: ListOptions,
    pub(crate) shape: Shape,
    pub(crate) struck: Vec<Struck>,
    /// Revisions this server is behind.
    pub(crate) lag: u64,
    /// Leave out the bookmark that ends the initial events.
    pub(crate) without_end: bool,
}

/// Starts a watch. Its position is fixed when this returns: what is written afterwards is seen.
pub(crate) fn start(
    shared: &Arc<Shared>,
    control: &Arc<Control>,
    request: WatchRequest,
) -> Result<Content, ApiError> {
    let WatchRequest {
        record,
        resource,
        options,
        shape,
        struck,
        lag,
        without_end,
    } = request;
    options.validate_watch()?;
    let initial_wanted = match (options.send_initial_events, options.version) {
        (Some(wanted), _) => wanted,
        (None, Version::Unset | Version::Any) => true,
        (None, Version::At(_)) => false,
    };
    let mut initial = VecDeque::new();
    let store = shared.store();
    let current = store
        .revision()
        .saturating_sub(lag)
        .max(store.floor(&resource))
        .min(store.revision());
    let from = match options.version {
        Version::At(wanted) if initial_wanted && wanted > current => {
            return Err(ApiError::too_large(wanted, current));
        }
        Version::At(wanted) if !initial_wanted => wanted,
        Version::At(_) | Version::Unset | Version::Any => current,
    };
    let (cursor, wake) = match store.watch_after(&resource, from) {
        Ok(position) => position,
        Err(error) if error.code() == 410 && shared.config.expired_watch == ExpiredWatch::Event => {
            let mut line = Vec::new();
            write_value_event("ERROR", &error.to_status(), &mut line);
            return Ok(Content::Stream(
                stream::once(async move { Bytes::from(line) }).boxed(),
            ));
        }
        Err(error) => return Err(error),
    };
    if initial_wanted {
        let range = Range {
            namespace: options.filter.namespace.as_deref(),
            after: None,
        };
        store.read_at(&resource, current, &range, |object| {
            if options.filter.matches(object) {
                initial.push_back(Arc::clone(object));
            }
            Take::More
        })?;
    }
    drop(store);
    let guard = OpenWatches::open(shared, &record);
    let timeout = options
        .timeout
        .unwrap_or_else(|| Duration::from_secs(fastrand::u64(1800..3600)));
    let watch = Watch {
        shared: Arc::clone(shared),
        control: Arc::clone(control),
        guard,
        resource,
        filter: options.filter,
        shape,
        lag,
        initial,
        initial_end: (options.send_initial_events == Some(true) && !without_end).then_some(current),
        cursor,
        wake,
        bookmarks: options
            .bookmarks
            .then(|| bookmark_interval(shared.config.bookmark_interval)),
        bookmark_due: false,
        deadline: Instant::now() + timeout,
        last_told: current,
        script: script(struck),
        sent: 0,
        ended: false,
        record,
    };
    Ok(Content::Stream(stream::unfold(watch, Watch::next).boxed()))
}

fn bookmark_interval(period: Duration) -> Interval {
    let period = period.max(Duration::from_millis(1));
    let mut interval = tokio::time::interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// The faults that strike after a number of events, in order.
fn script(struck: Vec<Struck>) -> VecDeque<(u64, Action)> {
    let mut script: Vec<(u64, Action)> = struck
        .into_iter()
        .filter_map(|s| match (s.after_events, &s.action) {
            (Some(events), action) if action.strikes_streams() => Some((events, s.action)),
            (None, Action::ErrorEvent(_) | Action::Raw { .. }) => Some((0, s.action)),
            _ => None,
        })
        .collect();
    script.sort_by_key(|(events, _)| *events);
    script.into()
}

/// One open watch.
///
/// # Invariants
///
/// The backlog of a slow client is its position in the history window and nothing else:
/// writers never wait for it. Once the window has passed the position the watch ends
/// with an ERROR event of code 410.
struct Watch {
    shared: Arc<Shared>,
    control: Arc<Control>,
    guard: WatchGuard,
    record: RequestRecord,
    resource: Arc<Resource>,
    filter: Filter,
    shape: Shape,
    lag: u64,
    initial: VecDeque<Arc<Stored>>,
    initial_end: Option<u64>,
    cursor: Cursor,
    wake: watch::Receiver<()>,
    bookmarks: Option<Interval>,
    bookmark_due: bool,
    deadline: Instant,
    /// The newest revision the client has been told of.
    last_told: u64,
    script: VecDeque<(u64, Action)>,
    /// Events sent, initial ones included.
    sent: u64,
    ended: bool,
}

/// Why a waiting watch goes on.
enum Woken {
    Changed,
    Closed,
    Bookmark,
    Deadline,
    Struck(Action),
}

impl Watch {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        while !self.ended {
            let mut out = Vec::new();
            if self.script.front().is_some_and(|(at, _)| *at <= self.sent) {
                if let Some((_, action)) = self.script.pop_front() {
                    self.perform(action, &mut out).await;
                }
            } else if !self.initial.is_empty() {
                self.write_initial(&mut out);
            } else if let Some(revision) = self.initial_end.take() {
                write_bookmark(&self.resource, revision, self.shape, true, &mut out);
            } else {
                self.write_next(&mut out).await;
            }
            if !out.is_empty() {
                return Some((out.into(), self));
            }
        }
        None
    }

    /// How many events may be sent before the script goes on.
    fn room(&self) -> usize {
        let until = self
            .script
            .front()
            .map_or(u64::MAX, |(at, _)| at - self.sent);
        usize::try_from(until).unwrap_or(usize::MAX)
    }

    fn write_initial(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.room() {
            if out.len() >= BATCH * 1024 {
                break;
            }
            let Some(object) = self.initial.pop_front() else {
                break;
            };
            write_event(&self.resource, "ADDED", &object, self.shape, out);
            self.sent += 1;
        }
    }

    async fn write_next(&mut self, out: &mut Vec<u8>) {
        if let Ok(struck) = self.guard.struck.try_recv() {
            return self.perform(struck.action, out).await;
        }
        let closing = Instant::now() >= self.deadline;
        let max = self.room().min(BATCH);
        let read = self.shared.store().read(&mut self.cursor, max, self.lag);
        match read {
            Read::Events(events) => {
                for event in events {
                    self.last_told = self.last_told.max(event.revision);
                    self.write_transition(&event, out);
                }
            }
            // The last word of a watch tells how far it has come.
            Read::UpToDate(revision) if closing => {
                if self.bookmarks.is_some() && revision > self.last_told {
                    self.write_bookmark(revision, out);
                }
            }
            Read::UpToDate(revision) if self.bookmark_due => {
                self.bookmark_due = false;
                self.write_bookmark(revision, out);
            }
            Read::UpToDate(_) => match self.wait().await {
                Woken::Changed | Woken::Deadline => {}
                Woken::Closed => self.ended = true,
                Woken::Struck(action) => self.perform(action, out).await,
                // Told after the next read, so that it is the newest revision.
                Woken::Bookmark => self.bookmark_due = true,
            },
            Read::TooSlow { oldest } => {
                let error = ApiError::expired(self.last_told, oldest);
                write_value_event("ERROR", &error.to_status(), out);
                self.ended = true;
            }
            Read::Ended => self.ended = true,
        }
        self.ended |= closing;
    }

    async fn wait(&mut self) -> Woken {
        let bookmark = async {
            match &mut self.bookmarks {
                Some(interval) => {
                    interval.tick().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(struck) = self.guard.struck.recv() => Woken::Struck(struck.action),
            changed = self.wake.changed() => if changed.is_ok() { Woken::Changed } else { Woken::Closed },
            () = tokio::time::sleep_until(self.deadline) => Woken::Deadline,
            () = bookmark => Woken::Bookmark,
        }
    }

    /// `revision` is one whose events were all delivered.
    fn write_bookmark(&mut self, revision: u64, out: &mut Vec<u8>) {
        self.last_told = self.last_told.max(revision);
        write_bookmark(&self.resource, revision, self.shape, false, out);
    }

    /// Writes what an event means to this watch's selectors.
    fn write_transition(&mut self, event: &Event, out: &mut Vec<u8>) {
        let before = event
            .previous
            .as_ref()
            .is_some_and(|o| self.filter.matches(o));
        let after = event.kind != EventKind::Deleted && self.filter.matches(&event.object);
        let event_type = match (before, after) {
            (false, false) => return,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        if self
            .shared
            .faults
            .loses(&self.record, event_type, &event.object.key.to_string())
        {
            return;
        }
        self.sent += 1;
        match (&event.previous, event.kind, event_type) {
            // The object lives on but left the selection: its last selected state goes out,
            // with the revision at which it left.
            (Some(previous), EventKind::Modified, "DELETED") => {
                let object = with_revision(previous, &self.resource, event.revision);
                write_event(&self.resource, event_type, &object, self.shape, out);
            }
            _ => write_event(&self.resource, event_type, &event.object, self.shape, out),
        }
    }

    async fn perform(&mut self, action: Action, out: &mut Vec<u8>) {
        match action {
            Action::ErrorEvent(status) => {
                write_value_event("ERROR", &status.to_object(), out);
                self.ended = true;
            }
            Action::Raw { data } => out.extend_from_slice(&data),
            Action::Cut {
                how: Cut::MidChunk, ..
            } => {
                tokio::task::yield_now().await;
                write_bookmark(&self.resource, self.last_told, self.shape, false, out);
                let head = format!("{:x}\r\n", out.len()).len();
                self.control.close_after(head + out.len() / 2);
            }
            Action::Cut { how, .. } => {
                tokio::task::yield_now().await;
                cut(how, &self.control).await;
            }
            Action::Reset => {
                tokio::task::yield_now().await;
                cut(Cut::Rst, &self.control).await;
            }
            Action::Stall {
                seconds: Some(seconds),
                ..
            } => tokio::time::sleep(duration(seconds)).await,
            Action::Stall { seconds: None, .. } => std::future::pending().await,
            Action::BlackHole => {
                tokio::task::yield_now().await;
                self.control.black_hole();
                std::future::pending::<()>().await;
            }
            Action::GoAway => self.control.go_away(),
            // `strikes_streams` lets nothing else through.
            _ => {}
        }
    }
}

fn with_revision(object: &Stored, resource: &Resource, revision: u64) -> Stored {
    let mut value = object.to_value(resource);
    value["metadata"]["resourceVersion"] = json!(revision.to_string());
    let Value::Object(map) = value else {
        unreachable!("an object's encoding is a JSON object")
    };
    Stored::encode(&map)
}
