//! [`ReflectorOptions`]: what a user may turn.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::BackoffOptions;
use crate::watch_error::WatchErrorHandler;

/// How a reflector learns what there is, at first and after a break.
///
/// # Upstream
/// The feature gate `WatchListClient`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Initial {
    /// WatchList where client and server support it, else LIST. A server that does not
    /// is not asked again for [`ReflectorOptions::watch_list_memory`].
    #[default]
    Auto,
    /// LIST, in pages where the server has no watch cache.
    List,
    /// WatchList each time; LIST only as the fallback of the cycle in which it failed.
    WatchList,
}

/// Says whether a resync is due. Called from the reflector's task.
pub type ResyncHook = Arc<dyn Fn(Instant) -> bool + Send + Sync>;

/// What a user may turn of a [`Reflector`](crate::Reflector). The defaults suit a
/// controller.
///
/// # Examples
/// ```
/// use informers_reflector::{Initial, ReflectorOptions};
///
/// let options = ReflectorOptions {
///     name: "pods".to_owned(),
///     initial: Initial::List,
///     ..ReflectorOptions::default()
/// };
/// ```
///
/// # Upstream
/// `cache.ReflectorOptions`, and fields of `cache.Reflector`.
#[derive(Clone)]
pub struct ReflectorOptions {
    /// Names the reflector in logs. Default: what the
    /// [`ListerWatcher`](crate::ListerWatcher) describes.
    pub name: String,
    /// WatchList or LIST. Default [`Initial::Auto`]. A WatchList costs the server no
    /// copy of the whole list, and the client no pages.
    pub initial: Initial,
    /// Items per page of every LIST. Default `None`: 500 where the newest state is
    /// asked for, and all at once where the watch cache answers, which knows no pages.
    /// Set: each relist reads etcd, in pages.
    pub page_size: Option<NonZeroU32>,
    /// How often, and whom, to ask if a resync is due. Default `None`: never. The
    /// period bounds how late a resync is; the question is asked through lists, waits
    /// and back-pressure too.
    pub resync_check: Option<(Duration, ResyncHook)>,
    /// A watch is asked to end after between once and twice this time. Default 5 min,
    /// in whole seconds and at least 1 s. Shorter: more requests; longer: watches pile
    /// up on the server that started last.
    pub watch_timeout: Duration,
    /// How long behind its agreed end a watch is given up as dead. Default 30 s. A
    /// shorter one may cut a slow server's good-bye; the cost is one request.
    pub watch_margin: Duration,
    /// How long a request may stay without an answer: a WATCH without response head,
    /// a LIST without response head or between two of its parts. Default 60 s, as long
    /// as an API server works on a request at most.
    pub request_timeout: Duration,
    /// How long a WatchList may be silent before its end marker, until LIST is used
    /// instead. Default 5 s: a server sends initial events without a pause, so silence
    /// means a proxy that buffers, or a server that ignores the question. A WatchList
    /// that does not fall silent has until its watch's end.
    pub initial_events_timeout: Duration,
    /// For how long [`Initial::Auto`] remembers that the server has no working
    /// WatchList. Default 10 min. Shorter: one more refused request for each relist
    /// after that time.
    pub watch_list_memory: Duration,
    /// Delays between attempts.
    pub backoff: BackoffOptions,
    /// For how long an ERROR event `InternalError` is answered by a new watch from the
    /// same version instead of a relist. Default zero: it relists at once.
    pub internal_error_retry: Duration,
    /// Told of failures. Default `None`; they are logged in any case.
    pub error_handler: Option<WatchErrorHandler>,
}

impl Default for ReflectorOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            initial: Initial::Auto,
            page_size: None,
            resync_check: None,
            watch_timeout: Duration::from_secs(300),
            watch_margin: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            initial_events_timeout: Duration::from_secs(5),
            watch_list_memory: Duration::from_secs(600),
            backoff: BackoffOptions::default(),
            internal_error_retry: Duration::ZERO,
            error_handler: None,
        }
    }
}

impl fmt::Debug for ReflectorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorOptions")
            .field("name", &self.name)
            .field("initial", &self.initial)
            .field("page_size", &self.page_size)
            .field("watch_timeout", &self.watch_timeout)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
