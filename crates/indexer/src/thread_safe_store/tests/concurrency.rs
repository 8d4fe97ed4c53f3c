//! What readers see while others write.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use informers_cache_core::ObjectName;

use crate::testing::{Thing, by_tag, keys_with, named, put, remove, thing};
use crate::{Indexers, NAMESPACE_INDEX, Store, StoreChange, ThreadSafeStore, lock};

/// Objects in each generation; half of the names are in both.
const OBJECTS: usize = 200;
/// Reads that every reader makes at least.
const READS: usize = 200;

/// Objects that all have the tag `a` or `b`.
fn generation(tag: &str) -> Vec<Arc<Thing>> {
    let first = if tag == "a" { 0 } else { OBJECTS / 2 };
    (first..first + OBJECTS)
        .map(|i| thing(&format!("ns/{i}"), &[tag]))
        .collect()
}

/// Runs `write` again and again while three readers `check` the store.
fn hammer(
    store: &ThreadSafeStore<Thing>,
    write: impl Fn(usize),
    check: impl Fn(&Store<Thing>) + Sync,
) {
    let reads: [AtomicUsize; 3] = Default::default();
    let done = AtomicBool::new(false);
    let start = Barrier::new(reads.len() + 1);
    thread::scope(|scope| {
        for reads in &reads {
            let (reader, done, start, check) = (store.reader(), &done, &start, &check);
            scope.spawn(move || {
                start.wait();
                while !done.load(Ordering::Relaxed) {
                    check(&reader);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        start.wait();
        // Bounded, so that a reader whose check failed ends the test.
        for round in 0..20_000 {
            write(round);
            if round >= 100
                && reads
                    .iter()
                    .all(|reads| reads.load(Ordering::Relaxed) >= READS)
            {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    for reads in &reads {
        assert!(reads.load(Ordering::Relaxed) > 0, "a reader never read");
    }
}

/// All of one generation, whichever way it is read.
fn assert_one_generation(store: &Store<Thing>) {
    let snapshot = store.snapshot();
    let first = snapshot.objects().next().expect("never empty").tags[0].clone();
    assert!(snapshot.objects().all(|obj| obj.tags[0] == first));
    assert_eq!(
        (snapshot.len(), snapshot.iter().count()),
        (OBJECTS, OBJECTS)
    );
    let list = store.namespace("ns");
    assert!(list.iter().all(|obj| obj.tags == list[0].tags));
    assert_eq!(list.len(), OBJECTS);
    for tag in ["a", "b"] {
        let with_tag = store.by_index("byTag", tag).unwrap();
        assert!([0, OBJECTS].contains(&with_tag.len()));
        assert!(with_tag.iter().all(|obj| obj.tags[0] == tag));
    }
    assert_eq!(store.list_index_func_values("byTag").unwrap().len(), 1);
    let of_both = format!("ns/{}", OBJECTS / 2);
    assert!(store.get_by_key(&of_both).is_some());
}

#[test]
fn readers_see_the_old_or_the_new_list_and_never_a_mixture() {
    let store = ThreadSafeStore::new(by_tag());
    let generations = [generation("a"), generation("b")];
    let list = |round: usize| named(&generations[round % 2].iter().collect::<Vec<_>>());
    store.replace_all(list(0), Vec::new(), None);
    hammer(
        &store,
        |round| drop(store.replace_all(list(round + 1), Vec::new(), None)),
        assert_one_generation,
    );
}

#[test]
fn readers_see_a_batch_whole_or_not_at_all() {
    let store = ThreadSafeStore::new(by_tag());
    let generations = [generation("a"), generation("b")];
    // Removes what the other generation does not have, too.
    let batch = |round: usize| -> Vec<(ObjectName, StoreChange<Thing>)> {
        let (new, old) = (&generations[round % 2], &generations[(round + 1) % 2]);
        let gone = old
            .iter()
            .filter(|old| new.iter().all(|new| new.name != old.name));
        let gone = gone.map(|old| remove(&format!("ns/{}", old.name)));
        new.iter().map(put).chain(gone).collect()
    };
    store.apply(batch(0), None);
    hammer(
        &store,
        |round| drop(store.apply(batch(round + 1), None)),
        assert_one_generation,
    );
}

// B76
#[test]
fn index_added_under_churn_has_every_object() {
    let store = ThreadSafeStore::new(by_tag());
    let things = (0..1000).map(|i| put(&thing(&format!("ns/{i}"), &["a"])));
    store.apply(things.collect(), None);
    let stop = AtomicBool::new(false);
    let started = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            // Bounded, so that a check that failed ends the test.
            for round in 0..20_000_usize {
                let name = format!("ns/{}", round % 1000);
                store.apply(vec![remove(&name)], None);
                store.apply(vec![put(&thing(&name, &[["a", "b"][round % 2]]))], None);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        started.wait();
        for late in 0..5 {
            let late = format!("late-{late}");
            let indexers = Indexers::new().with(&*late, |_: &Thing| "all");
            store.add_indexers(indexers).unwrap();
            let indexed = store.by_index(&late, "all").unwrap().len();
            assert!(indexed == 1000 || indexed == 999, "{indexed}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    lock::read(store.contents()).assert_invariants();
    for late in 0..5 {
        let names = store.index_keys(&format!("late-{late}"), "all").unwrap();
        assert_eq!(names.len(), 1000);
    }
}

/// An index function that says when it runs, and waits for leave.
fn gated() -> (Indexers<Thing>, Receiver<()>, Sender<()>) {
    let (entered, entries) = channel();
    let (leave, leaves) = channel();
    let leaves = Mutex::new(leaves);
    let indexers = Indexers::new().with("gated", move |thing: &Thing| {
        if thing.tags.iter().any(|tag| tag == "slow") {
            entered.send(()).expect("the test waits for it");
            lock::lock(&leaves).recv().expect("the test gives leave");
        }
        thing.tags.clone()
    });
    (indexers, entries, leave)
}

/// Asks a store that holds `ns/old` alone while `write` waits in an index function.
fn assert_readers_do_not_wait(
    store: &ThreadSafeStore<Thing>,
    write: impl FnOnce() + Send,
    entries: &Receiver<()>,
    leave: &Sender<()>,
) {
    thread::scope(|scope| {
        let writing = scope.spawn(write);
        entries.recv().expect("the function runs");
        let (answer, answers) = channel();
        let reader = store.reader();
        scope.spawn(move || {
            let seen = (
                reader.get_by_key("ns/old").is_some(),
                reader.list().len(),
                reader.by_index(NAMESPACE_INDEX, "ns").unwrap().len(),
                reader.snapshot().len(),
            );
            answer.send(seen).expect("the test waits for it");
        });
        // Only a failing test waits for so long.
        let seen = answers.recv_timeout(Duration::from_secs(60));
        leave.send(()).expect("the function waits for it");
        writing.join().expect("the write goes through");
        assert_eq!(seen, Ok((true, 1, 1, 1)));
    });
}

#[test]
fn readers_do_not_wait_for_a_batch_or_a_list_whose_index_functions_run() {
    let new = thing("ns/new", &["slow"]);
    for batch in [true, false] {
        let (indexers, entries, leave) = gated();
        let store = ThreadSafeStore::new(indexers);
        store.apply(vec![put(&thing("ns/old", &["x"]))], None);
        let write = || {
            if batch {
                store.apply(vec![put(&new), remove("ns/old")], None);
            } else {
                store.replace_all(named(&[&new]), Vec::new(), None);
            }
        };
        assert_readers_do_not_wait(&store, write, &entries, &leave);
        assert!(store.get_by_key("ns/old").is_none());
        assert_eq!(store.by_index("gated", "slow").unwrap().len(), 1);
    }
}

#[test]
fn readers_do_not_wait_for_an_index_that_is_being_added() {
    let (indexers, entries, leave) = gated();
    let store = ThreadSafeStore::new(Indexers::new());
    store.apply(vec![put(&thing("ns/old", &["slow"]))], None);
    let write = || store.add_indexers(indexers).expect("the name is free");
    assert_readers_do_not_wait(&store, write, &entries, &leave);
    assert_eq!(store.by_index("gated", "slow").unwrap().len(), 1);
}

#[test]
fn index_function_may_read_the_store() {
    let reader = Arc::new(Mutex::new(None::<Store<Thing>>));
    let handle = Arc::clone(&reader);
    let store = ThreadSafeStore::new(Indexers::new().with("byTag", move |thing: &Thing| {
        let reader = lock::lock(&handle).clone().expect("it was set at once");
        let known = reader.get(&ObjectName::of(thing)).is_some();
        if known { "known" } else { "new" }
    }));
    *lock::lock(&reader) = Some(store.reader());
    store.apply(vec![put(&thing("a", &[]))], None);
    store.replace_all(
        named(&[&thing("a", &[]), &thing("b", &[])]),
        Vec::new(),
        None,
    );
    assert_eq!(keys_with(&store, "known"), ["a"]);
    assert_eq!(keys_with(&store, "new"), ["b"]);
}
