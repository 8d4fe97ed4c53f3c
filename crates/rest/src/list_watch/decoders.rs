//! [`Decoders`]: objects are decoded side by side, and handed over in their order.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use informers_reflector::{Error, TransportKind};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::task::TaskTracker;

/// A batch is closed when it holds so many objects …
const BATCH_ITEMS: usize = 64;
/// … or so many bytes of JSON.
const BATCH_BYTES: usize = 256 << 10;
/// So many objects that were decoded in place are handed over at once.
pub(super) const READY_ITEMS: usize = 256;
/// No more batches are under way at once, however many cores there are: reading and what
/// comes after decoding take their share.
const MOST_BATCHES: usize = 4;
/// A batch's buffer that grew beyond this for one large object is given back.
const KEPT: usize = 2 * BATCH_BYTES;

/// The JSON of one object, with what stands around it, to what it becomes.
pub(super) type DecodeOne<I, O> = Arc<dyn Fn(&I, &[u8]) -> Result<O, Error> + Send + Sync>;

/// Decodes the objects of one body, on tokio's threads for blocking work if there are
/// enough of them to be worth it.
///
/// # Invariants
/// What goes in comes out in the same order, whoever decodes it. After an error nothing
/// comes any more.
///
/// # Progress
/// A batch that no thread has begun when it is waited for is decoded by the one who
/// waits, so that threads which are all blocked hold nothing up.
///
/// # Memory
/// In place: 256 objects. Else at most as many batches as there are cores, and four, wait
/// or are decoded: 64 objects and up to 256 KiB of JSON each, or one object, and what
/// becomes of it.
///
/// # Shutdown
/// Dropped, it leaves at most the batches that are being decoded, each a few milliseconds
/// of work; `tasks` counts them.
pub(super) struct Decoders<I, O> {
    decode: DecodeOne<I, O>,
    tasks: TaskTracker,
    /// How many batches may be under way; if none, objects are decoded in place.
    limit: usize,
    /// Decoded in place.
    ready: Decoded<O>,
    gathered: Batch<I>,
    under_way: VecDeque<Work<I, O>>,
    spare: Vec<Batch<I>>,
}

/// Objects one after another, as they came.
struct Batch<I> {
    json: Vec<u8>,
    /// What each object is, and where its JSON ends.
    items: Vec<(I, usize)>,
}

/// What became of a batch: the objects before an error, and the error.
pub(super) struct Decoded<O> {
    pub(super) objects: Vec<O>,
    pub(super) failed: Option<Error>,
}

/// A batch until a thread begins with it.
type Slot<I> = Arc<Mutex<Option<Batch<I>>>>;
/// A batch decoded by a thread; `None` if there was nothing left to begin with.
type Done<I, O> = Option<(Decoded<O>, Batch<I>)>;

struct Work<I, O> {
    slot: Slot<I>,
    thread: JoinHandle<Done<I, O>>,
}

impl<I: Send + 'static, O: Send + 'static> Decoders<I, O> {
    /// On several threads if decoding `is_expensive`, and there are several cores.
    pub(super) fn new(decode: DecodeOne<I, O>, is_expensive: bool, tasks: TaskTracker) -> Self {
        let limit = if is_expensive {
            available_parallelism().map_or(1, NonZeroUsize::get)
        } else {
            1
        };
        let limit = if limit > 1 {
            limit.min(MOST_BATCHES)
        } else {
            0
        };
        Self::with_limit(decode, tasks, limit)
    }

