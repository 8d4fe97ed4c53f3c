//! The informers side of the benchmark: does what the clients of the peers do, and prints
//! the same JSON line.

mod args;
mod counter;
mod load_server;
mod process;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;
use informers::{
    Client, Config, InformerOptions, Initial as ReflectorInitial, ListWatch, ReflectorOptions,
    SharedIndexInformer,
};
use informers_benches::SmallPod;
use informers_objects::{Decode, Packed, StripManagedFields};
use k8s_openapi::api::core::v1::Pod;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use args::{Args, Initial, Representation, Runtime, word};
use counter::{Counter, Counts, Subject};

/// Objects are made by one thread and dropped by another, which glibc's allocator does not
/// like. The client of kube-rs has the same.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// More than any run takes.
const PATIENCE: Duration = Duration::from_secs(280);

/// Between the end of the initial list and the measurement of steady memory.
const SETTLE: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    let args = Args::parse();
    let mut builder = match args.runtime {
        Runtime::Current => tokio::runtime::Builder::new_current_thread(),
        Runtime::Multi => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    runtime.block_on(async {
        match args.representation {
            Representation::Eager => measure::<Pod>(&args).await,
            Representation::Packed => measure::<Packed<Pod>>(&args).await,
            Representation::Projection => measure::<SmallPod>(&args).await,
        }
    })
}

async fn measure<T: Subject>(args: &Args) -> Result<()> {
    let informer = informer::<T>(args)?;
    let counts = Arc::new(Counts::default());
    informer.add_event_handler(Counter {
        counts: Arc::clone(&counts),
        touch: args.touch,
        last: args.events,
    })?;

    let began = Instant::now();
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(informer.run(stop.clone()));
    informer.wait_for_cache_sync(PATIENCE).await?;
    let sync = began.elapsed();
    let sync_cpu = process::cpu()?;
    let sync_peak = process::memory("VmHWM")?;
    let objects = informer.store().len();
    ensure!(
        counts.adds() == objects as u64,
        "{} adds of {objects} objects",
        counts.adds()
    );

    tokio::time::sleep(SETTLE).await;
    let steady = process::memory("VmRSS")?;
    let cpu_before = process::cpu()?;
    let began = Instant::now();
    if args.events > 0 {
        load_server::modify(&args.server, args.events).await?;
        tokio::time::timeout(PATIENCE, counts.done())
            .await
            .with_context(|| format!("{} updates only", counts.updates()))?;
    }
    let events = began.elapsed();
    let line = serde_json::json!({
        "peer": "informers",
        "representation": word(&args.representation),
        "touch": word(&args.touch),
        "runtime": word(&args.runtime),
        "stripped": args.strip_managed_fields,
        "encoding": "json",
        "initial": word(&args.initial),
        "objects": objects,
        "sync_s": sync.as_secs_f64(),
        "sync_cpu_s": sync_cpu,
        "sync_peak_mib": sync_peak,
        "steady_mib": steady,
        "events": args.events,
        "events_s": if args.events > 0 { events.as_secs_f64() } else { 0.0 },
        "events_cpu_s": process::cpu()? - cpu_before,
        "peak_mib": process::memory("VmHWM")?,
    });
    #[expect(clippy::print_stdout, reason = "the line is what the program is for")]
    {
        println!("{line}");
    }
    stop.cancel();
    tasks.join_all().await;
    Ok(())
}

fn informer<T: Subject>(args: &Args) -> Result<SharedIndexInformer<T>> {
    let client = Client::new(Config::new(&args.server)?)?;
    let mut decoder: Arc<dyn Decode<T>> = T::decoder();
    if args.strip_managed_fields {
        decoder = Arc::new(StripManagedFields::new(decoder));
    }
    let list_watch = ListWatch::new(client, T::api_resource(), decoder);
    let reflector = ReflectorOptions {
        initial: match args.initial {
            Initial::List => ReflectorInitial::List,
            Initial::Watchlist => ReflectorInitial::WatchList,
        },
        ..ReflectorOptions::default()
    };
    let options = InformerOptions::new().with_reflector(reflector);
    Ok(SharedIndexInformer::new(Arc::new(list_watch), options))
}
