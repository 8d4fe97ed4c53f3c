//! What the benchmarks share: the projection of a pod, and pods to measure with.

pub mod fixtures;
mod projection;

pub use projection::{PodSpec, PodStatus, SmallPod};