    fn with_limit(decode: DecodeOne<I, O>, tasks: TaskTracker, limit: usize) -> Self {
        Self {
            decode,
            tasks,
            limit,
            ready: Decoded::none(),
            gathered: Batch::new(),
            under_way: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Whether more objects may be pushed.
    pub(super) fn has_room(&self) -> bool {
        if self.limit == 0 {
            self.ready.failed.is_none() && self.ready.objects.len() < READY_ITEMS
        } else {
            !self.gathered.is_full()
        }
    }

    /// Whether nothing is left to hand over.
    pub(super) fn is_empty(&self) -> bool {
        self.gathered.items.is_empty() && self.under_way.is_empty() && self.ready.is_none()
    }

    /// Takes the next object, while there is [room](Self::has_room).
    pub(super) fn push(&mut self, item: I, json: &[u8]) {
        if self.limit == 0 {
            match (self.decode)(&item, json) {
                Ok(object) => self.ready.objects.push(object),
                Err(error) => self.ready.failed = Some(error),
            }
            return;
        }
        self.gathered.push(item, json);
        if self.gathered.is_full() && self.under_way.len() < self.limit {
            self.submit();
        }
    }

    /// The next objects: none if there are none.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Decoded<O> {
        if self.limit == 0 {
            return std::mem::replace(&mut self.ready, Decoded::none());
        }
        let decoded = match self.under_way.front_mut() {
            None => {
                let batch = self.replace_gathered();
                self.decode_here(batch)
            }
            Some(work) => {
                let not_begun = work
                    .slot
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                if let Some(batch) = not_begun {
                    self.under_way.pop_front();
                    self.decode_here(batch)
                } else {
                    let done = (&mut work.thread).await;
                    self.under_way.pop_front();
                    self.take_back(done)
                }
            }
        };
        if decoded.failed.is_some() {
            self.under_way.clear();
            self.gathered.clear();
        } else if self.gathered.is_full() {
            self.submit();
        }
        decoded
    }

    fn decode_here(&mut self, batch: Batch<I>) -> Decoded<O> {
        let decoded = batch.decode(&self.decode);
        self.keep(batch);
        decoded
    }

    fn take_back(&mut self, done: Result<Done<I, O>, JoinError>) -> Decoded<O> {
        match done {
            Ok(Some((decoded, batch))) => {
                self.keep(batch);
                decoded
            }
            // The runtime shuts down, and took the batch with it.
            Ok(None) => Decoded::failed(Error::transport(TransportKind::Reset, ShuttingDown)),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(error) => Decoded::failed(Error::transport(TransportKind::Reset, error)),
            },
        }
    }

    fn submit(&mut self) {
        let slot = Arc::new(Mutex::new(Some(self.replace_gathered())));
        let decode = Arc::clone(&self.decode);
        let tasks = self.tasks.clone();
        let waiting = Arc::clone(&slot);
        let thread = tokio::task::spawn_blocking(move || {
            // Counted before it takes the batch: who closes the client waits for it.
            let _counted = tasks.token();
            let batch = waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()?;
            Some((batch.decode(&decode), batch))
        });
        self.under_way.push_back(Work { slot, thread });
    }

    fn replace_gathered(&mut self) -> Batch<I> {
        let empty = self.spare.pop().unwrap_or_else(Batch::new);
        std::mem::replace(&mut self.gathered, empty)
    }

    /// Keeps a batch's buffers for the next.
    fn keep(&mut self, mut batch: Batch<I>) {
        if batch.json.capacity() <= KEPT && self.spare.len() <= self.limit {
            batch.clear();
            self.spare.push(batch);
        }
    }
}

impl<I, O> Drop for Work<I, O> {
    fn drop(&mut self) {
        // Nobody wants it any more; a thread that comes to it finds nothing.
        self.slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

impl<I> Batch<I> {
    fn new() -> Self {
        Self {
            json: Vec::new(),
            items: Vec::new(),
        }
    }

    fn push(&mut self, item: I, json: &[u8]) {
        self.json.extend_from_slice(json);
        self.items.push((item, self.json.len()));
    }

    fn is_full(&self) -> bool {
        self.items.len() >= BATCH_ITEMS || self.json.len() >= BATCH_BYTES
    }

    fn clear(&mut self) {
        self.json.clear();
        self.items.clear();
    }

    fn decode<O>(&self, decode: &DecodeOne<I, O>) -> Decoded<O> {
        let mut objects = Vec::with_capacity(self.items.len());
        let mut begin = 0;
        for (item, end) in &self.items {
            match decode(item, &self.json[begin..*end]) {
                Ok(object) => objects.push(object),
                Err(error) => {
                    return Decoded {
                        objects,
                        failed: Some(error),
                    };
                }
            }
            begin = *end;
        }
        Decoded {
            objects,
            failed: None,
        }
    }
}

impl<O> Decoded<O> {
    fn none() -> Self {
        Self {
            objects: Vec::new(),
            failed: None,
        }
    }

    fn is_none(&self) -> bool {
        self.objects.is_empty() && self.failed.is_none()
    }

    fn failed(error: Error) -> Self {
        Self {
            objects: Vec::new(),
            failed: Some(error),
        }
    }
}

/// The runtime ended before a thread began.
#[derive(Debug)]
struct ShuttingDown;

impl std::fmt::Display for ShuttingDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the tokio runtime is shutting down")
    }
}

impl std::error::Error for ShuttingDown {}

#[cfg(test)]
mod tests;
