//! [`Pager`]: a whole list, page after page.

use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use informers_cache_core::ListItem;

use crate::lister_watcher::{ListMeta, ListOptions, ListPart, ListStream, ListerWatcher};
use crate::paging::{AfterPage, DEFAULT_PAGE_SIZE, Paging};
use crate::{ContractError, Error};

/// Reads a whole list, page after page, without a watch and without retries.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use informers_reflector::{Error, ListerWatcher, Pager};
/// # async fn count<T: Send + 'static>(pods: Arc<dyn ListerWatcher<T>>) -> Result<usize, Error> {
/// let (items, _) = Pager::new(pods).list().await?;
/// # Ok(items.len())
/// # }
/// ```
///
/// # Upstream
/// `pager.ListPager`; it fetches pages ahead of their use, which the parts of a page
/// make unnecessary here.
#[doc(alias = "ListPager")]
pub struct Pager<T> {
    lister_watcher: Arc<dyn ListerWatcher<T>>,
    first: ListOptions,
}

impl<T: 'static> Pager<T> {
    /// The newest state, in pages of 500.
    pub fn new(lister_watcher: Arc<dyn ListerWatcher<T>>) -> Self {
        Self {
            lister_watcher,
            first: ListOptions {
                limit: Some(DEFAULT_PAGE_SIZE),
                ..ListOptions::default()
            },
        }
    }

    /// What the first page is asked with; further ones take `limit` from it.
    #[must_use]
    pub fn with_options(mut self, first: ListOptions) -> Self {
        self.first = first;
        self
    }

    /// The items as they arrive, then the metadata, once, as
    /// [`ListPart::End`]: its version is the first page's.
    ///
    /// # Errors
    /// Those of the requests, and [`ContractError`]s. The first ends the stream. A
    /// later page may be [expired](Error::is_expired): what came may then be stale, and
    /// the list must begin anew.
    ///
    /// # Upstream
    /// `ListPager.EachListItem`.
    #[doc(alias = "EachListItem")]
    pub fn stream(self) -> impl Stream<Item = Result<ListPart<T>, Error>> + Send {
        let parts = self.lister_watcher.list(self.first.clone());
        let pages = Pages {
            paging: Paging::new(self.first),
            lister_watcher: self.lister_watcher,
            parts: Some(parts),
        };
        unfold(pages, |mut pages| async move {
            let part = pages.next().await?;
            Some((part, pages))
        })
    }

    /// All items, and the metadata: its version is the first page's.
    ///
    /// A later page that is expired voids the pages before it: everything is then asked
    /// for once more, in one piece.
    ///
    /// # Errors
    /// Those of the requests, and [`ContractError`]s.
    ///
    /// # Cancel safety
    /// Dropping it drops the request under way and what came.
    ///
    /// # Memory
    /// The whole list.
    ///
    /// # Upstream
    /// `ListPager.List` with `FullListIfExpired`.
    #[doc(alias = "FullListIfExpired")]
    pub async fn list(self) -> Result<(Vec<ListItem<T>>, ListMeta), Error> {
        let parts = self.lister_watcher.list(self.first.clone());
        let mut pages = Pages {
            paging: Paging::new(self.first),
            lister_watcher: self.lister_watcher,
            parts: Some(parts),
        };
        let mut all = Vec::new();
        while let Some(part) = pages.next().await {
            match part {
                Ok(ListPart::Items(items)) => all.extend(items),
                Ok(ListPart::End(meta)) => return Ok((all, meta)),
                Err(error) => {
                    let full = pages.paging.on_error(&error).ok_or(error)?;
                    all.clear();
                    pages.parts = Some(pages.lister_watcher.list(full));
                }
            }
        }
        Err(ContractError::TruncatedList.into())
    }
}

/// A list under way.
struct Pages<T> {
    lister_watcher: Arc<dyn ListerWatcher<T>>,
    paging: Paging,
    /// The page under way; `None` once the list has ended or failed.
    parts: Option<ListStream<T>>,
}

impl<T: 'static> Pages<T> {
    async fn next(&mut self) -> Option<Result<ListPart<T>, Error>> {
        let last = loop {
            let meta = match self.parts.as_mut()?.next().await {
                Some(Ok(ListPart::Items(items))) => return Some(Ok(ListPart::Items(items))),
                Some(Ok(ListPart::End(meta))) => meta,
                Some(Err(error)) => break Err(error),
                None => break Err(ContractError::TruncatedList.into()),
            };
            match self.paging.on_page(meta) {
                AfterPage::Next(options) => self.parts = Some(self.lister_watcher.list(options)),
                AfterPage::Done {
                    resource_version, ..
                } => {
                    break Ok(ListPart::End(ListMeta {
                        resource_version,
                        ..ListMeta::default()
                    }));
                }
                AfterPage::Broken(error) => break Err(error.into()),
            }
        };
        self.parts = None;
        Some(last)
    }
}

impl<T> fmt::Debug for Pager<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pager")
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
