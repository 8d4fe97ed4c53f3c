//! Answers to LIST.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Map, Value, json};

use crate::body::Content;
use crate::encode::{write_item, write_list_head};
use crate::object::Stored;
use crate::options::{Continue, ListOptions, Shape, Version, VersionMatch, expired_page};
use crate::resource::Resource;
use crate::status::ApiError;
use crate::store::{Range, Store, Take};

/// Pieces of a list's body are about this large, in bytes.
const PIECE: usize = 64 * 1024;

/// A page of a list, before it is encoded.
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Stored>>,
    metadata: Value,
}

/// Reads the page the options ask for, as a server does that is `lag` revisions behind.
pub(crate) fn read_page(
    store: &Store,
    resource: &Resource,
    options: &ListOptions,
    lag: u64,
) -> Result<Page, ApiError> {
    options.validate_list()?;
    let current = store
        .revision()
        .saturating_sub(lag)
        .max(store.floor(resource))
        .min(store.revision());
    let revision = revision_to_read(options, current)?;
    let limit = if options.version == Version::Any {
        None
    } else {
        options.limit
    };
    let range = Range {
        namespace: options.filter.namespace.as_deref(),
        after: options.continue_from.as_ref().map(|c| &c.after),
    };
    let (mut items, mut remaining) = (Vec::new(), 0_usize);
    let counted = !options.filter.has_selector();
    let read = store.read_at(resource, revision, &range, |object| {
        if !options.filter.matches(object) {
            return Take::More;
        }
        if limit.is_some_and(|limit| items.len() >= limit) {
            remaining += 1;
            return if counted { Take::More } else { Take::Stop };
        }
        items.push(Arc::clone(object));
        Take::More
    });
    if let Err(expired) = read {
        return Err(options
            .continue_from
            .as_ref()
            .map_or(expired, |page| expired_page(Some(page))));
    }
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(revision.to_string()));
    if remaining > 0
        && let Some(last) = items.last()
    {
        let rest = Continue {
            revision: Some(revision),
            after: last.key.clone(),
        };
        metadata.insert("continue".to_owned(), json!(rest.encode()));
        if counted {
            metadata.insert("remainingItemCount".to_owned(), json!(remaining));
        }
    }
    Ok(Page {
        items,
        metadata: metadata.into(),
    })
}

fn revision_to_read(options: &ListOptions, current: u64) -> Result<u64, ApiError> {
    if let Some(page) = &options.continue_from {
        return match page.revision {
            // A revision that is not reached (any more) cannot be read consistently either.
            Some(revision) if revision > current => Err(expired_page(Some(page))),
            Some(revision) => Ok(revision),
            None => Ok(current),
        };
    }
    match options.version {
        Version::Unset | Version::Any => Ok(current),
        Version::At(wanted) if wanted > current => Err(ApiError::too_large(wanted, current)),
        Version::At(wanted) => {
            let exact = match options.version_match {
                Some(VersionMatch::Exact) => true,
                Some(VersionMatch::NotOlderThan) => false,
                None => options.limit.is_some(),
            };
            Ok(if exact { wanted } else { current })
        }
    }
}

impl Page {
    /// The encoded page's length in bytes, roughly.
    pub(crate) fn size(&self) -> usize {
        self.items
            .iter()
            .map(|i| i.encoded_len() + 2)
            .sum::<usize>()
            + 256
    }

    /// Encodes the page, piece by piece when it is large.
    pub(crate) fn into_content(self, resource: Arc<Resource>, shape: Shape) -> Content {
        let size = self.size();
        let mut encoder = PageEncoder {
            resource,
            shape,
            page: self,
            at: 0,
        };
        if size <= PIECE {
            let mut whole = Vec::with_capacity(size);
            while let Some(piece) = encoder.next_piece() {
                whole.extend_from_slice(&piece);
            }
            return Content::Whole(whole.into());
        }
        Content::Stream(stream::iter(std::iter::from_fn(move || encoder.next_piece())).boxed())
    }
}

struct PageEncoder {
    resource: Arc<Resource>,
    shape: Shape,
    page: Page,
    /// The next item; one past the last once the end is written.
    at: usize,
}

impl PageEncoder {
    fn next_piece(&mut self) -> Option<Bytes> {
        let count = self.page.items.len();
        if self.at > count {
            return None;
        }
        let mut out = Vec::with_capacity(PIECE + 1024);
        if self.at == 0 {
            write_list_head(&self.resource, &self.page.metadata, self.shape, &mut out);
        }
        while self.at < count && out.len() < PIECE {
            if self.at > 0 {
                out.push(b',');
            }
            write_item(
                &self.resource,
                &self.page.items[self.at],
                self.shape,
                &mut out,
            );
            self.at += 1;
        }
        if self.at == count {
            out.extend_from_slice(b"]}\n");
            self.at = count + 1;
        }
        Some(out.into())
    }
}
