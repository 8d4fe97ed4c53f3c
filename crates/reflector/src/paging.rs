//! [`Paging`]: the pages of one list, as a plain value.

use informers_cache_core::ResourceVersion;

use crate::{ContractError, Error, ListMeta, ListOptions};

/// Page size where none is configured.
///
/// # Upstream
/// `pager.defaultPageSize`.
pub(crate) const DEFAULT_PAGE_SIZE: u32 = 500;

/// Where a list in pages stands.
#[derive(Debug, Clone)]
pub(crate) struct Paging {
    /// What the first page was asked with.
    first: ListOptions,
    /// The token the page under way was asked with; `None` on the first page.
    token: Option<String>,
    /// What the first page said: the list's version.
    resource_version: Option<ResourceVersion>,
    /// Whether pages expired already, so that this is the one full list.
    is_full_list: bool,
}

/// What follows a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterPage {
    /// Ask for another one.
    Next(ListOptions),
    /// That was the last.
    Done {
        /// The version to watch from: the first page's.
        resource_version: Option<ResourceVersion>,
        /// Whether there was more than one page.
        in_pages: bool,
    },
    /// The list cannot be trusted.
    Broken(ContractError),
}

impl Paging {
    pub(crate) fn new(first: ListOptions) -> Self {
        Self {
            first,
            token: None,
            resource_version: None,
            is_full_list: false,
        }
    }

    /// What the first page is asked with.
    pub(crate) fn first(&self) -> &ListOptions {
        &self.first
    }

    /// Whether the page under way is the first.
    pub(crate) fn is_first_page(&self) -> bool {
        self.token.is_none()
    }

    /// A page arrived whole.
    pub(crate) fn on_page(&mut self, meta: ListMeta) -> AfterPage {
        let in_pages = !self.is_first_page();
        if !in_pages {
            self.resource_version = meta.resource_version;
        }
        let token = meta.continue_token.filter(|token| !token.is_empty());
        let Some(token) = token else {
            return AfterPage::Done {
                resource_version: self.resource_version.clone(),
                in_pages,
            };
        };
        if self.token.as_ref() == Some(&token) {
            return AfterPage::Broken(ContractError::EndlessList);
        }
        self.token = Some(token.clone());
        // Neither version nor match: servers refuse them beside a token, which holds
        // the version already.
        AfterPage::Next(ListOptions {
            limit: self.first.limit,
            continue_token: Some(token),
            ..ListOptions::default()
        })
    }

    /// A later page failed: whether to start over as one full list, and how. What came
    /// so far is then void.
    pub(crate) fn on_error(&mut self, error: &Error) -> Option<ListOptions> {
        if self.is_first_page() || self.is_full_list || !error.is_expired() {
            return None;
        }
        let first = ListOptions {
            limit: None,
            ..self.first.clone()
        };
        *self = Self::new(first.clone());
        self.is_full_list = true;
        Some(first)
    }
}

#[cfg(test)]
mod tests;
