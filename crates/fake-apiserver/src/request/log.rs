//! The request log and waiting on it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::RequestRecord;

/// Requests kept; older ones are dropped.
const KEPT: usize = 100_000;

/// A wait ended before its condition held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTimeout {
    pub(crate) message: String,
}

impl fmt::Display for WaitTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WaitTimeout {}

/// The latest requests.
///
/// # Memory
///
/// The latest 100,000 requests, some 300 bytes each.
#[derive(Debug)]
pub(crate) struct RequestLog {
    records: Mutex<Records>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Records {
    kept: VecDeque<RequestRecord>,
    next: u64,
}

impl RequestLog {
    pub(crate) fn new() -> Self {
        Self {
            records: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request and returns its index.
    pub(crate) fn push(&self, mut record: RequestRecord) -> u64 {
        let mut records = self.lock();
        let index = records.next;
        record.index = index;
        records.next += 1;
        records.kept.push_back(record);
        if records.kept.len() > KEPT {
            records.kept.pop_front();
        }
        drop(records);
        self.changed.send_replace(());
        index
    }

    /// Notes the status a request was answered with.
    pub(crate) fn answered(&self, index: u64, status: u16) {
        let mut records = self.lock();
        let first = records.next - records.kept.len() as u64;
        if let Some(at) = index
            .checked_sub(first)
            .and_then(|at| usize::try_from(at).ok())
            && let Some(record) = records.kept.get_mut(at)
        {
            record.status = Some(status);
        }
        drop(records);
        self.changed.send_replace(());
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        self.lock().kept.iter().cloned().collect()
    }

    /// The first request, of those received already or of those to come, that satisfies `wanted`.
    pub(crate) async fn wait_for(
        &self,
        mut wanted: impl FnMut(&RequestRecord) -> bool,
        timeout: Duration,
    ) -> Result<RequestRecord, WaitTimeout> {
        let mut changed = self.changed.subscribe();
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            if let Some(found) = self.lock().kept.iter().find(|r| wanted(r)) {
                return Ok(found.clone());
            }
            if !matches!(
                tokio::time::timeout_at(deadline, changed.changed()).await,
                Ok(Ok(()))
            ) {
                let records = self.lock();
                let last = records
                    .kept
                    .back()
                    .map(|r| format!("; the last was {} {}", r.method, r.path));
                let message = format!(
                    "no such request within {timeout:?}; {} received{}",
                    records.next,
                    last.unwrap_or_default()
                );
                return Err(WaitTimeout { message });
            }
        }
    }
}
