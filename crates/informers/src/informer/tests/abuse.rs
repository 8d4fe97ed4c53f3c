//! A whole informer under abuse: many tasks add and remove handlers of every kind while
//! everything changes and the server fails, until a stop at a random moment.
//!
//! A run is made of ten virtual minutes, 100,000 changes and a hundred tasks. Its seed
//! is printed and stands in every message; `INFORMERS_ABUSE_SEED=7 cargo test -p informers
//! abused` gives every run another one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use informers_indexer::Indexers;
use informers_processor::{
    Buffer, HandlerOptions, HandlerRegistration, InlineExecutor, ProcessorStopped, Subscription,
};
use informers_reflector::{BackoffOptions, ReflectorOptions};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::server::{Item, KEYS, Random, Server};
use self::witness::{Blocking, Nested, Witness, futures, stored};
use crate::options::{InformerOptions, QueueKind};
use crate::{Lifecycle, SharedIndexInformer};

mod server;
mod witness;

/// The length of a whole run.
const LENGTH: Duration = Duration::from_secs(600);
/// The changes of a whole run.
const CHANGES: u64 = 100_000;
/// How many tasks add and remove handlers.
const GUESTS: u64 = 100;
/// Changes come in groups, this far apart.
const TICK: Duration = Duration::from_millis(60);
/// The most objects that may be alive at once: 100,000 come by, and 200 are there.
const MOST_ALIVE: usize = 3_000;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// After all changes, once the informer has caught up.
    Settled,
    /// At a random moment: what waits is delivered, ...
    Drain,
    /// ... or dropped, ...
    Drop,
    /// ... or nobody even waits for the end.
    Abandon,
}

/// What each kind of handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Coalescing,
    Resynced,
    Panicking,
    Async,
    SlowCoalescing,
    AsyncPanicking,
    Nesting,
    RemovesItself,
    Stream,
}

const RESIDENTS: [Kind; 8] = [
    Kind::Plain,
    Kind::Coalescing,
    Kind::Resynced,
    Kind::Panicking,
    Kind::Async,
    Kind::SlowCoalescing,
    Kind::AsyncPanicking,
    Kind::Stream,
];
const KINDS: [Kind; 10] = [
    Kind::Plain,
    Kind::Coalescing,
    Kind::Resynced,
    Kind::Panicking,
    Kind::Async,
    Kind::SlowCoalescing,
    Kind::AsyncPanicking,
    Kind::Nesting,
    Kind::RemovesItself,
    Kind::Stream,
];

/// A handler that was added.
struct Joined {
    kind: Kind,
    witness: Witness,
    registration: HandlerRegistration,
    stream: Option<Subscription<Item>>,
    /// A handler that this one has added.
    nested: Option<(Witness, Arc<OnceLock<HandlerRegistration>>)>,
}

fn join(informer: &SharedIndexInformer<Item>, kind: Kind) -> Result<Joined, ProcessorStopped> {
    let witness = Witness::new();
    let plain = HandlerOptions::new().with_resync_period(Duration::ZERO);
    let coalescing = plain.clone().with_buffer(Buffer::Coalescing {
        max: NonZeroUsize::new(8).unwrap(),
    });
    let mut blocking = Blocking::new(&witness);
    let (mut stream, mut nested) = (None, None);
    let registration = match kind {
        Kind::Plain => informer.add_event_handler_with_options(blocking, plain)?,
        Kind::Coalescing => informer.add_event_handler_with_options(blocking, coalescing)?,
        Kind::Resynced => {
            informer.add_event_handler_with_resync_period(blocking, Duration::from_secs(20))?
        }
        Kind::Panicking => {
            blocking.panics_at = 997;
            informer.add_event_handler_with_options(blocking, plain)?
        }
        Kind::Async => {
            let handler = futures(&witness, (16, Duration::from_millis(20)), 0);
            informer.add_async_event_handler(handler, plain)?
        }
        Kind::SlowCoalescing => {
            let handler = futures(&witness, (1000, Duration::from_secs(4)), 0);
            informer.add_async_event_handler(handler, coalescing)?
        }
        Kind::AsyncPanicking => {
            let handler = futures(&witness, (64, Duration::ZERO), 499);
            informer.add_async_event_handler(handler, plain)?
        }
        Kind::Nesting => {
            let child = (Witness::new(), Arc::new(OnceLock::new()));
            blocking.nested = Some(Nested {
                informer: informer.clone(),
                witness: child.0.clone(),
                registration: Arc::clone(&child.1),
            });
            nested = Some(child);
            informer.add_event_handler_with_options(blocking, plain)?
        }
        Kind::RemovesItself => {
            let itself = Arc::new(OnceLock::new());
            blocking.itself = Some(Arc::clone(&itself));
            let registration = informer.add_event_handler_with_options(blocking, plain)?;
            itself.set(registration.clone()).unwrap();
            registration
        }
        Kind::Stream => {
            let subscription = informer.subscribe_with_options(plain)?;
            let registration = subscription.registration().clone();
            stream = Some(subscription);
            registration
        }
    };
    Ok(Joined {
        kind,
        witness,
        registration,
        stream,
        nested,
    })
}

