//! The server and both informers, while a script is played.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use informers_fake_apiserver::{ExpiredWatch, FakeApiServer, Fault, RequestRecord};
use serde_json::{Value, json};

use super::Queue;
use super::client::{Client, Printed};
use super::requests::{Request, verb};
use super::script::{Script, Step};

/// How long a condition may take to hold. The longest backoffs of a script are a few seconds.
const PATIENCE: Duration = Duration::from_secs(45);

/// What tells the requests of the two apart.
const AGENTS: [&str; 2] = ["clientgo-conformance", "informers/"];

/// The informer programs.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) clientgo: PathBuf,
    pub(super) event_log: PathBuf,
}

/// What one side did.
pub(super) struct Record {
    pub(super) printed: Printed,
    pub(super) requests: Vec<Request>,
}

/// The UID of each version of each object.
pub(super) type Uids = BTreeMap<(String, String), String>;

/// Plays a script; what client-go did, what ours did, and the UIDs.
pub(super) async fn play(
    script: &Script,
    queue: Queue,
    programs: &Programs,
) -> Result<(Record, Record, Uids)> {
    let mut builder = FakeApiServer::builder().lenient_namespaces();
    if let Some(seconds) = script.bookmark_interval {
        builder = builder.bookmark_interval(Duration::from_secs_f64(seconds));
    }
    if let Some(events) = script.history {
        builder = builder.history(events);
    }
    if script.expired_watch_is_refused {
        builder = builder.expired_watch(ExpiredWatch::Status);
    }
    let server = builder.start().await?;
    let mut world = World {
        script,
        queue,
        programs,
        server,
        clients: None,
        uids: Uids::new(),
        writes: 0,
        broken: 0,
    };
    for step in &script.steps {
        world
            .step(step)
            .await
            .with_context(|| format!("step {step:?}"))?;
    }
    world.settle().await.context("at the end")?;
    world.end().await
}

struct World<'a> {
    script: &'a Script,
    queue: Queue,
    programs: &'a Programs,
    server: FakeApiServer,
    /// client-go and ours.
    clients: Option<[Client; 2]>,
    uids: Uids,
    writes: u32,
    /// How many requests there were when watches were last broken.
    broken: u64,
}

