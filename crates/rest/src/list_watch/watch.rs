//! [`WatchReader`]: from the body of a watch to its events.

use std::fmt;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use http::Response;
use informers_cache_core::{Object, ObjectName, ResourceVersion};
use informers_objects::{Decode, DecodeError, MetaScan};
use informers_reflector::{Error, WatchEvent};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::decoders::{Decoded, Decoders};
use crate::body::Body;
use crate::content::Content;
use crate::framing::{EventSplitter, EventType, FramingError, Limits};
use crate::status::failure_in;

/// Reads one watch.
pub(super) struct WatchReader<T> {
    content: Content,
    /// What has arrived and is not looked at yet.
    unread: Bytes,
    splitter: EventSplitter,
    decoders: Decoders<EventType, WatchEvent<T>>,
    deadline: Instant,
    /// Why the watch ends after the events before.
    failed: Option<Error>,
    done: bool,
}

impl<T: Object> WatchReader<T> {
    pub(super) fn new(
        response: Response<Body>,
        decode: Arc<dyn Decode<T>>,
        limits: Limits,
        deadline: Instant,
        tasks: TaskTracker,
    ) -> Result<Self, Error> {
        let is_expensive = decode.is_expensive();
        let decode = Arc::new(move |event_type: &EventType, json: &[u8]| {
            read_event(&*decode, event_type, json)
        });
        Ok(Self {
            content: Content::of(response)?,
            unread: Bytes::new(),
            splitter: EventSplitter::new(limits),
            decoders: Decoders::new(decode, is_expensive, tasks),
            deadline,
            failed: None,
            done: false,
        })
    }

    /// The next events; `None` at the end, be it the server's doing, a connection that
    /// ended (in the middle of an event too: that one is dropped), or the deadline.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<WatchEvent<T>>>, Error> {
        loop {
            self.take_in().await;
            if !self.decoders.is_empty() {
                // Nobody waits for a full batch.
                let Decoded { objects, failed } = self.decoders.next().await;
                if failed.is_some() {
                    // Before whatever came later.
                    self.failed = failed;
                    self.done = true;
                }
                if !objects.is_empty() {
                    return Ok(Some(objects));
                }
                continue;
            }
            if let Some(error) = self.failed.take() {
                self.done = true;
                return Err(error);
            }
            if self.done {
                return Ok(None);
            }
            self.read().await;
        }
    }

    /// Splits what is there already, while the decoders have room.
    async fn take_in(&mut self) {
        while !self.is_over() {
            self.split();
            if self.is_over() || !self.decoders.has_room() {
                return;
            }
            match self.content.next_if_there().await {
                Some(piece) => self.take(piece),
                None => return,
            }
        }
    }

    fn is_over(&self) -> bool {
        self.failed.is_some() || self.done
    }

    /// Waits for more, until the deadline.
    async fn read(&mut self) {
        let piece = tokio::time::timeout_at(self.deadline, self.content.next()).await;
        if let Ok(piece) = piece {
            self.take(piece);
        } else {
            tracing::debug!("watch outlived its time-out, given up");
            self.done = true;
        }
    }

    /// Takes what the body brought.
    fn take(&mut self, piece: Result<Option<Bytes>, Error>) {
        match piece {
            Ok(Some(piece)) => self.unread = piece,
            Ok(None) => {
                if self.splitter.finish().is_err() {
                    tracing::debug!("watch ended in the middle of an event");
                }
                self.done = true;
            }
            Err(error) if error.is_unexpected_eof() => {
                tracing::debug!(%error, "watch ended without notice");
                self.done = true;
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Takes out the events that are complete, as many as the decoders have room for. Those
    /// before a failure count.
    fn split(&mut self) {
        let mut input = &self.unread[..];
        while self.decoders.has_room() {
            match self.splitter.next(&mut input) {
                Ok(None) => break,
                Ok(Some(event)) => self
                    .decoders
                    .push(event.event_type, event.object.as_bytes()),
                Err(error) => {
                    self.failed = Some(malformed(error));
                    break;
                }
            }
        }
        let read = self.unread.len() - input.len();
        self.unread.advance(read);
    }
}

fn read_event<T: Object>(
    decode: &dyn Decode<T>,
    event_type: &EventType,
    json: &[u8],
) -> Result<WatchEvent<T>, Error> {
    match event_type {
        EventType::Added => Ok(decode
            .decode(json)
            .map_or_else(undecodable, |object| Ok(WatchEvent::Added(object)))?),
        EventType::Modified => Ok(decode
            .decode(json)
            .map_or_else(undecodable, |object| Ok(WatchEvent::Modified(object)))?),
        EventType::Deleted => deleted(decode, json),
        EventType::Bookmark => bookmark(json),
        EventType::Error => Ok(WatchEvent::Error(failure_in(json))),
        EventType::Unknown(name) => Err(unreadable(UnknownType(name.clone()))),
    }
}

fn undecodable<T>(error: DecodeError) -> Result<WatchEvent<T>, Error> {
    let undecodable = error.into_undecodable().map_err(unreadable)?;
    if undecodable.resource_version.is_none() {
        return Err(unreadable(undecodable));
    }
    Ok(WatchEvent::Undecodable(Box::new(undecodable)))
}

fn deleted<T: Object>(decode: &dyn Decode<T>, json: &[u8]) -> Result<WatchEvent<T>, Error> {
    match decode.decode(json) {
        Ok(object) => Ok(WatchEvent::Deleted {
            name: ObjectName::of(&object),
            resource_version: object.resource_version().and_then(ResourceVersion::new),
            object: Some(object),
        }),
        Err(error) => {
            let undecodable = error.into_undecodable().map_err(unreadable)?;
            Ok(WatchEvent::Deleted {
                name: undecodable.name,
                object: None,
                resource_version: undecodable.resource_version,
            })
        }
    }
}

fn bookmark<T>(json: &[u8]) -> Result<WatchEvent<T>, Error> {
    let scan = MetaScan::of(json);
    let version = scan.resource_version();
    let resource_version = version
        .as_deref()
        .and_then(ResourceVersion::new)
        .ok_or_else(|| unreadable(NoVersion))?;
    Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: scan.ends_initial_events(),
    })
}

fn malformed(error: FramingError) -> Error {
    Error::decode("the watch", error)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::decode("a watch event", error)
}

/// An event of a type that no server should send.
#[derive(Debug)]
struct UnknownType(String);

impl fmt::Display for UnknownType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event is of unknown type {:?}", self.0)
    }
}

impl std::error::Error for UnknownType {}

/// A bookmark that marks nothing.
#[derive(Debug)]
struct NoVersion;

impl fmt::Display for NoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bookmark has no resource version")
    }
}

impl std::error::Error for NoVersion {}
