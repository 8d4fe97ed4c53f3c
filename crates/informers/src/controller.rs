//! [`Controller`]: a reflector and the loop that empties its queue, side by side.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::{
    Change, Object, Popped, ReflectorStore, Replacement, ResourceVersion, SharedQueue, StoreError,
    Undecodable,
};
use informers_processor::SyncFlag;
use informers_reflector::Reflector;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Keys taken out of the queue at once: the store is locked for a write of that many at
/// most.
const BATCH: NonZeroUsize = NonZeroUsize::new(1000).expect("a thousand is not zero");

/// The pause before a task is started again that ended by a panic of user code.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// One reflector of an informer.
pub(crate) struct Source<T> {
    pub(crate) reflector: Reflector<T>,
    /// Makes another reflector, should this one panic.
    pub(crate) remake: Box<dyn Fn() -> Reflector<T> + Send + Sync>,
}

/// The reflectors, the queue they fill, and the loop that empties the queue into `process`.
///
/// # Shutdown
/// 1. The token is cancelled.
/// 2. The reflector ends, whatever it waits for.
/// 3. The queue is closed; the loop ends after the piece of work in its hands, the rest
///    is dropped.
///
/// # Upstream
/// `cache.controller` with its `processLoop`.
#[doc(alias = "processLoop")]
pub(crate) struct Controller<T: Object> {
    /// One for each namespace, or one in all.
    pub(crate) sources: Vec<Source<T>>,
    pub(crate) queue: Arc<SharedQueue<T>>,
    pub(crate) synced: SyncFlag,
}

impl<T: Object> Controller<T> {
    /// Runs until `cancel`; then every task has ended.
    pub(crate) async fn run(
        self,
        cancel: CancellationToken,
        process: impl Fn(Popped<T>) + Send + Sync + 'static,
    ) {
        let process = Arc::new(process);
        let mut tasks = JoinSet::new();
        let reflect = |tasks: &mut JoinSet<Part>, reflector: Reflector<T>| {
            let cancel = cancel.clone();
            tasks.spawn(async move {
                reflector.run(cancel).await;
                Part::Reflector
            })
        };
        let consume = |tasks: &mut JoinSet<Part>| {
            let (queue, process) = (Arc::clone(&self.queue), Arc::clone(&process));
            let synced = self.synced.clone();
            tasks.spawn(async move {
                process_loop(&queue, &synced, &*process).await;
                Part::ProcessLoop
            });
        };
        let mut reflecting = HashMap::new();
        for Source { reflector, remake } in self.sources {
            reflecting.insert(reflect(&mut tasks, reflector).id(), remake);
        }
        consume(&mut tasks);
        while let Some(ended) = tasks.join_next_with_id().await {
            match ended {
                Ok((id, Part::Reflector)) => {
                    reflecting.remove(&id);
                    if reflecting.is_empty() {
                        self.queue.close();
                    }
                }
                Ok((_, Part::ProcessLoop)) => {}
                // A panic of the user's transform, index function or error handler.
                Err(error) => {
                    tracing::error!(%error, "a task of the informer panicked; it starts again");
                    tokio::select! {
                        () = cancel.cancelled() => {}
                        () = tokio::time::sleep(RESTART_DELAY) => {}
                    }
                    match reflecting.remove(&error.id()) {
                        Some(remake) => {
                            reflecting.insert(reflect(&mut tasks, remake()).id(), remake);
                        }
                        None => consume(&mut tasks),
                    }
                }
            }
        }
    }
}

/// Which task ended.
enum Part {
    Reflector,
    ProcessLoop,
}

async fn process_loop<T: Object>(
    queue: &SharedQueue<T>,
    synced: &SyncFlag,
    process: &(impl Fn(Popped<T>) + Send + Sync),
) {
    while queue.pop(BATCH, process).await.is_ok() {
        note_sync(queue, synced);
        // A queue that is never empty must not starve the reader beside it.
        tokio::task::yield_now().await;
    }
}

fn note_sync<T: Object>(queue: &SharedQueue<T>, synced: &SyncFlag) {
    if !synced.is_set() && queue.has_synced() {
        synced.set();
    }
}

/// The queue as the reflector sees it: an empty first list makes it synced at once.
pub(crate) struct QueueEntry<T> {
    pub(crate) queue: Arc<SharedQueue<T>>,
    /// The namespace that its lists are about; `None`: everything.
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) synced: SyncFlag,
}

impl<T: Object> ReflectorStore<T> for QueueEntry<T> {
    fn begin_replace(&self) -> Replacement<T> {
        let namespace = self.namespace.clone();
        self.queue.begin_replace().in_namespace(namespace)
    }

    fn replace(
        &self,
        list: Replacement<T>,
        resource_version: Option<&ResourceVersion>,
    ) -> Result<(), StoreError> {
        self.queue.replace(list, resource_version)?;
        note_sync(&self.queue, &self.synced);
        Ok(())
    }

    fn apply(
        &self,
        changes: &mut Vec<Change<T>>,
        refused: &mut Vec<Arc<Undecodable>>,
    ) -> Result<(), StoreError> {
        self.queue.apply(changes, refused)
    }

    fn resync(&self) -> Result<(), StoreError> {
        self.queue.resync()
    }

    fn poll_ready(&self, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        self.queue.poll_ready(cx)
    }
}
