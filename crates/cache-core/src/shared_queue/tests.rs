//! The shared queue, polled by hand: who waits, who is woken, what a panic leaves.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::{QueueClosed, SharedQueue};
use crate::testing::{Known, Obj, obj, show_popped};
use crate::{
    Change, DeltaFifo, InOrderFifo, KnownObjects, ListItem, ObjectName, ReflectorStore, Transform,
};

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// Counts its wake-ups.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, alarm: &Arc<Alarm>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(alarm))))
}

fn rung(alarm: &Alarm) -> usize {
    alarm.0.load(Ordering::SeqCst)
}

fn queue() -> SharedQueue<Obj> {
    SharedQueue::new(DeltaFifo::new(None), None, None)
}

fn apply(queue: &SharedQueue<Obj>, change: Change<Obj>) -> Vec<String> {
    let mut refused = Vec::new();
    queue
        .apply(&mut vec![change], &mut refused)
        .expect("the queue is open");
    refused.iter().map(ToString::to_string).collect()
}

fn pop_now(queue: &SharedQueue<Obj>) -> Option<String> {
    let pop = pin!(queue.pop(ONE, |popped| show_popped(&popped)));
    match poll(pop, &Arc::default()) {
        Poll::Ready(popped) => Some(popped.expect("the queue is open")),
        Poll::Pending => None,
    }
}

#[test]
fn pop_waits_until_a_change_wakes_it() {
    let (queue, alarm) = (queue(), Arc::default());
    let mut pop = pin!(queue.pop(ONE, |popped| show_popped(&popped)));
    assert!(poll(pop.as_mut(), &alarm).is_pending());
    assert_eq!(rung(&alarm), 0);
    apply(&queue, Change::Added(obj("a@1")));
    assert_eq!(rung(&alarm), 1);
    assert_eq!(poll(pop, &alarm), Poll::Ready(Ok("Added a@1 =1".into())));
}

// Scenario: TestDeltaFIFO_PopShouldUnblockWhenClosed
#[test]
fn close_wakes_every_pop() {
    let queue = queue();
    let mut waiting: Vec<_> = (0..10)
        .map(|_| (Box::pin(queue.pop(ONE, drop)), Arc::<Alarm>::default()))
        .collect();
    for (pop, alarm) in &mut waiting {
        assert!(poll(pop.as_mut(), alarm).is_pending());
    }
    queue.close();
    for (pop, alarm) in &mut waiting {
        assert_eq!(rung(alarm), 1);
        assert_eq!(poll(pop.as_mut(), alarm), Poll::Ready(Err(QueueClosed)));
    }
    let refused = queue.apply(&mut vec![Change::Added(obj("a@1"))], &mut Vec::new());
    assert!(refused.is_err(), "a closed queue takes nothing");
}

#[test]
fn pop_that_panics_leaves_the_queue_usable() {
    let queue = queue();
    apply(&queue, Change::Added(obj("a@1")));
    apply(&queue, Change::Added(obj("b@2")));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let pop = pin!(queue.pop(ONE, |_| panic!("a bug")));
        poll(pop, &Arc::default())
    }));
    assert!(panicked.is_err());
    assert_eq!(pop_now(&queue).as_deref(), Some("Added b@2 =2"));
}

#[test]
fn second_pop_waits_while_the_first_is_processing() {
    let queue = queue();
    let alarm = Arc::default();
    apply(&queue, Change::Added(obj("a@1")));
    let mut second = pin!(queue.pop(ONE, |popped| show_popped(&popped)));
    {
        let first = pin!(queue.pop(ONE, |_| {
            apply(&queue, Change::Updated(obj("a@2")));
            assert!(poll(second.as_mut(), &alarm).is_pending());
        }));
        assert_eq!(poll(first, &Arc::default()), Poll::Ready(Ok(())));
    }
    assert_eq!(rung(&alarm), 1, "the end of the first wakes the second");
    assert_eq!(
        poll(second, &alarm),
        Poll::Ready(Ok("Updated a@2 =2".into()))
    );
}

// Scenario: TestDeltaFIFO_transformer, B61
#[test]
fn transform_runs_once_at_entry_and_its_refusal_is_undecodable() {
    let transform = Transform::new(|mut obj: Obj| {
        if obj.name == "bad" {
            return Err("no such luck".into());
        }
        obj.rv.push('t');
        Ok(obj)
    });
    let known = Known::of("old@3");
    let known = known as Arc<dyn KnownObjects<Obj>>;
    let queue = SharedQueue::new(
        DeltaFifo::new(Some(Arc::clone(&known))),
        Some(known),
        Some(transform),
    );
    let mut list = queue.begin_replace();
    // The version the store has is not transformed again.
    list.push(ListItem::Object(obj("old@3"))).unwrap();
    list.push(ListItem::Object(obj("new@4"))).unwrap();
    let refused = list.push(ListItem::Object(obj("bad@5"))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "object bad does not decode: refused by the transform: no such luck"
    );
    queue.replace(list, None).unwrap();
    assert_eq!(pop_now(&queue).as_deref(), Some("!Replaced old@3"));
    assert_eq!(pop_now(&queue).as_deref(), Some("!Replaced new@4t"));
    assert_eq!(pop_now(&queue).as_deref(), Some("!Undecodable bad"));
    assert!(queue.has_synced());
    assert_eq!(apply(&queue, Change::Updated(obj("bad@6"))).len(), 1);
    assert_eq!(pop_now(&queue).as_deref(), Some("Undecodable bad =6"));
    // A delete is a delete, whatever the transform says.
    let delete = Change::Deleted {
        name: ObjectName::new(None, "old"),
        object: Some(obj("old@9")),
        resource_version: None,
    };
    assert!(apply(&queue, delete).is_empty());
    assert_eq!(pop_now(&queue).as_deref(), Some("Deleted old@9t =6"));
}

// R13
#[test]
fn full_queue_asks_its_producer_to_wait() {
    let queue = SharedQueue::new(InOrderFifo::new(), None, None);
    let alarm = Arc::<Alarm>::default();
    let waker = Waker::from(Arc::clone(&alarm));
    let ready = || queue.poll_ready(&mut Context::from_waker(&waker));
    for n in 0..InOrderFifo::<Obj>::DEPTH {
        assert!(ready().is_ready(), "at {n}");
        apply(&queue, Change::Added(obj(&format!("p{n}"))));
    }
    assert!(ready().is_pending());
    assert!(pop_now(&queue).is_some());
    assert_eq!(rung(&alarm), 1);
    assert!(ready().is_ready());
}

#[test]
fn initial_events_keep_server_order_and_apply_in_place() {
    let queue = queue();
    let mut list = queue.begin_replace();
    for text in ["c@1", "a@2", "b@3"] {
        list.apply(Change::Added(obj(text))).unwrap();
    }
    list.apply(Change::Updated(obj("c@4"))).unwrap();
    list.apply(Change::Deleted {
        name: ObjectName::new(None, "a"),
        object: None,
        resource_version: None,
    })
    .unwrap();
    list.apply(Change::Updated(obj("d@6"))).unwrap();
    assert_eq!(list.len(), 3);
    let names: Vec<_> = list
        .objects()
        .map(|obj| format!("{}@{}", obj.name, obj.rv))
        .collect();
    assert_eq!(names, ["c@4", "b@3", "d@6"]);
}
