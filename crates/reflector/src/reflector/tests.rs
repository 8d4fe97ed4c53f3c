//! Scenarios of the whole reflector, in virtual time.

mod hot_loop;
mod initial;
mod lifecycle;
mod listing;
mod watching;

use std::num::NonZeroU32;
use std::sync::Mutex;

use super::*;
use crate::testing::{FakeServer, Recorder};
use crate::{Initial, WatchError};

const SECOND: Duration = Duration::from_secs(1);

/// What came of a script.
struct Played {
    requests: Vec<String>,
    /// Seconds between the requests.
    gaps: Vec<f64>,
    store: Vec<String>,
    /// What the error handler was told: `list 429`, `watch refused`.
    errors: Vec<String>,
    state: crate::ReflectorState,
}

fn list() -> ReflectorOptions {
    ReflectorOptions {
        initial: Initial::List,
        ..ReflectorOptions::default()
    }
}

fn watch_list() -> ReflectorOptions {
    ReflectorOptions {
        initial: Initial::WatchList,
        ..ReflectorOptions::default()
    }
}

/// One word for an error.
fn short(error: &WatchError) -> String {
    let what = match error.error.status() {
        Some(status) => status.code.to_string(),
        None => match (error.error.as_contract(), error.error.as_undecodable()) {
            (Some(contract), _) => format!("{contract:?}"),
            (_, Some(undecodable)) => undecodable.name.to_string(),
            _ => match error.error.transport_kind() {
                Some(kind) => format!("{kind:?}"),
                None if error.error.is_decode() => "unreadable".to_owned(),
                None => "refusal".to_owned(),
            },
        },
    };
    format!("{:?} {what}", error.operation)
}

/// A reflector, and what it leaves behind.
struct Rig {
    server: Arc<FakeServer>,
    store: Arc<Recorder>,
    errors: Arc<Mutex<Vec<String>>>,
    handle: ReflectorHandle,
    cancel: CancellationToken,
    task: tokio::task::JoinSet<()>,
}

impl Rig {
    fn start(server: FakeServer, mut options: ReflectorOptions, store: Arc<Recorder>) -> Self {
        let server = Arc::new(server);
        let errors: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&errors);
        options.error_handler = Some(Arc::new(move |error: &WatchError| {
            told.lock().unwrap().push(short(error));
        }));
        let lister_watcher = Arc::clone(&server);
        let to = Arc::clone(&store);
        let reflector = Reflector::new(lister_watcher, to, options).with_seed(42);
        let handle = reflector.handle();
        let cancel = CancellationToken::new();
        let mut task = tokio::task::JoinSet::new();
        task.spawn(reflector.run(cancel.clone()));
        Self {
            server,
            store,
            errors,
            handle,
            cancel,
            task,
        }
    }

    /// Lets `time` pass, stops and collects.
    async fn play(mut self, time: Duration) -> Played {
        sleep(time).await;
        let state = self.handle.state();
        self.cancel.cancel();
        let before = Instant::now();
        self.task.join_next().await.unwrap().unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO, "a stop that takes time");
        assert_eq!(self.handle.state().phase, ReflectorPhase::Stopped);
        let log = self.server.log.lock().unwrap();
        let gaps = log.windows(2).map(|pair| pair[1].0 - pair[0].0);
        Played {
            requests: log.iter().map(|(_, request)| request.clone()).collect(),
            gaps: gaps.map(|gap| gap.as_secs_f64()).collect(),
            store: self.store.log(),
            errors: self.errors.lock().unwrap().clone(),
            state,
        }
    }
}

/// Plays `script` (requests and answers, in order) and checks that exactly those
/// requests were made within a virtual hour. The last answer should hang.
async fn play(options: ReflectorOptions, script: &[(&str, &str)]) -> Played {
    play_into(options, script, Arc::default()).await
}

async fn play_into(
    options: ReflectorOptions,
    script: &[(&str, &str)],
    store: Arc<Recorder>,
) -> Played {
    let answers: Vec<String> = script.iter().map(|(_, a)| (*a).to_owned()).collect();
    let server =
        FakeServer::new(move |_, n| answers.get(n).map_or("hang", String::as_str).to_owned());
    let rig = Rig::start(server, options, store);
    // The shortest watch timeout is 300 s; a script ends long before.
    let played = rig.play(200 * SECOND).await;
    let wanted: Vec<&str> = script.iter().map(|(request, _)| *request).collect();
    assert_eq!(played.requests, wanted, "errors: {:?}", played.errors);
    played
}

fn page_size(size: u32) -> ReflectorOptions {
    ReflectorOptions {
        page_size: NonZeroU32::new(size),
        ..list()
    }
}

/// Asserts that each gap lies in its range, in seconds.
fn assert_gaps(played: &Played, wanted: &[std::ops::RangeInclusive<f64>]) {
    assert_eq!(played.gaps.len(), wanted.len(), "{:?}", played.gaps);
    for (i, (gap, wanted)) in played.gaps.iter().zip(wanted).enumerate() {
        assert!(wanted.contains(gap), "gap {i} of {:?}", played.gaps);
    }
}