impl World<'_> {
    async fn step(&mut self, step: &Step) -> Result<()> {
        let plural = self.script.plural().to_owned();
        let cluster = self.server.cluster();
        match step {
            Step::Start => self.start()?,
            Step::Create(key, fields) => {
                let (namespace, name) = self.split(key);
                let mut object = kind_of(&plural)?;
                let namespace = namespace.map_or(Value::Null, Value::from);
                merge(
                    &mut object,
                    json!({"metadata": {"name": name, "namespace": namespace}}),
                );
                merge(&mut object, patch(fields));
                let created = cluster.create(without_nulls(object)).map_err(failure)?;
                self.note(&created);
            }
            Step::Update(key, fields) => {
                self.writes += 1;
                let mut change = patch(fields);
                let write = self.writes.to_string();
                merge(
                    &mut change,
                    json!({"metadata": {"annotations": {"write": write}}}),
                );
                let updated = cluster
                    .patch_merge(&plural, &self.full(key), change)
                    .map_err(failure)?;
                self.note(&updated);
            }
            Step::Delete(key) => {
                let deleted = cluster.delete(&plural, &self.full(key)).map_err(failure)?;
                self.note(&deleted);
            }
            Step::Seed(count) => {
                cluster.seed_resource(&plural, *count).map_err(failure)?;
                for object in cluster.list(&plural) {
                    self.note(&object);
                }
            }
            Step::Fault(fault) => {
                self.note_break();
                for agent in AGENTS {
                    let mut fault = fault.clone();
                    fault["userAgent"] = json!(agent);
                    let fault: Fault = serde_json::from_value(fault)?;
                    self.server.faults().inject(fault);
                }
            }
            Step::ClearFaults => self.server.faults().clear(),
            Step::Compact => cluster.compact(),
            Step::Rollback(revisions) => {
                let revision = cluster.revision().saturating_sub(*revisions);
                cluster.rollback(revision).map_err(failure)?;
            }
            Step::Disconnect => {
                self.note_break();
                self.server.disconnect_all();
            }
            Step::Pause => self.server.pause(),
            Step::Resume => self.server.resume()?,
            Step::Settle => self.settle().await?,
            Step::Seen(key) => self.seen(key).await?,
            Step::Struck(times) => {
                let faults = self.server.faults();
                let struck = || faults.list().iter().all(|fault| fault.applied >= *times);
                until("the faults to strike", struck).await?;
            }
            Step::Unwatched => {
                let unwatched = || self.server.open_watches() == 0;
                until("the watches to end", unwatched).await?;
            }
            Step::Relisted => {
                self.wait_for_requests_since(&["list", "watchlist"]).await?;
            }
            Step::Rewatched => {
                self.wait_for_requests_since(&["watch", "watchlist"])
                    .await?;
            }
            Step::Requests(kind, count) => self.wait_for_requests(kind, *count).await?,
            Step::Lines(op, count) => {
                let what = format!("{count} {op} lines");
                for client in self.clients()? {
                    let enough = |printed: &Printed| printed.count(op) >= *count;
                    client.wait_for(&what, enough, PATIENCE).await?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let mut arguments = vec!["--server".to_owned(), self.server.url()];
        for (name, value) in &self.script.options {
            arguments.extend([format!("--{name}"), value.clone()]);
        }
        arguments.extend(["--for".to_owned(), "600".to_owned()]);
        let mut theirs = vec!["informer".to_owned()];
        theirs.extend(arguments.clone());
        arguments.extend(["--queue".to_owned(), self.queue.name().to_owned()]);
        self.clients = Some([
            Client::start("client-go", &self.programs.clientgo, &theirs)?,
            Client::start("informers", &self.programs.event_log, &arguments)?,
        ]);
        Ok(())
    }

    fn clients(&mut self) -> Result<&mut [Client; 2]> {
        self.clients.as_mut().context("nothing was started")
    }

    /// Waits until both handlers know the server's state, and both watch.
    async fn settle(&mut self) -> Result<()> {
        let wanted = self.wanted();
        for client in self.clients()? {
            let settled = |printed: &Printed| printed.synced && printed.view == wanted;
            client
                .wait_for(&format!("the state {wanted:?}"), settled, PATIENCE)
                .await?;
        }
        self.server.wait_for_watches(2, PATIENCE).await?;
        Ok(())
    }

    async fn seen(&mut self, key: &str) -> Result<()> {
        let key = self.full(key);
        let wanted = self.wanted().remove(&key);
        for client in self.clients()? {
            let seen = |printed: &Printed| printed.view.get(&key) == wanted.as_ref();
            client
                .wait_for(&format!("{key} at {wanted:?}"), seen, PATIENCE)
                .await?;
        }
        Ok(())
    }

    async fn wait_for_requests(&mut self, kind: &str, count: usize) -> Result<()> {
        for agent in AGENTS {
            let mut answered = Vec::new();
            let enough = |request: &RequestRecord| {
                let counts = request.user_agent.contains(agent)
                    && verb(request) == kind
                    && request.status.is_some();
                if counts && !answered.contains(&request.index) {
                    answered.push(request.index);
                }
                answered.len() >= count
            };
            self.server
                .wait_for_request(enough, PATIENCE)
                .await
                .with_context(|| format!("{agent}: {count} requests {kind}"))?;
        }
        Ok(())
    }

    fn note_break(&mut self) {
        let last = self.server.requests().last().map(|request| request.index);
        self.broken = last.map_or(0, |index| index + 1);
    }

    /// Waits for a request of one of these kinds, answered well, from each client.
    async fn wait_for_requests_since(&mut self, kinds: &[&str]) -> Result<()> {
        let broken = self.broken;
        for agent in AGENTS {
            let wanted = |request: &RequestRecord| {
                request.user_agent.contains(agent)
                    && request.index >= broken
                    && kinds.contains(&verb(request))
                    && request.status == Some(200)
            };
            self.server
                .wait_for_request(wanted, PATIENCE)
                .await
                .with_context(|| format!("{agent}: a request {kinds:?}"))?;
        }
        Ok(())
    }

    async fn end(mut self) -> Result<(Record, Record, Uids)> {
        let [theirs, ours] = self.clients.take().context("nothing was started")?;
        // Requests first: a stop sends none.
        let log = self.server.requests();
        let record = |agent: &str, printed| Record {
            printed,
            requests: log
                .iter()
                .filter(|request| request.user_agent.contains(agent))
                .map(Request::of)
                .collect(),
        };
        let (theirs, ours) = tokio::join!(theirs.stop(), ours.stop());
        let records = (record(AGENTS[0], theirs?), record(AGENTS[1], ours?));
        self.server.shutdown().await;
        Ok((records.0, records.1, self.uids))
    }

    /// What an informer with the script's options should hold.
    fn wanted(&self) -> BTreeMap<String, String> {
        let namespace = self.script.option("namespace");
        let labels = pairs(self.script.option("label-selector"));
        let fields = pairs(self.script.option("field-selector"));
        let objects = self.server.cluster().list(self.script.plural());
        let wanted = objects.into_iter().filter(|object| {
            namespace.is_none_or(|ns| object["metadata"]["namespace"] == ns)
                && labels
                    .iter()
                    .all(|(key, value)| object["metadata"]["labels"][key] == *value)
                && fields.iter().all(|(path, value)| {
                    *path.split('.').fold(object, |object, field| &object[field]) == **value
                })
        });
        wanted.map(|object| identity(&object)).collect()
    }

    fn note(&mut self, object: &Value) {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        self.uids.insert(identity(object), uid.to_owned());
    }

    /// Namespace and name; keys without a namespace are of `default`.
    fn split<'k>(&self, key: &'k str) -> (Option<&'k str>, &'k str) {
        match key.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None if is_namespaced(self.script.plural()) => (Some("default"), key),
            None => (None, key),
        }
    }

    fn full(&self, key: &str) -> String {
        match self.split(key) {
            (Some(namespace), name) => format!("{namespace}/{name}"),
            (None, name) => name.to_owned(),
        }
    }
}

