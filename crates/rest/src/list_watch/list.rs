//! [`ListReader`]: from the body of a list to its parts.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http::Response;
use informers_cache_core::{ListItem, Object, ResourceVersion};
use informers_objects::Decode;
use informers_reflector::{Error, ListMeta, ListPart, TransportKind};
use tokio_util::task::TaskTracker;

use super::decoders::{Decoded, Decoders};
use crate::body::Body;
use crate::connect::TimedOut;
use crate::content::Content;
use crate::framing::{FramingError, Limits, ListSplitter};
use crate::status::failure_in;

/// Reads one page.
pub(super) struct ListReader<T> {
    content: Content,
    /// What has arrived and is not looked at yet.
    unread: Bytes,
    splitter: ListSplitter,
    decoders: Decoders<(), ListItem<T>>,
    idle_limit: Duration,
    /// The body has ended.
    ended: bool,
    /// The end was handed out.
    done: bool,
}

impl<T: Object> ListReader<T> {
    pub(super) fn new(
        response: Response<Body>,
        decode: Arc<dyn Decode<T>>,
        limits: Limits,
        idle_limit: Duration,
        tasks: TaskTracker,
    ) -> Result<Self, Error> {
        let is_expensive = decode.is_expensive();
        let decode = Arc::new(move |(): &(), json: &[u8]| decode_item(&*decode, json));
        Ok(Self {
            content: Content::of(response)?,
            unread: Bytes::new(),
            splitter: ListSplitter::new(limits),
            decoders: Decoders::new(decode, is_expensive, tasks),
            idle_limit,
            ended: false,
            done: false,
        })
    }

    /// The next part; `None` after the end.
    pub(super) async fn next(&mut self) -> Result<Option<ListPart<T>>, Error> {
        if self.done {
            return Ok(None);
        }
        loop {
            self.take_in().await?;
            if !self.decoders.is_empty() {
                // Nobody waits for a full batch.
                let Decoded { objects, failed } = self.decoders.next().await;
                return match failed {
                    None => Ok(Some(ListPart::Items(objects))),
                    Some(error) => Err(error),
                };
            }
            if self.ended {
                return self.end().map(Some);
            }
            let piece = self.read().await?;
            self.take(piece);
        }
    }

    /// Splits what is there already, while the decoders have room.
    async fn take_in(&mut self) -> Result<(), Error> {
        loop {
            self.split()?;
            if self.ended || !self.decoders.has_room() {
                return Ok(());
            }
            match self.content.next_if_there().await {
                Some(piece) => self.take(piece?),
                None => return Ok(()),
            }
        }
    }

    /// Waits for the next piece of the body.
    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        let next = tokio::time::timeout(self.idle_limit, self.content.next()).await;
        next.unwrap_or_else(|_| {
            let step = "the next part of the list";
            let limit = self.idle_limit;
            let timed_out = TimedOut { step, limit };
            Err(Error::transport(TransportKind::Timeout, timed_out))
        })
    }

    fn take(&mut self, piece: Option<Bytes>) {
        match piece {
            Some(piece) => self.unread = piece,
            None => self.ended = true,
        }
    }

    /// Takes out the items that are complete, as many as the decoders have room for.
    fn split(&mut self) -> Result<(), Error> {
        let mut input = &self.unread[..];
        while self.decoders.has_room()
            && let Some(item) = self.splitter.next(&mut input).map_err(malformed)?
        {
            self.decoders.push((), item.as_bytes());
        }
        let read = self.unread.len() - input.len();
        self.unread.advance(read);
        Ok(())
    }

    fn end(&mut self) -> Result<ListPart<T>, Error> {
        self.done = true;
        let end = self.splitter.finish().map_err(malformed)?;
        Ok(ListPart::End(ListMeta {
            resource_version: end
                .resource_version
                .as_deref()
                .and_then(ResourceVersion::new),
            continue_token: end.continue_token,
            remaining_item_count: end.remaining_item_count,
        }))
    }
}

fn decode_item<T: 'static>(decode: &dyn Decode<T>, json: &[u8]) -> Result<ListItem<T>, Error> {
    match decode.decode(json) {
        Ok(object) => Ok(ListItem::Object(object)),
        Err(error) => match error.into_undecodable() {
            Ok(undecodable) => Ok(ListItem::Undecodable(Box::new(undecodable))),
            Err(error) => Err(Error::decode("an item of a list", error)),
        },
    }
}

fn malformed(error: FramingError) -> Error {
    match error {
        FramingError::Truncated => Error::transport(TransportKind::Eof, error),
        FramingError::NotAList { kind, body } if kind == "Status" => failure_in(&body),
        error => Error::decode("the list", error),
    }
}
