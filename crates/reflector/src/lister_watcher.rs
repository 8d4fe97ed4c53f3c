//! [`ListerWatcher`]: the two requests a reflector makes, whoever sends them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use informers_cache_core::{ListItem, ObjectName, ResourceVersion, Undecodable};

use crate::Error;

/// One page of a list, in parts as they arrive.
pub type ListStream<T> = Pin<Box<dyn Stream<Item = Result<ListPart<T>, Error>> + Send>>;

/// The events of a watch, in batches: what was decoded without waiting.
pub type WatchStream<T> = Pin<Box<dyn Stream<Item = Result<Vec<WatchEvent<T>>, Error>> + Send>>;

/// A watch request on its way: done when the server has accepted or refused it.
pub type WatchStart<T> = Pin<Box<dyn Future<Output = Result<WatchStream<T>, Error>> + Send>>;

/// Lists and watches one resource.
///
/// Namespace, selectors and whatever else shapes the requests live in the
/// implementation; the options hold what the reflector decides.
///
/// # Contract
/// - One [`list`](Self::list) is one request, thus one page; one
///   [`watch`](Self::watch) is one request. No retries inside.
/// - Nothing is sent before the stream or future is polled; dropping it ends the
///   request at once.
/// - A stream that gave an `Err` gives nothing more.
///
/// # Upstream
/// `cache.ListerWatcher`, with `watchlist.unsupported` as
/// [`supports_watch_list`](Self::supports_watch_list).
#[doc(alias = "ListWatch")]
pub trait ListerWatcher<T>: Send + Sync + 'static {
    /// Asks for one page.
    fn list(&self, options: ListOptions) -> ListStream<T>;

    /// Asks for events. A stream that ends without an error was closed by the server
    /// in good order.
    fn watch(&self, options: WatchOptions) -> WatchStart<T>;

    /// Whether initial events may be asked for ([`WatchOptions::send_initial_events`]).
    #[doc(alias = "IsWatchListSemanticsUnSupported")]
    fn supports_watch_list(&self) -> bool {
        true
    }

    /// What is listed, for messages: `pods in namespace x`.
    fn description(&self) -> String;
}

/// How a list's resource version is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionMatch {
    /// The state at exactly that version.
    Exact,
    /// The state at that version or a later one.
    NotOlderThan,
}

impl VersionMatch {
    /// The value of the query parameter `resourceVersionMatch`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }
}

/// What a reflector asks of one page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// `resourceVersion`; `None` leaves it unset, which asks for the newest state.
    pub resource_version: Option<ResourceVersion>,
    /// `resourceVersionMatch`; `None` leaves it unset.
    pub version_match: Option<VersionMatch>,
    /// `limit`, in items; `None` asks for all.
    pub limit: Option<u32>,
    /// `continue`: where the page before ended.
    pub continue_token: Option<String>,
}

/// What a reflector asks of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// `resourceVersion`; `None` leaves it unset.
    pub resource_version: Option<ResourceVersion>,
    /// `allowWatchBookmarks`.
    pub allow_bookmarks: bool,
    /// `timeoutSeconds`: when the server shall close the watch; whole seconds.
    pub timeout: Duration,
    /// `sendInitialEvents`: the watch begins with the present state (a WatchList).
    pub send_initial_events: bool,
    /// `resourceVersionMatch`; `None` leaves it unset.
    pub version_match: Option<VersionMatch>,
}

/// A part of a page.
pub enum ListPart<T> {
    /// Items, in the server's order.
    Items(Vec<ListItem<T>>),
    /// The list's metadata. Comes exactly once and last, after the closing bracket of
    /// the body; a body that ends earlier is an error.
    End(ListMeta),
}

/// The metadata of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The version of the state that the list shows; `None` if the server names none.
    pub resource_version: Option<ResourceVersion>,
    /// Where the next page starts; `None` on the last page.
    pub continue_token: Option<String>,
    /// How many items come after this page, if the server says.
    pub remaining_item_count: Option<u64>,
}

/// One event of a watch.
pub enum WatchEvent<T> {
    /// ADDED.
    Added(T),
    /// MODIFIED.
    Modified(T),
    /// DELETED.
    Deleted {
        /// The key of the object.
        name: ObjectName,
        /// Its final state, if that decodes.
        object: Option<T>,
        /// The version of the deletion.
        resource_version: Option<ResourceVersion>,
    },
    /// ADDED or MODIFIED of an object that does not decode, but has a name and a
    /// version.
    Undecodable(Box<Undecodable>),
    /// BOOKMARK: nothing else happened up to this version.
    Bookmark {
        /// That version.
        resource_version: ResourceVersion,
        /// Whether it carries the annotation `k8s.io/initial-events-end: "true"`.
        initial_events_end: bool,
    },
    /// ERROR: the server gives the watch up. Nothing comes after it.
    Error(Error),
}

// By hand: neither shows an object, which may be a Secret, nor asks for `T: Debug`.
impl<T> fmt::Debug for ListPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items(items) => write!(f, "Items({})", items.len()),
            Self::End(meta) => meta.fmt(f),
        }
    }
}

impl<T> fmt::Debug for WatchEvent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Modified(_) => f.write_str("Modified"),
            Self::Deleted { name, .. } => write!(f, "Deleted({name})"),
            Self::Undecodable(undecodable) => undecodable.fmt(f),
            Self::Bookmark {
                resource_version,
                initial_events_end,
            } => {
                let end = if *initial_events_end { ", end" } else { "" };
                write!(f, "Bookmark({resource_version}{end})")
            }
            Self::Error(error) => write!(f, "Error({error})"),
        }
    }
}
