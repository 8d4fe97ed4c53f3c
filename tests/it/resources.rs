//! What is left after a thousand informers were started and stopped: nothing.

use std::process::Command;

use informers::{Client, Scope, SharedInformerFactory};
use informers_fake_apiserver::FakeApiServer;
use informers_tests::{History, until};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio::runtime::Handle;

use crate::support::{Mode, PATIENCE, config, config_map};

const CYCLES: usize = 1000;
/// Until here allocator, thread pool and server take what they need for good.
const WARM_UP: usize = 200;
/// Objects in each informer's store.
const OBJECTS: usize = 20;
/// Memory may grow by so much from the end of the warm-up to the last cycle. A store kept
/// by each would be ten times that; the server's log of requests takes 2 MiB of it.
const GROWTH_KIB: usize = 8 * 1024;

/// What the process holds.
#[derive(Debug, Clone, Copy)]
struct Figures {
    tasks: usize,
    descriptors: usize,
    resident_kib: usize,
}

impl Figures {
    fn now() -> Self {
        Self {
            tasks: Handle::current().metrics().num_alive_tasks(),
            descriptors: descriptors(),
            resident_kib: resident_kib(),
        }
    }
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[cfg(target_os = "linux")]
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(not(target_os = "linux"))]
fn descriptors() -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
fn resident_kib() -> usize {
    0
}

/// In a process of its own, where no other test allocates or opens anything.
#[test]
fn thousand_cycles_of_start_and_stop_leave_nothing() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args(["--exact", "resources::cycles", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test above, in a process of its own"]
async fn cycles() {
    let server = FakeApiServer::builder().tls(true).start().await.unwrap();
    for n in 0..OBJECTS {
        server
            .cluster()
            .create(config_map(&format!("map-{n}"), "x"))
            .unwrap();
    }
    server.cluster().seed_pods(OBJECTS, 5);
    let mut warm = Figures::now();
    for n in 0..CYCLES {
        cycle(&server, Mode::ALL[n % 4]).await;
        if n + 1 == WARM_UP {
            warm = settled(&server).await;
        }
    }
    let end = settled(&server).await;
    println!("after {WARM_UP} cycles: {warm:?}\nafter {CYCLES} cycles: {end:?}");
    assert!(end.tasks <= warm.tasks, "{warm:?} {end:?}");
    assert!(end.descriptors <= warm.descriptors, "{warm:?} {end:?}");
    assert!(
        end.resident_kib <= warm.resident_kib + GROWTH_KIB,
        "{warm:?} {end:?}"
    );
    server.shutdown().await;
}

/// A client, a factory, two informers with two handlers each; all of it stopped again.
async fn cycle(server: &FakeApiServer, mode: Mode) {
    let client = Client::new(config(server)).unwrap();
    let factory = SharedInformerFactory::new(client.clone());
    let maps = factory.informer_with_options::<ConfigMap>(Scope::all(), mode.options());
    let pods = factory.informer_with_options::<Pod>(Scope::all(), mode.options());
    let history = History::default();
    maps.add_event_handler(history.clone()).unwrap();
    pods.add_event_handler(History::default()).unwrap();
    let _stream = maps.subscribe().unwrap();
    factory.start();
    pods.wait_for_cache_sync(PATIENCE).await.unwrap();
    let told = || history.counts() == (OBJECTS, 0, 0);
    until("it has synced", PATIENCE, told).await.unwrap();
    factory.shutdown(PATIENCE).await.unwrap();
    drop(factory);
    client.close().await;
}

/// The figures once the server has noticed that its clients are gone.
async fn settled(server: &FakeApiServer) -> Figures {
    until("no watch is open", PATIENCE, || server.open_watches() == 0)
        .await
        .unwrap();
    // The server's own: the one that accepts.
    let alone = || Handle::current().metrics().num_alive_tasks() <= 1;
    until("the server is alone", PATIENCE, alone).await.unwrap();
    Figures::now()
}