impl Joined {
    /// Takes from the stream, if it is one, until `leave`; false if the stream ended.
    async fn stay(&mut self, leave: Duration) -> bool {
        let Some(stream) = &mut self.stream else {
            tokio::time::sleep(leave).await;
            return true;
        };
        let leave = tokio::time::sleep(leave);
        tokio::pin!(leave);
        loop {
            tokio::select! {
                () = &mut leave => return true,
                next = stream.next() => match next {
                    Some(notification) => self.witness.hear(&notification),
                    None => return false,
                },
            }
        }
    }

    /// One that has nothing waiting knows exactly what the store holds.
    fn check_view(&self, run: &Run) {
        let stats = self.registration.stats();
        let is_idle = stats.depth == 0 && stats.in_callback.is_none();
        if is_idle && !self.registration.removed() {
            let stored = stored(&run.informer.store());
            assert_eq!(self.witness.view(), stored, "{:?} of {run:?}", self.kind);
        }
    }

    /// Leaves in one way or another; afterwards nothing of it is left.
    async fn leave(mut self, run: &Run, how: u64) {
        self.check_view(run);
        match how {
            0 => self.registration.remove(),
            1 => {
                run.informer.remove_event_handler(&self.registration);
            }
            // Twice is as good as once.
            2 => {
                self.registration.remove();
                self.registration.remove();
            }
            _ => {}
        }
        drop(self.stream.take());
        let waited = self.registration.remove_and_wait();
        self.witness.close();
        waited.await.unwrap();
        assert!(!self.witness.is_held(), "{:?} of {run:?}", self.kind);
        assert_eq!(self.witness.wrong(), [""; 0], "{:?} of {run:?}", self.kind);
        if let Some((witness, registration)) = self.nested {
            if let Some(registration) = registration.get() {
                registration.remove_and_wait().await.unwrap();
            }
            assert!(!witness.is_held(), "nested of {run:?}");
            assert_eq!(witness.wrong(), [""; 0], "nested of {run:?}");
        }
    }
}

/// One run.
struct Run {
    seed: u64,
    queue: QueueKind,
    ending: Ending,
    server: Server,
    informer: SharedIndexInformer<Item>,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            seed,
            queue,
            ending,
            ..
        } = self;
        write!(f, "seed {seed} with {queue:?} ending {ending:?}")
    }
}

impl Run {
    fn new(seed: u64, queue: QueueKind, ending: Ending) -> Self {
        let server = Server::new(seed);
        server.write(150);
        let reflector = ReflectorOptions {
            backoff: BackoffOptions {
                cap: Duration::from_secs(2),
                jitter: 0.0,
                reset_after: Duration::from_secs(10),
                ..BackoffOptions::default()
            },
            ..ReflectorOptions::default()
        };
        let options = InformerOptions::new()
            .with_executor(Arc::new(InlineExecutor))
            .with_queue(queue)
            .with_resync_period(Duration::from_secs(10))
            .with_indexers(Indexers::new().with("tens", |it: &Item| (it.number / 10).to_string()))
            .with_reflector(reflector);
        Self {
            seed,
            queue,
            ending,
            informer: SharedIndexInformer::new(Arc::new(server.clone()), options),
            server,
            stopping: AtomicBool::new(false),
        }
    }

