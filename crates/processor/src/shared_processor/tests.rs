//! The processor as its users see it: paused clock, callbacks inline, unless a test says
//! otherwise.

#![cfg(not(informers_loom))]

use std::collections::BTreeMap;

use informers_cache_core::{Deleted, ObjectName};

use super::*;
use crate::test_objects::{Log, Recorder, Thing, add, delete, initial, thing, tombstone, update};
use crate::{Buffer, FilteringHandler, HandlerFuncs, InlineExecutor};

mod abuse;
mod blocking;
mod delivery;
mod futures;
mod names;
mod panics;
mod removal;
mod resync;
mod shutting_down;

const SECOND: Duration = Duration::from_secs(1);

fn inline() -> SharedProcessor<Thing> {
    with_resync(Duration::ZERO)
}

fn with_resync(resync_period: Duration) -> SharedProcessor<Thing> {
    SharedProcessor::new(ProcessorOptions {
        resync_period,
        executor: Arc::new(InlineExecutor),
    })
}

/// The informer's flag, set.
fn synced() -> SyncFlag {
    let flag = SyncFlag::new();
    flag.set();
    flag
}

/// Adds a handler that writes down what it is told.
fn record(processor: &SharedProcessor<Thing>) -> (HandlerRegistration, Log) {
    let log = Log::default();
    let registration = processor
        .add_listener(
            Recorder(log.clone()),
            HandlerOptions::new(),
            Vec::new(),
            synced(),
        )
        .unwrap();
    (registration, log)
}

/// Lets every task run until all wait. The paused clock moves on only then.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
