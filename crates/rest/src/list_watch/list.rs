//! [`ListReader`]: from the body of a list to its parts.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http::Response;
use informers_cache_core::{ListItem, Object, ResourceVersion};
use informers_objects::Decode;
use informers_reflector::{Error, ListMeta, ListPart, TransportKind};

use super::MAX_BATCH;
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
    decode: Arc<dyn Decode<T>>,
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
    ) -> Result<Self, Error> {
        Ok(Self {
            content: Content::of(response)?,
            unread: Bytes::new(),
            splitter: ListSplitter::new(limits),
            decode,
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
        if self.ended {
            return self.end().map(Some);
        }
        let mut items = Vec::new();
        loop {
            self.split(&mut items)?;
            if items.len() >= MAX_BATCH {
                return Ok(Some(ListPart::Items(items)));
            }
            let piece = match self.content.next_if_there().await {
                Some(piece) => piece?,
                // Nobody waits for a full batch.
                None if !items.is_empty() => return Ok(Some(ListPart::Items(items))),
                None => self.read().await?,
            };
            let Some(piece) = piece else {
                self.ended = true;
                if items.is_empty() {
                    return self.end().map(Some);
                }
                return Ok(Some(ListPart::Items(items)));
            };
            self.unread = piece;
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

    /// Takes out the items that are complete, up to a batch.
    fn split(&mut self, items: &mut Vec<ListItem<T>>) -> Result<(), Error> {
        let mut input = &self.unread[..];
        while items.len() < MAX_BATCH
            && let Some(item) = self.splitter.next(&mut input).map_err(malformed)?
        {
            items.push(decode_item(&*self.decode, item.as_bytes())?);
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
