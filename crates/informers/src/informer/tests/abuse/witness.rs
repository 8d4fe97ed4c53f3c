//! What a handler was told, held against what it may be told; and handlers of every kind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use informers_cache_core::{Deleted, Object, ObjectName};
use informers_indexer::Store;
use informers_processor::{EventHandler, HandlerRegistration, Notification};

use super::server::{Identity, Item, KEYS};
use crate::SharedIndexInformer;

/// The history of one handler. Clones are the same.
#[derive(Clone)]
pub(super) struct Witness(Arc<Mutex<Seen>>);

struct Seen {
    told: Vec<Option<Arc<Item>>>,
    /// The version at which each object was last told of as deleted.
    deleted: [u64; KEYS],
    count: u64,
    /// Nothing may come any more.
    closed: bool,
    wrong: Vec<String>,
}

impl Witness {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Seen {
            told: vec![None; KEYS],
            deleted: [0; KEYS],
            count: 0,
            closed: false,
            wrong: Vec::new(),
        })))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }

    /// Each key's history is add, updates from what was told before, delete; versions only
    /// grow; a UID lasts from add to delete.
    pub(super) fn hear(&self, notification: &Notification<Item>) {
        let mut seen = self.seen();
        seen.count += 1;
        if seen.closed {
            let name = notification.name();
            seen.wrong.push(format!("told of {name} after its removal"));
        }
        match notification {
            Notification::Add { obj, .. } => {
                let before = seen.told[obj.number].replace(Arc::clone(obj));
                if before.is_some() {
                    seen.wrong.push(format!("{} added twice", obj.name()));
                }
                if obj.version <= seen.deleted[obj.number] {
                    let version = obj.version;
                    seen.wrong
                        .push(format!("{} back at old version {version}", obj.name()));
                }
            }
            Notification::Update { old, new } => {
                let before = seen.told[new.number].replace(Arc::clone(new));
                if before.map(|before| Identity::from(&*before)) != Some(Identity::from(&**old)) {
                    seen.wrong
                        .push(format!("{} updated from elsewhere", new.name()));
                }
                if new.version < old.version || new.uid != old.uid {
                    seen.wrong
                        .push(format!("{} became another or older", new.name()));
                }
            }
            Notification::Delete(deleted) => {
                let Some(last) = &deleted.last_known else {
                    seen.wrong
                        .push(format!("{} deleted without a state", deleted.name));
                    return;
                };
                let before = seen.told[last.number].take();
                if ObjectName::of(&**last) != deleted.name
                    || !before.is_some_and(|it| it.uid == last.uid && it.version <= last.version)
                {
                    seen.wrong
                        .push(format!("{} deleted, but not known so", deleted.name));
                }
                seen.deleted[last.number] = last.version;
            }
        }
    }

    /// What the handler knows to be there.
    pub(super) fn view(&self) -> BTreeMap<usize, Identity> {
        let seen = self.seen();
        let known = seen.told.iter().flatten();
        known.map(|it| (it.number, Identity::from(&**it))).collect()
    }

    pub(super) fn count(&self) -> u64 {
        self.seen().count
    }

    pub(super) fn wrong(&self) -> Vec<String> {
        self.seen().wrong.clone()
    }

    /// From here on nothing may come.
    pub(super) fn close(&self) {
        self.seen().closed = true;
    }

    /// Whether a handler still holds it.
    pub(super) fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// What the store holds.
pub(super) fn stored(store: &Store<Item>) -> BTreeMap<usize, Identity> {
    let objects = store.list();
    let objects = objects.iter();
    objects
        .map(|it| (it.number, Identity::from(&**it)))
        .collect()
}

/// An unwinding without the panic hook's output; to the caller it is a panic.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("a bug of the handler"))
}

/// A handler, and what it does beside writing down.
pub(super) struct Blocking {
    pub(super) witness: Witness,
    /// Panics at every so-manieth notification; 0: never.
    pub(super) panics_at: u64,
    /// Removed by itself, at its third notification.
    pub(super) itself: Option<Arc<OnceLock<HandlerRegistration>>>,
    /// Adds another handler at its first notification.
    pub(super) nested: Option<Nested>,
}

/// Adds a handler from within a callback.
pub(super) struct Nested {
    pub(super) informer: SharedIndexInformer<Item>,
    pub(super) witness: Witness,
    pub(super) registration: Arc<OnceLock<HandlerRegistration>>,
}

impl Blocking {
    pub(super) fn new(witness: &Witness) -> Self {
        Self {
            witness: witness.clone(),
            panics_at: 0,
            itself: None,
            nested: None,
        }
    }

    fn told(&self, notification: &Notification<Item>) {
        self.witness.hear(notification);
        let count = self.witness.count();
        if let Some(nested) = &self.nested
            && nested.registration.get().is_none()
        {
            let child = Blocking::new(&nested.witness);
            // Refused if the informer has stopped meanwhile.
            if let Ok(registration) = nested.informer.add_event_handler(child) {
                nested.registration.set(registration).unwrap();
            }
        }
        if let Some(itself) = &self.itself
            && count == 3
            && let Some(registration) = itself.get()
        {
            registration.remove();
            self.witness.close();
        }
        if self.panics_at > 0 && count.is_multiple_of(self.panics_at) {
            panic_quietly();
        }
    }
}

impl EventHandler<Item> for Blocking {
    fn on_add(&mut self, obj: &Arc<Item>, is_in_initial_list: bool) {
        self.told(&Notification::Add {
            obj: Arc::clone(obj),
            is_in_initial_list,
        });
    }

    fn on_update(&mut self, old: &Arc<Item>, new: &Arc<Item>) {
        self.told(&Notification::Update {
            old: Arc::clone(old),
            new: Arc::clone(new),
        });
    }

    fn on_delete(&mut self, deleted: &Deleted<Item>) {
        self.told(&Notification::Delete(deleted.clone()));
    }
}

/// An async handler that rests after so many notifications, and panics over some.
pub(super) fn futures(
    witness: &Witness,
    (rests_after, rest): (u64, Duration),
    panics_at: u64,
) -> impl FnMut(Notification<Item>) -> futures_util::future::BoxFuture<'static, ()> + Send + 'static
{
    let witness = witness.clone();
    move |notification| {
        let witness = witness.clone();
        Box::pin(async move {
            witness.hear(&notification);
            let count = witness.count();
            if count.is_multiple_of(rests_after) {
                tokio::time::sleep(rest).await;
            }
            if panics_at > 0 && count.is_multiple_of(panics_at) {
                panic_quietly();
            }
        })
    }
}
