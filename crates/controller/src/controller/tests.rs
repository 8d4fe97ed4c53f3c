//! The loop under a paused clock without informers, and with them against an API server.

use std::collections::HashSet;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers::prelude::*;
use informers_fake_apiserver::{FakeApiServer, Fault};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{Action, Controller, ControllerBuilder, ControllerError};

/// A controller without informers: keys are added to its queue by hand.
fn bare() -> ControllerBuilder<ConfigMap> {
    ControllerBuilder::new("bare".to_owned())
}

fn key(text: &str) -> ObjectName {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn error_and_panic_requeue_with_a_growing_delay_until_success() {
    let (attempts, start) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
    let cancel = CancellationToken::new();
    let controller = bare()
        .build({
            let (attempts, cancel) = (Arc::clone(&attempts), cancel.clone());
            move |_| {
                let attempt = {
                    let mut attempts = attempts.lock().unwrap();
                    attempts.push(start.elapsed().as_millis());
                    attempts.len()
                };
                let cancel = cancel.clone();
                async move {
                    match attempt {
                        1 | 3 => Err(io::Error::other("no")),
                        2 => panic!("oh"),
                        4 => Ok(Action::RequeueAfter(Duration::from_secs(60))),
                        _ => {
                            cancel.cancel();
                            Ok(Action::Done)
                        }
                    }
                }
            }
        })
        .unwrap();
    let (queue, monitor) = (controller.queue().clone(), controller.monitor());
    queue.add(key("a/b"));
    controller.run(cancel).await.unwrap();
    assert_eq!(*attempts.lock().unwrap(), [0, 5, 15, 35, 60_035]);
    let metrics = monitor.metrics();
    assert_eq!(
        (metrics.succeeded, metrics.failed, metrics.panicked),
        (2, 2, 1)
    );
    assert_eq!(metrics.queue.retries, 4);
    assert_eq!(queue.num_requeues(&key("a/b")), 0);
    assert!(metrics.running.is_empty());
}

#[tokio::test(start_paused = true)]
async fn panic_before_the_future_is_caught_too() {
    let cancel = CancellationToken::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let controller = bare()
        .build({
            let (calls, cancel) = (Arc::clone(&calls), cancel.clone());
            move |_| {
                assert!(calls.fetch_add(1, Ordering::Relaxed) > 0, "the first time");
                cancel.cancel();
                async { Ok::<_, io::Error>(Action::Done) }
            }
        })
        .unwrap();
    let monitor = controller.monitor();
    controller.queue().add(key("a"));
    controller.run(cancel).await.unwrap();
    assert_eq!(monitor.metrics().panicked, 1);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn key_is_never_with_two_workers_and_others_run_beside_it() {
    let (running, most) = (
        Arc::new(Mutex::new(HashSet::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let (started, mut starts) = mpsc::unbounded_channel();
    let controller = bare()
        .workers(4)
        .build({
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            move |key: ObjectName| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                let started = started.clone();
                async move {
                    {
                        let mut running = running.lock().unwrap();
                        let is_new = running.insert(key.clone());
                        assert!(is_new, "{key} is with two workers");
                        most.fetch_max(running.len(), Ordering::Relaxed);
                    }
                    started.send(key.clone()).unwrap();
                    sleep(Duration::from_secs(1)).await;
                    running.lock().unwrap().remove(&key);
                    Ok::<_, io::Error>(Action::Done)
                }
            }
        })
        .unwrap();
    let (queue, monitor, cancel) = (
        controller.queue().clone(),
        controller.monitor(),
        CancellationToken::new(),
    );
    queue.add(key("a"));
    queue.add(key("b"));
    let driving = async {
        for _ in 0..2 {
            starts.recv().await.unwrap();
        }
        // Changed while both are worked on: once more, later.
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(starts.recv().await.unwrap(), key("a"));
        assert_eq!(monitor.metrics().running.len(), 1);
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(controller.run(cancel.clone()), driving);
    ran.unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 2);
    let metrics = monitor.metrics();
    assert_eq!((metrics.succeeded, metrics.panicked), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_the_running_and_takes_no_more() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let controller = bare()
        .build(move |key| {
            started.send(key).unwrap();
            async {
                sleep(Duration::from_secs(10)).await;
                Ok::<_, io::Error>(Action::Done)
            }
        })
        .unwrap();
    let (queue, monitor, cancel) = (
        controller.queue().clone(),
        controller.monitor(),
        CancellationToken::new(),
    );
    queue.add(key("a"));
    queue.add(key("b"));
    let start = Instant::now();
    let driving = async {
        starts.recv().await.unwrap();
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(controller.run(cancel.clone()), driving);
    ran.unwrap();
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(monitor.metrics().succeeded, 1);
    assert!(queue.is_shutting_down());
}

#[tokio::test(start_paused = true)]
async fn shutdown_names_who_is_late() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let controller = bare()
        .workers(2)
        .grace_period(Duration::from_secs(5))
        .build(move |key: ObjectName| {
            started.send(()).unwrap();
            async move {
                if key.name() == "stuck" {
                    pending::<()>().await;
                }
                Ok::<_, io::Error>(Action::Done)
            }
        })
        .unwrap();
    let (monitor, cancel) = (controller.monitor(), CancellationToken::new());
    controller.queue().add(key("shop/stuck"));
    controller.queue().add(key("shop/fine"));
    let driving = async {
        starts.recv().await.unwrap();
        starts.recv().await.unwrap();
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(controller.run(cancel.clone()), driving);
    let error = ran.unwrap_err();
    assert_eq!(error.to_string(), "not finished within 5s: shop/stuck");
    tokio::task::yield_now().await;
    assert!(monitor.metrics().running.is_empty(), "it was aborted");
}

fn factory(server: &FakeApiServer) -> SharedInformerFactory {
    let client = Client::new(Config::new(&server.url()).unwrap()).unwrap();
    SharedInformerFactory::new(client)
}

fn owned_pod(name: &str, owner: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": "u", "controller": true}
    ]}})
}

#[tokio::test]
async fn changes_of_primary_owned_and_watched_objects_reach_the_reconciler() {
    let server = FakeApiServer::start().await.unwrap();
    let cluster = server.cluster();
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    cluster.create(map("a")).unwrap();
    let factory = factory(&server);
    let (maps, pods) = (factory.informer::<ConfigMap>(), factory.informer::<Pod>());
    let (reconciled, mut keys) = mpsc::unbounded_channel();
    let controller = Controller::builder("maps", &maps)
        .owns(&pods)
        .watches(&pods, |pod: &Pod| {
            pod.metadata
                .labels
                .iter()
                .flatten()
                .map(|(_, name)| ObjectName::new(Some("default"), name))
                .collect::<Vec<_>>()
        })
        .workers(2)
        .build(move |key| {
            let reconciled = reconciled.clone();
            async move {
                reconciled.send(key.to_string())?;
                Ok::<_, mpsc::error::SendError<String>>(Action::Done)
            }
        })
        .unwrap();
    factory.start();
    let cancel = CancellationToken::new();
    let driving = async {
        assert_eq!(keys.recv().await.unwrap(), "default/a");
        cluster.create(owned_pod("p", "b")).unwrap();
        assert_eq!(keys.recv().await.unwrap(), "default/b");
        // Both the label's and the owner's.
        let labels = json!({"metadata": {"labels": {"map": "c"}}});
        cluster.patch_merge("pods", "default/p", labels).unwrap();
        let mut two = [keys.recv().await.unwrap(), keys.recv().await.unwrap()];
        two.sort();
        assert_eq!(two, ["default/b", "default/c"]);
        cluster.delete("configmaps", "default/a").unwrap();
        assert_eq!(keys.recv().await.unwrap(), "default/a");
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(controller.run(cancel.clone()), driving);
    ran.unwrap();
    assert!(maps.handlers().is_empty() && pods.handlers().is_empty());
    factory.shutdown(Duration::from_secs(5)).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn informer_that_does_not_sync_is_named() {
    let server = FakeApiServer::start().await.unwrap();
    server
        .faults()
        .inject(Fault::status(500).on_resource("pods"));
    let factory = factory(&server);
    let controller = Controller::builder("pods", &factory.informer::<Pod>())
        .sync_timeout(Duration::from_millis(300))
        .build(|_| async { Ok::<_, io::Error>(Action::Done) })
        .unwrap();
    factory.start();
    let error = controller.run(CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&error, ControllerError::NotSynced(late) if late.len() == 1));
    assert!(error.to_string().contains("pods"), "{error}");
    factory.shutdown(Duration::from_secs(5)).await.unwrap();
    server.shutdown().await;
}
