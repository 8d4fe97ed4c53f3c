//! Typed, delaying and rate-limited work queue with client-go semantics.
//!
//! A controller's handlers put the names of changed things in; its workers take them
//! out, and a thing that failed goes back in with a delay. The queue sees to it that a
//! thing waits in line once however often it changes, that no two workers have the same
//! one, and that a change which arrives while a worker is busy with that very thing is
//! not lost.
//!
//! The crate knows nothing of Kubernetes: an item is any `T: Clone + Eq + Hash + Send`.
//!
//! # A worker loop
//!
//! ```
//! use informers_workqueue::WorkQueue;
//! use tokio::task::JoinSet;
//!
//! async fn reconcile(key: &str) -> Result<(), std::io::Error> {
//!     println!("bringing {key} in line");
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = WorkQueue::<String>::new("widgets");
//! let mut workers = JoinSet::new();
//! for _ in 0..4 {
//!     let queue = queue.clone();
//!     workers.spawn(async move {
//!         // Ends when the queue is shut down and empty.
//!         while let Some(key) = queue.get().await {
//!             match reconcile(&key).await {
//!                 Ok(()) => queue.forget(&key),
//!                 // Tried again after 5 ms, 10 ms, 20 ms …
//!                 Err(_) => queue.add_rate_limited(key.item().clone()),
//!             }
//!             // Dropping `key` marks it done; only now may another worker have it.
//!         }
//!     });
//! }
//!
//! queue.add("default/one".to_owned());
//! queue.add("default/two".to_owned());
//! queue.add("default/one".to_owned()); // in line already
//!
//! queue.shut_down_with_drain().await;
//! while let Some(worker) = workers.join_next().await {
//!     worker.expect("no worker panics");
//! }
//! assert!(queue.is_empty());
//! # }
//! ```
//!
//! # Orders
//!
//! ```
//! use informers_workqueue::{AddOptions, FairQueue, PriorityQueue, WorkQueue};
//!
//! // What users wait for goes first.
//! let queue = WorkQueue::builder("widgets").queue(PriorityQueue::new()).build();
//! queue.add_with("default/resync", AddOptions::new().priority(-100));
//! queue.add("default/changed");
//! assert_eq!(queue.try_get().as_deref(), Some(&"default/changed"));
//!
//! // No namespace can hold the others back.
//! let queue = WorkQueue::builder("widgets")
//!     .queue(FairQueue::new(|key: &&str| key.split('/').next().map(str::to_owned)))
//!     .build();
//! for key in ["busy/1", "busy/2", "calm/1"] {
//!     queue.add(key);
//! }
//! let order = std::iter::from_fn(|| queue.try_get().map(|key| *key));
//! assert_eq!(order.collect::<Vec<_>>(), ["busy/1", "calm/1", "busy/2"]);
//! ```
//!
//! # Names
//!
//! | client-go `util/workqueue` | here |
//! |---|---|
//! | `TypedInterface`, `TypedDelayingInterface`, `TypedRateLimitingInterface` | [`WorkQueue`] |
//! | `Get` and `Done` | [`WorkQueue::get`] and the drop of its [`ItemGuard`] |
//! | `Queue` (`Touch`, `Push`, `Len`, `Pop`), `DefaultQueue` | [`Queue`], [`FifoQueue`] |
//! | `TypedRateLimiter` and its implementations | [`RateLimiter`], same names without `Typed` |
//! | `MetricsProvider` | [`QueueMetrics`] (pull), [`MetricsSink`] (push) |
//! | `ParallelizeUntil` | [`parallelize_until`] |

mod add_options;
mod builder;
mod deadlines;
mod fair_queue;
mod item_guard;
mod metrics;
mod order;
mod parallelizer;
mod priority_queue;
mod queue_core;
mod rate_limiter;
mod shrink;
mod state;
mod work_queue;

pub use add_options::AddOptions;
pub use builder::WorkQueueBuilder;
pub use fair_queue::FairQueue;
pub use item_guard::ItemGuard;
pub use metrics::{DurationHistogram, MetricsSink, QueueMetrics};
pub use order::{FifoQueue, Queue, Rank};
pub use parallelizer::parallelize_until;
pub use priority_queue::PriorityQueue;
pub use rate_limiter::{
    BucketRateLimiter, ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter,
    MaxOfRateLimiter, RateLimiter, WithMaxWaitRateLimiter, default_controller_rate_limiter,
    default_item_based_rate_limiter,
};
pub use work_queue::WorkQueue;

/// The example in the README compiles too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
