//! Changes, as a busy cluster makes them.

use std::time::Duration;

use informers_fake_apiserver::Cluster;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Updates pods until `stop`, eight hundred a second.
pub(crate) async fn run(cluster: Cluster, pods: usize, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let mut n = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        for _ in 0..8 {
            // A prime step, so that all are reached.
            n = (n + 379) % pods;
            let patch = json!({"metadata": {"annotations": {"example.com/beat": n.to_string()}}});
            let patched = cluster.patch_merge("pods", &format!("default/pod-{n}"), patch);
            if let Err(error) = patched {
                // It is one of those that were deleted.
                tracing::debug!(%error, "nothing to update");
            }
        }
    }
}
