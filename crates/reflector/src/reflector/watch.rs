//! The watches of a [`Reflector`](super::Reflector): events into lists and batches.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use informers_cache_core::{Change, Object, ObjectName, ResourceVersion, Undecodable};
use tokio::time::{Instant, timeout, timeout_at};

use super::Driver;
use crate::lister_watcher::{WatchEvent, WatchOptions, WatchStream};
use crate::machine::{Step, WatchEnd};
use crate::state::ReflectorPhase;
use crate::waiter::Interrupt;
use crate::{Error, TransportKind};

/// When initial events are still without end after this time, the log says so.
///
/// # Upstream
/// The period of `initialEventsEndBookmarkTicker`.
const WARN_AFTER: Duration = Duration::from_secs(10);

/// A watch that the server accepted.
pub(super) struct OpenWatch<T> {
    stream: WatchStream<T>,
    /// Behind the end that was agreed with the server.
    deadline: Instant,
    /// What came behind the marker in one batch with it.
    ahead: Vec<WatchEvent<T>>,
}

/// What initial events came to.
enum Initial {
    Ended(ResourceVersion),
    Cut(WatchEnd),
}

impl<T: Object> Driver<T> {
    /// A watch, to its end.
    pub(super) async fn watch(&mut self, options: WatchOptions) -> Result<Step, Interrupt> {
        self.handle
            .update(|state| state.counters.watch_requests += 1);
        match self.open(options).await? {
            Ok(open) => {
                self.open = Some(open);
                self.keep_watching().await
            }
            Err(error) => Ok(self.refused(error)),
        }
    }

    /// A watch with initial events, to the end of those.
    pub(super) async fn watch_list(&mut self, options: WatchOptions) -> Result<Step, Interrupt> {
        self.handle
            .update(|state| state.counters.watch_list_requests += 1);
        let mut open = match self.open(options).await? {
            Ok(open) => open,
            Err(error) => return Ok(self.refused(error)),
        };
        self.handle
            .enter(ReflectorPhase::InitialEvents, Instant::now());
        let initial = self.collect_initial_events(&mut open).await?;
        let now = Instant::now();
        match initial {
            Initial::Ended(version) => {
                self.open = Some(open);
                Ok(self.machine.on_initial_events_end(version))
            }
            Initial::Cut(end) => {
                self.list = None;
                Ok(self.machine.on_watch_end(end, Duration::ZERO, now))
            }
        }
    }

    /// The events of the open watch, to its end.
    pub(super) async fn keep_watching(&mut self) -> Result<Step, Interrupt> {
        let since = Instant::now();
        self.machine.on_watch_open(since);
        self.handle.enter(ReflectorPhase::Watching, since);
        let end = match self.open.take() {
            Some(open) => self.pump(open).await?,
            None => WatchEnd::Closed,
        };
        let now = Instant::now();
        tracing::debug!(?end, "a watch ended");
        Ok(self.machine.on_watch_end(end, now - since, now))
    }

    async fn open(
        &mut self,
        options: WatchOptions,
    ) -> Result<Result<OpenWatch<T>, Error>, Interrupt> {
        tracing::debug!(?options, "watches");
        let now = Instant::now();
        self.handle.enter(ReflectorPhase::Connecting, now);
        let deadline = now + options.timeout + self.limits.margin;
        let start = timeout(self.limits.request, self.lister_watcher.watch(options));
        Ok(match self.waiter.until(start).await? {
            Ok(Ok(stream)) => Ok(OpenWatch {
                stream,
                deadline,
                ahead: Vec::new(),
            }),
            Ok(Err(error)) => Err(error),
            Err(elapsed) => Err(Error::transport(TransportKind::Timeout, elapsed)),
        })
    }

    fn refused(&mut self, error: Error) -> Step {
        let end = WatchEnd::Refused(error);
        self.machine
            .on_watch_end(end, Duration::ZERO, Instant::now())
    }