/// Waits for a condition of the server that it does not announce.
async fn until(what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        if tokio::time::Instant::now() > deadline {
            bail!("waited {PATIENCE:?} for {what}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "given to map_err")]
fn failure(error: informers_fake_apiserver::ApiError) -> anyhow::Error {
    anyhow!("{}", error.message())
}

/// Key and resource version.
fn identity(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let key = match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    };
    (key, text("resourceVersion").to_owned())
}

fn is_namespaced(plural: &str) -> bool {
    plural != "nodes" && plural != "namespaces"
}

fn kind_of(plural: &str) -> Result<Value> {
    Ok(match plural {
        "pods" => json!({"apiVersion": "v1", "kind": "Pod",
            "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        "configmaps" => json!({"apiVersion": "v1", "kind": "ConfigMap"}),
        "nodes" => json!({"apiVersion": "v1", "kind": "Node"}),
        "deployments" => json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
        _ => bail!("scripts know no {plural}"),
    })
}

/// `label=value` and `path.to.field=value` as a merge patch.
fn patch(fields: &[(String, String)]) -> Value {
    let mut patch = json!({});
    for (name, value) in fields {
        let mut change = json!(value);
        if name.contains('.') {
            for field in name.rsplit('.') {
                change = json!({field: change});
            }
        } else {
            change = json!({"metadata": {"labels": {name: change}}});
        }
        merge(&mut patch, change);
    }
    patch
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn without_nulls(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| !value.is_null());
    }
    object
}

/// `a=b,c=d`.
fn pairs(selector: Option<&str>) -> Vec<(String, String)> {
    let selector = selector.unwrap_or_default();
    let pairs = selector.split(',').filter_map(|term| term.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
