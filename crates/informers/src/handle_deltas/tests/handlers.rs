//! A property: handlers that join, leave and panic at any moment are told what was there
//! when they joined, and then what everybody is told, until they leave.

use std::sync::Mutex;
use std::time::Duration;

use informers_cache_core::Deleted;
use informers_processor::{
    Buffer, EventHandler, HandlerOptions, HandlerRegistration, InlineExecutor, ProcessorOptions,
    SharedProcessor, ShutdownMode, SyncFlag,
};

use super::*;

/// What happens beside the server's changes.
#[derive(Debug, Clone)]
enum Move {
    World(Step),
    Join(Joiner),
    /// Handler `n` of those there are, or were, is removed; perhaps its end is waited for.
    Leave {
        n: u8,
        waits: bool,
    },
    /// Handlers get so many turns.
    Turns(u8),
    /// The pause after a panic passes.
    Rest,
}

/// A handler to be.
#[derive(Debug, Clone, Copy)]
struct Joiner {
    /// Panics at every so-manieth notification.
    panics_at: Option<u8>,
    asks_for_resyncs: bool,
    coalesces: bool,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let joiner = (
        prop_oneof![2 => Just(None), 1 => (1..4u8).prop_map(Some)],
        any::<bool>(),
        prop_oneof![3 => Just(false), 1 => Just(true)],
    );
    let joiner = joiner.prop_map(|(panics_at, asks_for_resyncs, coalesces)| Joiner {
        panics_at,
        asks_for_resyncs,
        coalesces,
    });
    let one = prop_oneof![
        12 => step().prop_map(Move::World),
        3 => joiner.prop_map(Move::Join),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(n, waits)| Move::Leave { n, waits }),
        3 => (1..5u8).prop_map(Move::Turns),
        1 => Just(Move::Rest),
    ];
    proptest::collection::vec(one, 1..80)
}

/// What a handler was told, as text and as the objects it knows.
#[derive(Default)]
struct Heard {
    lines: Vec<String>,
    view: BTreeMap<ObjectName, Arc<Obj>>,
    wrong: Vec<String>,
}

struct Handler {
    heard: Arc<Mutex<Heard>>,
    panics_at: Option<u8>,
}

impl Handler {
    fn hear(&self, notification: &Notification<Obj>) {
        let mut heard = self.heard.lock().unwrap();
        let line = show(&(notification.clone(), false));
        let is_legal = match notification {
            Notification::Add { obj, .. } => heard
                .view
                .insert(ObjectName::of(&**obj), Arc::clone(obj))
                .is_none(),
            Notification::Update { old, new } => {
                let before = heard.view.insert(ObjectName::of(&**new), Arc::clone(new));
                before.as_ref() == Some(old)
            }
            Notification::Delete(deleted) => heard.view.remove(&deleted.name).is_some(),
        };
        if !is_legal {
            heard.wrong.push(line.clone());
        }
        heard.lines.push(line);
        let count = heard.lines.len();
        drop(heard);
        if self
            .panics_at
            .is_some_and(|at| count.is_multiple_of(usize::from(at)))
        {
            // A panic without the output of the hook.
            std::panic::resume_unwind(Box::new("a bug of the handler"));
        }
    }
}

impl EventHandler<Obj> for Handler {
    fn on_add(&mut self, obj: &Arc<Obj>, is_in_initial_list: bool) {
        self.hear(&Notification::Add {
            obj: Arc::clone(obj),
            is_in_initial_list,
        });
    }

    fn on_update(&mut self, old: &Arc<Obj>, new: &Arc<Obj>) {
        self.hear(&Notification::Update {
            old: Arc::clone(old),
            new: Arc::clone(new),
        });
    }

    fn on_delete(&mut self, deleted: &Deleted<Obj>) {
        self.hear(&Notification::Delete(deleted.clone()));
    }
}

/// A handler that joined.
struct Guest {
    joiner: Joiner,
    heard: Arc<Mutex<Heard>>,
    registration: HandlerRegistration,
    /// What was there when it joined: the model's view then, sorted.
    snapshot: Vec<String>,
    /// How much had been told when it joined.
    from: usize,
    /// How much had been told, and how much it had heard, when it left.
    left: Option<(usize, usize)>,
}

/// The world, and handlers behind a processor.
struct Fanout {
    world: World,
    processor: SharedProcessor<Obj>,
    synced: SyncFlag,
    distributed: usize,
    guests: Vec<Guest>,
}

impl Fanout {
    fn new(kind: Kind) -> Self {
        let processor = SharedProcessor::new(ProcessorOptions {
            resync_period: Duration::from_secs(10),
            executor: Arc::new(InlineExecutor),
        });
        processor.start();
        Self {
            world: World::new(kind),
            processor,
            synced: SyncFlag::new(),
            distributed: 0,
            guests: Vec::new(),
        }
    }

    /// Tells the handlers what the store was told last.
    fn distribute(&mut self) {
        self.processor
            .distribute_all(&self.world.log[self.distributed..]);
        self.distributed = self.world.log.len();
        if self.world.pipeline.queue.has_synced() {
            self.synced.set();
        }
    }