    /// Collects initial events until their marker comes, or does not.
    async fn collect_initial_events(
        &mut self,
        open: &mut OpenWatch<T>,
    ) -> Result<Initial, Interrupt> {
        let begun = Instant::now();
        let mut silent_since = begun;
        let mut is_warned = false;
        loop {
            let silent_at = silent_since + self.limits.initial_events;
            let mut limit = silent_at.min(open.deadline);
            if !is_warned {
                limit = limit.min(begun + WARN_AFTER);
            }
            let next = timeout_at(limit, open.stream.next());
            match self.waiter.until(next).await? {
                Ok(Some(Ok(batch))) => {
                    silent_since = Instant::now();
                    self.handle
                        .update(|state| state.last_event = Some(silent_since));
                    if let Some(initial) = self.collect(batch, open) {
                        return Ok(initial);
                    }
                }
                Ok(Some(Err(error))) => return Ok(Initial::Cut(WatchEnd::Failed(error))),
                Ok(None) => return Ok(Initial::Cut(WatchEnd::Closed)),
                Err(_) if limit == open.deadline => return Ok(Initial::Cut(WatchEnd::Deadline)),
                Err(_) if limit == silent_at => return Ok(Initial::Cut(WatchEnd::Silent)),
                Err(_) => {
                    is_warned = true;
                    tracing::warn!(
                        reflector = &*self.reporter.name,
                        resource = &*self.reporter.resource,
                        after = ?WARN_AFTER,
                        "still no bookmark that ends the initial events"
                    );
                }
            }
        }
    }

    /// Collects one batch of initial events.
    fn collect(&mut self, batch: Vec<WatchEvent<T>>, open: &mut OpenWatch<T>) -> Option<Initial> {
        let list = self.list.get_or_insert_with(|| self.store.begin_replace());
        let mut refused = Vec::new();
        let mut end = None;
        let mut events = batch.into_iter();
        for event in events.by_ref() {
            if let WatchEvent::Bookmark {
                resource_version,
                initial_events_end: true,
            } = event
            {
                end = Some(Initial::Ended(resource_version));
                break;
            }
            match change_of(event) {
                Ok(change) => refused.extend(list.apply(change).err()),
                Err(cut) => {
                    end = Some(Initial::Cut(cut));
                    break;
                }
            }
        }
        open.ahead.extend(events);
        self.reporter.undecodable(refused, Instant::now());
        end
    }

    /// Hands over batch after batch.
    async fn pump(&mut self, mut open: OpenWatch<T>) -> Result<WatchEnd, Interrupt> {
        let ahead = std::mem::take(&mut open.ahead);
        let mut end = self.apply(ahead)?;
        while end.is_none() {
            // A server that is never silent must not starve the consumer of the queue:
            // on a single thread the backlog would grow, and with it the memory.
            tokio::task::yield_now().await;
            self.waiter.until_store_is_ready().await?;
            let next = timeout_at(open.deadline, open.stream.next());
            end = match self.waiter.until(next).await? {
                Ok(Some(Ok(batch))) => self.apply(batch)?,
                Ok(Some(Err(error))) => Some(WatchEnd::Failed(error)),
                Ok(None) => Some(WatchEnd::Closed),
                Err(_) => Some(WatchEnd::Deadline),
            };
        }
        Ok(end.unwrap_or(WatchEnd::Closed))
    }

    /// Gives one batch to the store, up to the event that ends the watch.
    fn apply(&mut self, batch: Vec<WatchEvent<T>>) -> Result<Option<WatchEnd>, Interrupt> {
        let mut changes = std::mem::take(&mut self.changes);
        changes.reserve(batch.len());
        let mut refused: Vec<Arc<Undecodable>> = Vec::new();
        let mut bookmarks = 0;
        let mut end = None;
        for event in batch {
            match change_of(event).and_then(with_version) {
                Ok(change) => {
                    match &change {
                        Change::Bookmark(_) => bookmarks += 1,
                        Change::Undecodable(undecodable) => {
                            refused.push(Arc::new(Undecodable::clone(undecodable)));
                        }
                        Change::Added(_) | Change::Updated(_) | Change::Deleted { .. } => {}
                    }
                    changes.push(change);
                }
                Err(why) => {
                    end = Some(why);
                    break;
                }
            }
        }
        if let Some(version) = changes.last().and_then(version_of) {
            let events = changes.len() as u64 - bookmarks;
            let taken = self.store.apply(&mut changes, &mut refused);
            changes.clear();
            self.changes = changes;
            taken.map_err(Interrupt::Store)?;
            self.applied(version, events, bookmarks);
        } else {
            self.changes = changes;
        }
        self.reporter.undecodable(refused, Instant::now());
        Ok(end)
    }

