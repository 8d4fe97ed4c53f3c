//! Order, errors and blocked threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, ThreadId};

use super::*;

/// Decodes numbers; `!` is an error, `?` a panic.
fn numbers() -> DecodeOne<usize, usize> {
    Arc::new(|item, json| match json {
        b"!" => Err(Error::transport(TransportKind::Protocol, ShuttingDown)),
        b"?" => panic!("a decoder's own"),
        json => {
            let number: usize = std::str::from_utf8(json).unwrap().trim().parse().unwrap();
            assert_eq!(number, *item, "what stands around an object stays with it");
            Ok(number)
        }
    })
}

/// Pushes what there is room for, hands over what is there, to the end or an error.
async fn all<I: IntoIterator<Item = String>>(
    decoders: &mut Decoders<usize, usize>,
    json: I,
) -> (Vec<usize>, bool) {
    let mut json = json.into_iter().enumerate().peekable();
    let mut got = Vec::new();
    loop {
        while decoders.has_room()
            && let Some((item, json)) = json.next()
        {
            decoders.push(item, json.as_bytes());
        }
        if decoders.is_empty() {
            return (got, false);
        }
        let Decoded { objects, failed } = decoders.next().await;
        got.extend(objects);
        if failed.is_some() {
            assert!(decoders.is_empty(), "nothing comes after an error");
            return (got, true);
        }
    }
}

#[tokio::test]
async fn objects_come_out_as_they_went_in_whatever_the_number_of_cores() {
    for limit in [0, 1, 2, 4] {
        for count in [0, 1, BATCH_ITEMS - 1, BATCH_ITEMS, BATCH_ITEMS + 1, 5000] {
            let mut decoders = Decoders::with_limit(numbers(), TaskTracker::new(), limit);
            // A large one now and then closes its batch early.
            let json = (0..count).map(|n| {
                let spaces = if n % 100 == 7 { BATCH_BYTES } else { 0 };
                " ".repeat(spaces) + &n.to_string()
            });
            let (got, failed) = all(&mut decoders, json).await;
            assert!(!failed);
            assert!(got.into_iter().eq(0..count), "{limit} {count}");
        }
    }
}

#[tokio::test]
async fn error_comes_after_the_objects_before_it_and_ends_it() {
    for limit in [0, 4] {
        for bad in [0, 1, BATCH_ITEMS, 300] {
            let mut decoders = Decoders::with_limit(numbers(), TaskTracker::new(), limit);
            let json = (0..1000).map(|n| {
                if n == bad {
                    "!".to_owned()
                } else {
                    n.to_string()
                }
            });
            let (got, failed) = all(&mut decoders, json).await;
            assert!(failed);
            assert!(got.into_iter().eq(0..bad), "{limit} {bad}");
        }
    }
}

#[tokio::test]
async fn few_objects_are_decoded_in_place() {
    let here: DecodeOne<(), ThreadId> = Arc::new(|(), _| Ok(thread::current().id()));
    let mut decoders = Decoders::with_limit(here, TaskTracker::new(), 4);
    decoders.push((), b"1");
    let decoded = decoders.next().await;
    assert_eq!(decoded.objects, [thread::current().id()]);
    assert!(decoders.is_empty());
}

#[tokio::test]
#[should_panic(expected = "a decoder's own")]
async fn panic_of_a_decoder_is_its_callers() {
    let mut decoders = Decoders::with_limit(numbers(), TaskTracker::new(), 2);
    all(&mut decoders, (0..1000).map(|_| "?".to_owned())).await;
}

// A handler may hold the only thread while it waits for what is decoded here.
#[test]
fn threads_that_are_all_blocked_hold_nothing_up() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, released) = mpsc::channel::<()>();
    runtime.block_on(async {
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let blocked = tokio::task::spawn_blocking(move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
        });
        has_begun.await.unwrap();
        let mut decoders = Decoders::with_limit(numbers(), TaskTracker::new(), 4);
        let (got, _) = all(&mut decoders, (0..1000).map(|n| n.to_string())).await;
        assert!(got.into_iter().eq(0..1000));
        release.send(()).unwrap();
        blocked.await.unwrap();
    });
}

#[tokio::test]
async fn dropped_leaves_only_what_a_thread_has_begun() {
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let decoded = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&decoded);
    let slow: DecodeOne<(), ()> = Arc::new(move |(), _| {
        if count.fetch_add(1, Ordering::AcqRel) == 0 {
            entered.send(()).unwrap();
            released.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let tasks = TaskTracker::new();
    let mut decoders = Decoders::with_limit(slow, tasks.clone(), 1 << 20);
    for _ in 0..BATCH_ITEMS {
        decoders.push((), b"1");
    }
    has_entered.recv().unwrap();
    drop(decoders);
    tasks.close();
    assert_eq!(tasks.len(), 1, "the batch that is being decoded");
    release.send(()).unwrap();
    tasks.wait().await;
    assert_eq!(decoded.load(Ordering::Acquire), BATCH_ITEMS);
}