    fn join(&mut self, joiner: Joiner) {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let handler = Handler {
            heard: Arc::clone(&heard),
            panics_at: joiner.panics_at,
        };
        let mut options = HandlerOptions::new();
        if !joiner.asks_for_resyncs {
            options = options.with_resync_period(Duration::ZERO);
        }
        if joiner.coalesces {
            options = options.with_buffer(Buffer::Coalescing {
                max: NonZeroUsize::MIN,
            });
        }
        let stored = self.world.pipeline.store.list();
        let registration = self
            .processor
            .add_listener(handler, options, stored, self.synced.clone())
            .unwrap();
        // The model's word, not the store's.
        let view = self.world.told.values();
        let mut snapshot: Vec<_> = view
            .map(|obj| format!("add! {}@{}", obj.name, obj.rv))
            .collect();
        snapshot.sort();
        self.guests.push(Guest {
            joiner,
            heard,
            registration,
            snapshot,
            from: self.world.log.len(),
            left: None,
        });
    }

    async fn leave(&mut self, n: u8, waits: bool) -> Result<(), TestCaseError> {
        if self.guests.is_empty() {
            return Ok(());
        }
        let n = usize::from(n) % self.guests.len();
        let guest = &mut self.guests[n];
        guest.registration.remove();
        let heard = guest.heard.lock().unwrap().lines.len();
        guest.left.get_or_insert((self.world.log.len(), heard));
        if waits {
            guest.registration.remove_and_wait().await.unwrap();
            let held = Arc::strong_count(&guest.heard);
            prop_assert_eq!(held, 1, "the handler is dropped");
        }
        Ok(())
    }

    async fn play(&mut self, moves: &[Move]) -> Result<(), TestCaseError> {
        for step in moves {
            match step {
                Move::World(step) => {
                    self.world.step(step)?;
                    self.distribute();
                }
                Move::Join(joiner) => self.join(*joiner),
                Move::Leave { n, waits } => self.leave(*n, *waits).await?,
                Move::Turns(turns) => {
                    for _ in 0..*turns {
                        tokio::task::yield_now().await;
                    }
                }
                Move::Rest => tokio::time::sleep(Duration::from_millis(1500)).await,
            }
        }
        self.world.finish()?;
        self.distribute();
        let late = self.processor.shutdown(ShutdownMode::Drain, None).await;
        prop_assert!(late.is_empty());
        for guest in &self.guests {
            guest.check(&self.world)?;
        }
        Ok(())
    }
}

impl Guest {
    fn check(&self, world: &World) -> Result<(), TestCaseError> {
        let heard = self.heard.lock().unwrap();
        let joiner = self.joiner;
        prop_assert!(heard.wrong.is_empty(), "{:?}: {:?}", joiner, heard.wrong);
        if let Some((_, count)) = self.left {
            let after = &heard.lines[count..];
            prop_assert!(
                after.is_empty(),
                "{:?} left, and was told {:?}",
                joiner,
                after
            );
        } else {
            prop_assert!(self.registration.stats().initial_outstanding == 0);
            prop_assert!(self.registration.has_synced());
            prop_assert_eq!(
                &heard.view,
                &world.told,
                "{:?} knows something else",
                joiner
            );
        }
        let panics = joiner
            .panics_at
            .map_or(0, |at| heard.lines.len() / usize::from(at));
        prop_assert_eq!(self.registration.stats().panics, panics as u64);
        if joiner.coalesces {
            return Ok(());
        }
        let until = self.left.map_or(world.log.len(), |(until, _)| until);
        let told = &world.log[self.from..until];
        let told: Vec<_> = told
            .iter()
            .filter(|(_, is_sync)| joiner.asks_for_resyncs || !is_sync)
            .map(|(notification, _)| show(&(notification.clone(), false)))
            .collect();
        let (initial, later) = heard
            .lines
            .split_at(self.snapshot.len().min(heard.lines.len()));
        let mut initial = initial.to_vec();
        initial.sort();
        if self.left.is_none() {
            prop_assert_eq!(&initial, &self.snapshot, "{:?}", joiner);
            prop_assert_eq!(later, told, "{:?}", joiner);
        } else {
            // What still waited was dropped.
            prop_assert!(initial.iter().all(|line| self.snapshot.contains(line)));
            prop_assert!(told.starts_with(later), "{later:?} of {told:?}");
        }
        Ok(())
    }
}

fn play(kind: Kind, moves: &[Move]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut fanout = Fanout::new(kind);
        fanout.play(moves).await?;
        let tasks = tokio::runtime::Handle::current().metrics();
        prop_assert_eq!(tasks.num_alive_tasks(), 0, "a task is left");
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // S1, S6, S8, S12, S14; B62, B63, B66, B67
    #[test]
    fn handlers_that_come_and_go_hear_what_the_model_says_with_delta_fifo(moves in moves()) {
        play(Kind::Delta, &moves)?;
    }

    #[test]
    fn handlers_that_come_and_go_hear_what_the_model_says_with_in_order_fifo(moves in moves()) {
        play(Kind::InOrder, &moves)?;
    }
}
