//! One task's view of the flag; `loom_tests` has the interleavings.

#![cfg(not(informers_loom))]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

#[test]
fn sync_flag_set_twice_stays_set() {
    let flag = SyncFlag::new();
    assert!(!flag.is_set());
    flag.set();
    flag.clone().set();
    assert!(flag.is_set());
}

#[tokio::test(start_paused = true)]
async fn sync_flag_waited_for_before_and_after_set_resolves() {
    let flag = SyncFlag::new();
    let (early, ()) = tokio::join!(flag.wait(), async { flag.set() });
    assert_eq!(early, ());
    flag.wait().await;
}

#[test]
fn sync_flag_wait_dropped_leaves_no_waker() {
    let flag = SyncFlag::new();
    {
        let mut wait = pin!(flag.wait());
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(wait.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(wait.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(lock(&flag.shared.waiting).len(), 1);
    }
    assert_eq!(lock(&flag.shared.waiting).len(), 0);
}
