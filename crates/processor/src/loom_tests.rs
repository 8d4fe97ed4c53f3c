//! The interleavings of the handovers between threads, by loom:
//! `RUSTFLAGS="--cfg informers_loom" cargo test -p informers-processor --lib loom
//! --target-dir target/loom`.

#![cfg(informers_loom)]

use std::future::poll_fn;
use std::sync::Arc;

use informers_cache_core::Object;
use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use tokio::time::Instant;

use crate::listener_core::Ended;
use crate::mailbox::{Mailbox, Work};
use crate::sync_tracker::SyncTracker;
use crate::{Buffer, Notification, SyncFlag};

/// Explores every interleaving with up to two preemptions; without a bound some of these
/// models take hours.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

struct Number(usize);

impl Object for Number {
    fn name(&self) -> &str {
        "number"
    }

    fn namespace(&self) -> Option<&str> {
        None
    }

    fn uid(&self) -> Option<&str> {
        None
    }

    fn resource_version(&self) -> Option<&str> {
        None
    }

    fn label(&self, _key: &str) -> Option<&str> {
        None
    }
}

fn notification(number: usize, is_in_initial_list: bool) -> Notification<Number> {
    Notification::Add {
        obj: Arc::new(Number(number)),
        is_in_initial_list,
    }
}

fn mailbox(informer_synced: &SyncFlag) -> (Arc<Mailbox<Number>>, Arc<SyncTracker>) {
    let tracker = Arc::new(SyncTracker::new(informer_synced.clone()));
    let mailbox = Arc::new(Mailbox::new(Buffer::Unbounded, Arc::clone(&tracker)));
    (mailbox, tracker)
}

fn send(mailbox: &Mailbox<Number>, number: usize, is_in_initial_list: bool) {
    mailbox.add(
        std::iter::once(notification(number, is_in_initial_list)),
        Instant::now(),
    );
}

/// Waits like a listener's task, then takes like a job.
fn receive(mailbox: &Mailbox<Number>) -> Option<usize> {
    loop {
        match block_on(poll_fn(|cx| mailbox.poll_work(cx))) {
            Work::Over => return None,
            Work::Waiting => {}
        }
        if let Some(notification) = mailbox.begin(Instant::now()) {
            return notification.object().map(|obj| obj.0);
        }
    }
}

fn returned(mailbox: &Mailbox<Number>, is_in_initial_list: bool) {
    mailbox.end(Ended::Returned, is_in_initial_list, Instant::now());
}

#[test]
fn loom_sync_flag_set_while_waiting_wakes_all_who_wait() {
    model(|| {
        let flag = SyncFlag::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let flag = flag.clone();
                thread::spawn(move || block_on(flag.wait()))
            })
            .collect();
        flag.set();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn loom_sync_flag_seen_set_shows_what_came_before() {
    model(|| {
        let flag = SyncFlag::new();
        let data = Arc::new(AtomicUsize::new(0));
        let setter = {
            let (flag, data) = (flag.clone(), Arc::clone(&data));
            thread::spawn(move || {
                data.store(1, Ordering::Relaxed);
                flag.set();
            })
        };
        if flag.is_set() {
            assert_eq!(data.load(Ordering::Relaxed), 1);
        }
        block_on(flag.wait());
        assert_eq!(data.load(Ordering::Relaxed), 1);
        setter.join().unwrap();
    });
}

#[test]
fn loom_sync_flag_wait_given_up_leaves_the_others_waiting() {
    model(|| {
        let flag = SyncFlag::new();
        let setter = {
            let flag = flag.clone();
            thread::spawn(move || flag.set())
        };
        {
            let mut given_up = flag.wait();
            block_on(poll_fn(|cx| {
                let _ = std::pin::Pin::new(&mut given_up).poll(cx);
                std::task::Poll::Ready(())
            }));
        }
        block_on(flag.wait());
        setter.join().unwrap();
    });
}

#[test]
fn loom_listener_add_to_idle_consumer_loses_no_wake_up() {
    model(|| {
        let (mailbox, _) = mailbox(&SyncFlag::new());
        let producer = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || {
                send(&mailbox, 1, false);
                send(&mailbox, 2, false);
            })
        };
        assert_eq!(receive(&mailbox), Some(1));
        returned(&mailbox, false);
        assert_eq!(receive(&mailbox), Some(2));
        returned(&mailbox, false);
        producer.join().unwrap();
    });
}

#[test]
fn loom_listener_removed_starts_no_callback_afterwards() {
    model(|| {
        let (mailbox, _) = mailbox(&SyncFlag::new());
        send(&mailbox, 1, false);
        let removed = Arc::new(AtomicBool::new(false));
        let remover = {
            let (mailbox, removed) = (Arc::clone(&mailbox), Arc::clone(&removed));
            thread::spawn(move || {
                mailbox.close();
                removed.store(true, Ordering::SeqCst);
            })
        };
        let producer = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || send(&mailbox, 2, false))
        };
        loop {
            let was_removed = removed.load(Ordering::SeqCst);
            match block_on(poll_fn(|cx| mailbox.poll_work(cx))) {
                Work::Over => break,
                Work::Waiting => {}
            }
            if mailbox.begin(Instant::now()).is_some() {
                assert!(!was_removed, "a callback started after the removal");
                returned(&mailbox, false);
            }
        }
        remover.join().unwrap();
        producer.join().unwrap();
        assert!(mailbox.begin(Instant::now()).is_none());
    });
}

#[test]
fn loom_listener_finishing_delivers_what_was_added_before() {
    model(|| {
        let (mailbox, _) = mailbox(&SyncFlag::new());
        let producer = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || {
                send(&mailbox, 1, false);
                mailbox.finish();
                send(&mailbox, 2, false);
            })
        };
        assert_eq!(receive(&mailbox), Some(1));
        returned(&mailbox, false);
        assert_eq!(receive(&mailbox), None);
        producer.join().unwrap();
    });
}

#[test]
fn loom_handler_synced_only_after_its_initial_adds_returned() {
    model(|| {
        let informer_synced = SyncFlag::new();
        let (mailbox, tracker) = mailbox(&informer_synced);
        let handled = Arc::new(AtomicUsize::new(0));
        let informer = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || {
                send(&mailbox, 1, true);
                informer_synced.set();
            })
        };
        let waiter = {
            let (tracker, handled) = (Arc::clone(&tracker), Arc::clone(&handled));
            thread::spawn(move || {
                block_on(tracker.wait());
                assert_eq!(handled.load(Ordering::Relaxed), 1);
                assert!(tracker.has_synced());
            })
        };
        assert_eq!(receive(&mailbox), Some(1));
        assert!(!tracker.has_synced());
        handled.store(1, Ordering::Relaxed);
        returned(&mailbox, true);
        informer.join().unwrap();
        waiter.join().unwrap();
        assert!(tracker.has_synced());
    });
}
