//! The kube-rs side of the benchmark: one pod watcher into one reflector store,
//! as kube's own examples write it. It prints one JSON line.

use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config,
    runtime::{WatchStreamExt, reflector, watcher},
};

/// As in our client, so that neither has an advantage by it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut server = "http://127.0.0.1:18080".to_string();
    let (mut initial, mut events, mut strip) = ("list".to_string(), 200_000usize, false);
    let mut runtime = "multi".to_string(); // tokio's default; `current` is faster here
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        match a.as_str() {
            "--server" => server = args.next().unwrap(),
            "--initial" => initial = args.next().unwrap(),
            "--events" => events = args.next().unwrap().parse().unwrap(),
            "--strip-managed-fields" => strip = true,
            "--runtime" => runtime = args.next().unwrap(),
            other => panic!("unknown argument {other}"),
        }
    }
    let mut builder = match runtime.as_str() {
        "multi" => tokio::runtime::Builder::new_multi_thread(),
        "current" => tokio::runtime::Builder::new_current_thread(),
        other => panic!("unknown runtime {other}"),
    };
    builder.enable_all().build().unwrap().block_on(measure(server, initial, events, strip, runtime));
}

async fn measure(server: String, initial: String, events: usize, strip: bool, runtime: String) {
    let client = Client::try_from(Config::new(server.parse().unwrap())).unwrap();
    let api: Api<Pod> = Api::all(client);
    let config = match initial.as_str() {
        "list" => watcher::Config::default(),
        "watchlist" => watcher::Config::default().streaming_lists(),
        other => panic!("unknown initial {other}"),
    };
    let (reader, writer) = reflector::store();
    let start = Instant::now();
    let stream = watcher(api, config)
        .default_backoff()
        .modify(move |pod| {
            if strip {
                pod.metadata.managed_fields = None;
            }
        })
        .reflect(writer);
    let mut stream = std::pin::pin!(stream);
    let (mut adds, mut updates) = (0usize, 0usize);
    let mut synced: Option<(f64, f64, f64, f64)> = None;
    let mut events_start = (Instant::now(), 0.0);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            watcher::Event::InitApply(_) => adds += 1,
            watcher::Event::InitDone => {
                let sync = start.elapsed().as_secs_f64();
                let (c, peak) = (cpu(), vm("VmHWM"));
                assert_eq!(reader.state().len(), adds);
                tokio::time::sleep(Duration::from_secs(2)).await;
                synced = Some((sync, c, peak, vm("VmRSS")));
                if events == 0 {
                    break;
                }
                events_start = (Instant::now(), cpu());
                // the watch opens on the stream's next poll: ask for events a little later
                let s = server.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    post(&s, events).await
                });
            }
            watcher::Event::Apply(_) => {
                updates += 1;
                if updates == events {
                    break;
                }
            }
            _ => {}
        }
    }
    let (sync, sync_cpu, peak, steady) = synced.unwrap();
    let events_s = if events > 0 { events_start.0.elapsed().as_secs_f64() - 0.3 } else { 0.0 };
    println!(
        "{}",
        serde_json::json!({
            "peer": "kube-rs", "runtime": runtime, "stripped": strip, "encoding": "json", "initial": initial, "objects": adds,
            "sync_s": sync, "sync_cpu_s": sync_cpu, "sync_peak_mib": peak, "steady_mib": steady,
            "events": events, "events_s": events_s, "events_cpu_s": cpu() - events_start.1, "peak_mib": vm("VmHWM"),
        })
    );
}

async fn post(server: &str, count: usize) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let host = server.trim_start_matches("http://").to_string();
    let mut c = tokio::net::TcpStream::connect(&host).await.unwrap();
    let req = format!("POST /bench/modify?count={count} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    c.write_all(req.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    c.read_to_end(&mut out).await.unwrap();
}

fn cpu() -> f64 {
    unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        (u.ru_utime.tv_sec + u.ru_stime.tv_sec) as f64 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) as f64 / 1e6
    }
}

fn vm(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