    /// A batch is in the store.
    fn applied(&mut self, version: ResourceVersion, events: u64, bookmarks: u64) {
        let before = self.machine.consecutive_failures();
        self.machine.on_applied(version.clone());
        let failures = self.machine.consecutive_failures();
        if before > 0 && failures == 0 {
            self.reporter.log.clear();
            tracing::info!(
                reflector = &*self.reporter.name,
                failures = before,
                "watches again"
            );
        }
        let now = Instant::now();
        self.handle.update(|state| {
            state.last_event = Some(now);
            state.last_sync_resource_version = Some(version);
            state.consecutive_failures = failures;
            state.counters.events += events;
            state.counters.bookmarks += bookmarks;
        });
    }
}

/// The change that an event is, or the end of the watch that it means.
fn change_of<T: Object>(event: WatchEvent<T>) -> Result<Change<T>, WatchEnd> {
    let change = match event {
        WatchEvent::Added(obj) => Change::Added(obj),
        WatchEvent::Modified(obj) => Change::Updated(obj),
        WatchEvent::Deleted {
            name,
            object,
            resource_version,
        } => Change::Deleted {
            name,
            object,
            resource_version,
        },
        WatchEvent::Undecodable(undecodable) => Change::Undecodable(undecodable),
        WatchEvent::Bookmark {
            resource_version, ..
        } => Change::Bookmark(resource_version),
        WatchEvent::Error(error) => return Err(WatchEnd::Event(error)),
    };
    let has_name = match &change {
        Change::Added(obj) | Change::Updated(obj) => !obj.name().is_empty(),
        Change::Deleted { name, .. } => !is_nameless(name),
        Change::Undecodable(undecodable) => !is_nameless(&undecodable.name),
        Change::Bookmark(_) => true,
    };
    if has_name {
        Ok(change)
    } else {
        Err(unreadable("its object has no name"))
    }
}

/// Without a version there is no telling where to go on behind the event.
fn with_version<T: Object>(change: Change<T>) -> Result<Change<T>, WatchEnd> {
    let has_version = match &change {
        Change::Added(obj) | Change::Updated(obj) => obj.resource_version().is_some(),
        Change::Deleted {
            object,
            resource_version,
            ..
        } => {
            let object = object.as_ref();
            resource_version.is_some() || object.is_some_and(|obj| obj.resource_version().is_some())
        }
        Change::Undecodable(undecodable) => undecodable.resource_version.is_some(),
        Change::Bookmark(_) => true,
    };
    if has_version {
        Ok(change)
    } else {
        Err(unreadable("its object has no resource version"))
    }
}

fn version_of<T: Object>(change: &Change<T>) -> Option<ResourceVersion> {
    let of = |obj: &T| obj.resource_version().and_then(ResourceVersion::new);
    match change {
        Change::Added(obj) | Change::Updated(obj) => of(obj),
        Change::Deleted {
            object,
            resource_version,
            ..
        } => resource_version
            .clone()
            .or_else(|| object.as_ref().and_then(of)),
        Change::Undecodable(undecodable) => undecodable.resource_version.clone(),
        Change::Bookmark(version) => Some(version.clone()),
    }
}

fn is_nameless(name: &ObjectName) -> bool {
    name.name().is_empty()
}

fn unreadable(why: &str) -> WatchEnd {
    WatchEnd::Failed(Error::decode("a watch event", why))
}
