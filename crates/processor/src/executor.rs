//! [`HandlerExecutor`]: where the callbacks of handlers run.

/// One burst of callbacks.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs bursts of callbacks, each of which may block.
///
/// # Contract
/// Each job is run once or dropped, neither under a lock of the caller's. A handler's
/// next job is submitted once the last one has ended.
pub trait HandlerExecutor: Send + Sync + 'static {
    /// Starts `job`. Called in the context of a tokio runtime.
    fn execute(&self, job: Job);
}

/// Runs callbacks on tokio's threads for blocking work: the default.
///
/// # Memory
/// As many threads as handlers are busy at one time, up to the runtime's
/// `max_blocking_threads` (512 unless set); an idle handler holds none. Beyond the limit
/// handlers wait for each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockingExecutor;

impl HandlerExecutor for BlockingExecutor {
    fn execute(&self, job: Job) {
        // The listener's task waits for what the job sends back, so the handle is not
        // needed.
        drop(tokio::task::spawn_blocking(job));
    }
}

/// Runs callbacks in the listener's own task: for tests under tokio's paused clock, which
/// stands still while a thread for blocking work is busy.
///
/// A callback that blocks then blocks its runtime's thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct InlineExecutor;

impl HandlerExecutor for InlineExecutor {
    fn execute(&self, job: Job) {
        job();
    }
}
