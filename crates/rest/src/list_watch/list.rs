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
            done: false,
        })
    }

    /// The next part; `None` after the end.
    pub(super) async fn next(&mut self) -> Result<Option<ListPart<T>>, Error> {
        if self.done {
            return Ok(None);
        }
        loop {
            let items = self.split()?;
            if !items.is_empty() {
                return Ok(Some(ListPart::Items(items)));
            }
            let next = tokio::time::timeout(self.idle_limit, self.content.next()).await;
            let Ok(next) = next else {
                let step = "the next part of the list";
                let limit = self.idle_limit;
                let timed_out = TimedOut { step, limit };
                return Err(Error::transport(TransportKind::Timeout, timed_out));
            };
            let Some(piece) = next? else {
                self.done = true;
                return self.end().map(Some);
            };
            self.unread = piece;
        }
    }

    /// The items that are complete, up to a batch.
    fn split(&mut self) -> Result<Vec<ListItem<T>>, Error> {
        let mut items = Vec::new();
        let mut input = &self.unread[..];
        while items.len() < MAX_BATCH
            && let Some(item) = self.splitter.next(&mut input).map_err(malformed)?
        {
            items.push(decode_item(&*self.decode, item.as_bytes())?);
        }
        let read = self.unread.len() - input.len();
        self.unread.advance(read);
        Ok(items)
    }

    fn end(&mut self) -> Result<ListPart<T>, Error> {
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
