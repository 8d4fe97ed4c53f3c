//! Many handlers that come and go while everything changes.

use std::sync::atomic::AtomicBool;

use tokio::task::JoinSet;

use super::*;

/// A handler that checks that what it is told makes sense, and ends with what the store
/// holds.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<BTreeMap<ObjectName, String>>>);

impl EventHandler<Thing> for Witness {
    fn on_add(&mut self, obj: &Arc<Thing>, _is_in_initial_list: bool) {
        let before = self
            .0
            .lock()
            .unwrap()
            .insert(ObjectName::of(&**obj), obj.version.clone());
        assert_eq!(before, None, "added twice");
    }

    fn on_update(&mut self, old: &Arc<Thing>, new: &Arc<Thing>) {
        let before = self
            .0
            .lock()
            .unwrap()
            .insert(ObjectName::of(&**new), new.version.clone());
        assert_eq!(
            before.as_ref(),
            Some(&old.version),
            "updated from elsewhere"
        );
    }

    fn on_delete(&mut self, deleted: &Deleted<Thing>) {
        let before = self.0.lock().unwrap().remove(&deleted.name);
        assert!(before.is_some(), "deleted, but unknown");
    }
}

/// A store and the processor behind it, under one lock as in an informer.
struct Informer {
    store: Mutex<BTreeMap<ObjectName, Arc<Thing>>>,
    processor: SharedProcessor<Thing>,
}

impl Informer {
    /// One change of one of 50 objects.
    fn change(&self, version: u32, random: u64) {
        let name = format!("obj-{}", random % 50);
        let key = ObjectName::new(Some("ns"), &name);
        let mut store = self.store.lock().unwrap();
        let told = if random % 7 < 5 {
            let new = thing(&name, version);
            match store.insert(key, Arc::clone(&new)) {
                Some(old) => Notification::Update { old, new },
                None => Notification::Add {
                    obj: new,
                    is_in_initial_list: false,
                },
            }
        } else {
            match store.remove(&key) {
                Some(old) => Notification::Delete(Deleted {
                    name: key,
                    last_known: Some(old),
                    reason: informers_cache_core::DeleteReason::Observed,
                }),
                None => return,
            }
        };
        self.processor.distribute(told, false);
    }

    fn join(&self, buffer: Buffer) -> Result<(HandlerRegistration, Witness), ProcessorStopped> {
        let witness = Witness::default();
        let store = self.store.lock().unwrap();
        let registration = self.processor.add_listener(
            witness.clone(),
            HandlerOptions::new().with_buffer(buffer),
            store.values().map(Arc::clone).collect(),
            synced(),
        )?;
        Ok((registration, witness))
    }
}

/// A small generator: the same numbers at each run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

async fn abuse(executor: Arc<dyn HandlerExecutor>, guests: u64, changes: u32) {
    let before = tasks();
    let informer = Arc::new(Informer {
        store: Mutex::default(),
        processor: SharedProcessor::new(ProcessorOptions {
            resync_period: Duration::ZERO,
            executor,
        }),
    });
    informer.processor.start();
    let coalescing = Buffer::Coalescing {
        max: std::num::NonZeroUsize::new(8).unwrap(),
    };
    let residents = [
        informer.join(Buffer::Unbounded).unwrap(),
        informer.join(coalescing).unwrap(),
    ];
    let done = Arc::new(AtomicBool::new(false));
    let mut coming_and_going = JoinSet::new();
    for guest in 0..guests {
        let (informer, done) = (Arc::clone(&informer), Arc::clone(&done));
        coming_and_going.spawn(async move {
            let mut seed = guest + 1;
            while !done.load(Ordering::Acquire) {
                let buffer = if guest % 2 == 0 {
                    Buffer::Unbounded
                } else {
                    coalescing
                };
                let (registration, _) = informer.join(buffer).unwrap();
                for _ in 0..random(&mut seed) % 5 {
                    tokio::task::yield_now().await;
                }
                registration.remove_and_wait().await.unwrap();
                assert_eq!(registration.stats().panics, 0);
            }
        });
    }
    let mut seed = 42;
    for version in 0..changes {
        informer.change(version, random(&mut seed));
        if version % 32 == 0 {
            tokio::task::yield_now().await;
        }
    }
    done.store(true, Ordering::Release);
    while let Some(guest) = coming_and_going.join_next().await {
        guest.unwrap();
    }
    let late_comer = informer.join(Buffer::Unbounded).unwrap();
    let late = informer.processor.shutdown(ShutdownMode::Drain, None).await;
    assert!(late.is_empty());
    let store: BTreeMap<_, _> = informer
        .store
        .lock()
        .unwrap()
        .iter()
        .map(|(key, obj)| (key.clone(), obj.version.clone()))
        .collect();
    for (registration, witness) in residents.iter().chain([&late_comer]) {
        assert_eq!(registration.stats().panics, 0);
        assert_eq!(*witness.0.lock().unwrap(), store);
    }
    assert_eq!(tasks_once_counted(before).await, before);
}

/// How many tasks are left. On several threads a task is counted for a moment longer than
/// those who wait for it do: its worker tells them first, and takes it off the count then.
async fn tasks_once_counted(before: usize) -> usize {
    let counted = async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    };
    // Too late is for the caller's assertion to tell.
    let _ = tokio::time::timeout(Duration::from_secs(30), counted).await;
    tasks()
}

// Scenario: TestSharedInformerHandlerAbuse; B66
#[tokio::test(start_paused = true)]
async fn handlers_abused_inline_see_a_consistent_story() {
    abuse(Arc::new(InlineExecutor), 100, 10_000).await;
}

// The same with real threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_abused_on_threads_see_a_consistent_story() {
    abuse(Arc::new(BlockingExecutor), 20, 5_000).await;
}

// B72: added while it stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handler_added_during_the_stop_is_refused_or_stopped() {
    for _ in 0..200 {
        let processor = SharedProcessor::<Thing>::new(ProcessorOptions::default());
        processor.start();
        let mut adding = JoinSet::new();
        let adder = processor.clone();
        adding.spawn(async move {
            adder.add_listener(
                Recorder(Log::default()),
                HandlerOptions::new(),
                Vec::new(),
                synced(),
            )
        });
        let late = processor.shutdown(ShutdownMode::Drop, None).await;
        assert!(late.is_empty());
        if let Ok(registration) = adding.join_next().await.unwrap().unwrap() {
            assert!(registration.removed());
        }
    }
}