    /// Comes and goes until it is told that the informer has stopped; how often it came.
    async fn guest(&self, number: u64) -> u64 {
        let mut random = Random::new(self.seed ^ (number << 32));
        let mut joins = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(random.below(20_000))).await;
            let kind = KINDS[usize::try_from(random.below(KINDS.len() as u64)).unwrap()];
            let Ok(mut joined) = join(&self.informer, kind) else {
                assert!(self.stopping.load(Ordering::SeqCst), "{self:?}");
                return joins;
            };
            joins += 1;
            joined
                .stay(Duration::from_millis(random.below(2_000)))
                .await;
            joined.leave(self, random.below(4)).await;
        }
    }

    /// Changes, failures and reads, for as long as `length`.
    async fn change(&self, length: Duration) {
        let mut random = Random::new(!self.seed);
        let ticks = length.as_millis() / TICK.as_millis();
        let whole = LENGTH.as_millis() / TICK.as_millis();
        let changes = CHANGES / u64::try_from(whole).unwrap();
        for _ in 0..ticks {
            tokio::time::sleep(TICK).await;
            self.server.write(changes);
            if random.below(60) == 0 {
                self.server.fail();
            }
            if random.below(20) == 0 {
                self.read();
            }
        }
    }

    /// Index and store tell the same.
    fn read(&self) {
        let store = self.informer.store();
        let values = store.list_index_func_values("tens").unwrap();
        let objects = values.iter().map(|it| store.by_index("tens", it).unwrap());
        assert_eq!(objects.map(|it| it.len()).sum::<usize>(), store.len());
        assert!(values.len() <= KEYS / 10);
    }

    /// Waits until the store is the server again.
    async fn settle(&self) {
        for _ in 0..600 {
            if stored(&self.informer.store()) == self.server.objects() {
                // Those who pause after a panic, or are slow, still have to hear it.
                tokio::time::sleep(Duration::from_secs(300)).await;
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("the store is not the server; {self:?}");
    }
}

/// What came of a run.
#[derive(Debug)]
struct Summary {
    /// Handlers that came and went.
    joins: u64,
    /// Notifications to those that stayed.
    told: u64,
    /// Lists that were asked for.
    lists: usize,
    /// The most objects that were alive at once.
    peak: usize,
}

async fn run(seed: u64, queue: QueueKind, ending: Ending) -> Summary {
    let before = Handle::current().metrics().num_alive_tasks();
    let run = Arc::new(Run::new(seed, queue, ending));
    let residents: Vec<_> = RESIDENTS
        .iter()
        .map(|&kind| join(&run.informer, kind).unwrap())
        .collect();
    let cancel = CancellationToken::new();
    let mut running = JoinSet::new();
    running.spawn(run.informer.run(cancel.clone()));
    let mut streams = JoinSet::new();
    let mut handlers = Vec::new();
    for mut resident in residents {
        handlers.push((
            resident.kind,
            resident.witness.clone(),
            resident.registration.clone(),
        ));
        streams.spawn(async move {
            // A stream ends by itself; others have nothing to do.
            while resident.stream.is_some() && resident.stay(LENGTH).await {}
        });
    }
    let mut guests = JoinSet::new();
    for number in 1..=GUESTS {
        let run = Arc::clone(&run);
        guests.spawn(async move { run.guest(number).await });
    }

    let length = match ending {
        Ending::Settled => LENGTH,
        Ending::Drain | Ending::Drop | Ending::Abandon => {
            let milliseconds = Random::new(seed ^ 0x5eed).below(600_000);
            Duration::from_millis(milliseconds)
        }
    };
    run.change(length).await;
    if ending == Ending::Settled {
        run.settle().await;
        for (kind, witness, _) in &handlers {
            assert_eq!(witness.view(), run.server.objects(), "{kind:?} of {run:?}");
        }
    }

    run.stopping.store(true, Ordering::SeqCst);
    match ending {
        Ending::Settled | Ending::Drain => run.informer.stop_with_drain(),
        Ending::Drop => cancel.cancel(),
        Ending::Abandon => running.abort_all(),
    }
    let ended = running.join_next().await.unwrap();
    assert_eq!(ended.is_err(), ending == Ending::Abandon, "{run:?}");
    assert_eq!(run.informer.lifecycle(), Lifecycle::Stopped);
    let mut joins = 0;
    while let Some(guest) = guests.join_next().await {
        joins += guest.unwrap();
    }
    while let Some(stream) = streams.join_next().await {
        stream.unwrap();
    }
    let store: BTreeMap<_, _> = stored(&run.informer.store());
    let mut told = 0;
    for (kind, witness, registration) in handlers {
        registration.remove_and_wait().await.unwrap();
        assert_eq!(witness.wrong(), [""; 0], "{kind:?} of {run:?}");
        if matches!(ending, Ending::Settled | Ending::Drain) {
            assert_eq!(witness.view(), store, "{kind:?} of {run:?}");
        }
        let panics = matches!(kind, Kind::Panicking | Kind::AsyncPanicking);
        let stats = registration.stats();
        assert!(panics || stats.panics == 0, "{kind:?} of {run:?}");
        assert_eq!(stats.depth, 0, "{kind:?} of {run:?}");
        assert!(!witness.is_held(), "{kind:?} of {run:?}");
        told += witness.count();
    }
    assert!(run.informer.handlers().is_empty(), "{run:?}");

    let (lists, peak) = nothing_is_left(run, before).await;
    Summary {
        joins,
        told,
        lists,
        peak,
    }
}

/// No task but `before`, no request, no object. Answers how many lists and, at most, objects
/// there were.
async fn nothing_is_left(run: Arc<Run>, before: usize) -> (usize, usize) {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    // Whose informer was abandoned may need some turns.
    for _ in 0..1000 {
        if tasks() <= before {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks(), before, "{run:?}");
    let story = format!("{run:?}");
    let (server, census) = (run.server.clone(), run.server.census());
    drop(Arc::into_inner(run).expect("all guests have left"));
    assert!(!server.is_held(), "{story}");
    assert_eq!(census.alive(), 0, "{story}");
    let peak = census.peak();
    assert!(peak < MOST_ALIVE, "{peak} alive; {story}");
    (server.lists(), peak)
}

/// Runs `seed`, or the one that the environment names.
async fn abuse(seed: u64, queue: QueueKind, ending: Ending) -> Summary {
    let seed = match std::env::var("INFORMERS_ABUSE_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => seed,
    };
    eprintln!("INFORMERS_ABUSE_SEED={seed}: {queue:?}, {ending:?}");
    let summary = run(seed, queue, ending).await;
    eprintln!("{summary:?}");
    summary
}

// Scenario: TestSharedInformerHandlerAbuse; B63, B66
#[tokio::test(start_paused = true)]
async fn informer_abused_for_ten_minutes_ends_as_the_server_with_delta_fifo() {
    let summary = abuse(1, QueueKind::DeltaFifo, Ending::Settled).await;
    assert!(summary.joins > 2_000 && summary.lists > 50);
    assert!(summary.told > 4 * CHANGES && summary.peak > KEYS / 2);
}

#[tokio::test(start_paused = true)]
async fn informer_abused_for_ten_minutes_ends_as_the_server_with_in_order_fifo() {
    let summary = abuse(2, QueueKind::InOrder, Ending::Settled).await;
    assert!(summary.joins > 2_000 && summary.lists > 50);
    assert!(summary.told > 4 * CHANGES && summary.peak > KEYS / 2);
}

// B69, B72
#[tokio::test(start_paused = true)]
async fn informer_abused_and_stopped_at_random_leaves_nothing_behind_with_delta_fifo() {
    for (seed, ending) in [
        (10, Ending::Drain),
        (11, Ending::Drop),
        (12, Ending::Abandon),
    ] {
        abuse(seed, QueueKind::DeltaFifo, ending).await;
    }
}

#[tokio::test(start_paused = true)]
async fn informer_abused_and_stopped_at_random_leaves_nothing_behind_with_in_order_fifo() {
    for (seed, ending) in [
        (13, Ending::Drain),
        (14, Ending::Drop),
        (15, Ending::Abandon),
    ] {
        abuse(seed, QueueKind::InOrder, ending).await;
    }
}
