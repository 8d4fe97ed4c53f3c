//! The suite `basic`: what an informer promises, for both initial lists and both queues.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::{Selector, SharedInformerFactory};
use informers_tests::{History, Told, until, until_ok};
use k8s_openapi::api::core::v1::PodTemplate;
use serde_json::json;

use crate::control::Command;
use crate::probe::{BY_VALUE, Mode, PATIENCE, Probe, Rig, Truth};
use crate::report::{Outcome, Report};
use crate::target::{Target, config_map, value_patch};

/// Objects of the initial list.
const OBJECTS: usize = 500;
/// The label they carry.
const SET: &str = "basic";
/// A scenario that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(300);

pub(crate) async fn run(target: &Arc<Target>, report: &mut Report) {
    for mode in Mode::ALL {
        let mut scenario = Scenarios {
            target,
            report: &mut *report,
            mode,
        };
        scenario.run("sync", sync).await;
        scenario.run("live_changes", live_changes).await;
        scenario.run("index_and_lister", index_and_lister).await;
        scenario.run("late_handler", late_handler).await;
        scenario.run("one_watch", one_watch).await;
        scenario.run("disconnect", disconnect).await;
        scenario.run("dead_connection", dead_connection).await;
        scenario.run("apiserver_restart", apiserver_restart).await;
        scenario.run("tombstones", tombstones).await;
    }
}

struct Scenarios<'a> {
    target: &'a Arc<Target>,
    report: &'a mut Report,
    mode: Mode,
}

impl Scenarios<'_> {
    async fn run<F>(&mut self, name: &str, scenario: fn(Arc<Target>, Mode) -> F)
    where
        F: Future<Output = Result<Outcome>> + Send + 'static,
    {
        let name = format!("basic/{}/{name}", self.mode.name());
        let (target, mode) = (Arc::clone(self.target), self.mode);
        let filled = async move {
            target
                .fill(SET, OBJECTS)
                .await
                .context("cannot create objects")?;
            scenario(target, mode).await
        };
        self.report.run(&name, LIMIT, filled).await;
    }
}

/// All there is, told once as the initial list.
async fn sync(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    let truth = Truth::of(&target, SET).await?;
    ensure!(
        truth.versions.len() >= OBJECTS,
        "{} objects",
        truth.versions.len()
    );
    rig.probe.check(&truth)?;
    ensure!(rig.probe.history.counts() == (truth.versions.len(), 0, 0));
    let all_initial = |told: &Told| matches!(told, Told::Add { initial: true, .. });
    ensure!(
        rig.probe.history.told().iter().all(all_initial),
        "some are not initial"
    );
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// An add, an update and a delete of the watch, each told once.
async fn live_changes(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    let before = rig.probe.history.told().len();
    let (api, name) = (target.api(), "live");
    let path = target.config_map(name);
    let key = format!("{}/{name}", target.environment().namespace);
    let rv = |object: serde_json::Value| {
        let rv = object["metadata"]["resourceVersion"].as_str();
        rv.map(str::to_owned)
            .context("an object without resource version")
    };
    let first = rv(api
        .create(
            &target.collection("configmaps"),
            &config_map(SET, name, "1"),
        )
        .await?)?;
    let second = rv(api.patch(&path, &value_patch("2")).await?)?;
    // Seen before the delete, else the queue may rightly fold them into one.
    let told = || rig.probe.history.state().get(&key) == Some(&second);
    until("the update was told", PATIENCE, told).await?;
    api.delete(&path).await?;
    let gone = || !rig.probe.history.state().contains_key(&key);
    until("the delete was told", PATIENCE, gone).await?;

    let mut told = rig.probe.history.told().split_off(before);
    let last = told.pop();
    ensure!(
        matches!(&last, Some(Told::Delete { key: deleted, unknown: false, .. }) if *deleted == key),
        "{last:?}"
    );
    let add = |rv: &str| Told::Add {
        key: key.clone(),
        rv: rv.to_owned(),
        initial: false,
    };
    let update = Told::Update {
        key: key.clone(),
        old_rv: first.clone(),
        rv: second.clone(),
    };
    // A delta queue hands out what it holds of a key at once: the update may have been
    // there before the add was told, and is told all the same.
    ensure!(told == [add(&first), update], "{told:?}");
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// Index, lister and store answer alike, and the index follows a change.
async fn index_and_lister(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    let (store, lister) = (rig.probe.informer.store(), rig.probe.informer.lister());
    let truth = Truth::of(&target, SET).await?;
    rig.probe.check(&truth)?;
    let namespace = &target.environment().namespace;
    for (value, keys) in truth.by_value.iter().take(3) {
        let selector: Selector = format!("value={value},set in ({SET})").parse()?;
        let listed = lister.namespace(namespace.as_str()).all(&selector);
        ensure!(listed.len() == keys.len(), "{} of {value}", listed.len());
        ensure!(store.by_index(BY_VALUE, value)?.len() == keys.len());
    }
    ensure!(
        lister
            .namespace("elsewhere")
            .all(&Selector::everything())
            .is_empty()
    );
    let (name, value) = (
        format!("{SET}-17"),
        format!("moved-{}", mode.name().replace('/', "-")),
    );
    target
        .api()
        .patch(&target.config_map(&name), &value_patch(&value))
        .await?;
    let moved = || {
        store
            .index_keys(BY_VALUE, &value)
            .is_ok_and(|keys| keys.len() == 1)
    };
    until("the index follows", PATIENCE, moved).await?;
    let found = lister.namespace(namespace.as_str()).get(&name);
    let found = found.context("the lister lost it")?;
    ensure!(found.data.as_ref().and_then(|data| data.get("value")) == Some(&value));
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// A handler that joins under churn misses nothing and is told nothing twice.
async fn late_handler(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    let late = History::default();
    for n in 0..40 {
        let path = target.config_map(&format!("{SET}-{n}"));
        target
            .api()
            .patch(&path, &value_patch(&format!("late-{}", n % 3)))
            .await?;
        if n == 20 {
            rig.probe
                .informer
                .add_event_handler(late.clone())?
                .wait_for_sync()
                .await?;
        }
        if n % 8 == 7 {
            target.api().delete(&path).await?;
        }
    }
    rig.probe.converge(&target, SET).await?;
    let truth = Truth::of(&target, SET).await?;
    until("the late handler has caught up", PATIENCE, || {
        late.check(&truth.versions).is_ok()
    })
    .await?;
    late.check(&truth.versions)?;
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// Two parts of a program with a handler each share one watch, by the server's count.
async fn one_watch(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    const PLURAL: &str = "podtemplates";
    let Some(before) = target.open_watches(PLURAL).await? else {
        return Ok(Outcome::Skipped(
            "the server does not tell its metrics".to_owned(),
        ));
    };
    let (proxy, client) = target.proxied().await?;
    let factory = SharedInformerFactory::new(client);
    let scope = target.scope("one-watch");
    let one = Probe::<PodTemplate>::add(&factory, scope.clone(), mode)?;
    let two = Probe::<PodTemplate>::add(&factory, scope, mode)?;
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await?;
    let template = json!({
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"generateName": "shared-", "labels": {"set": "one-watch"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "x", "image": "x"}]},
        },
    });
    let created = target
        .api()
        .create(&target.collection(PLURAL), &template)
        .await?;
    let both = || one.history.state() == two.history.state() && !one.history.state().is_empty();
    until("both were told", PATIENCE, both).await?;
    let watches = target.open_watches(PLURAL).await?.context("no count")?;
    ensure!(watches == before + 1, "{watches} watches, {before} before");

    let name = created["metadata"]["name"].as_str().context("no name")?;
    target
        .api()
        .delete(&format!("{}/{name}", target.collection(PLURAL)))
        .await?;
    let both = || one.history.state().is_empty() && two.history.state().is_empty();
    until("both were told", PATIENCE, both).await?;
    factory.shutdown(Duration::from_secs(5)).await?;
    let closed = || async {
        let open = target.open_watches(PLURAL).await?.context("no count")?;
        ensure!(open == before, "{open} watches are open after the shutdown");
        Ok(())
    };
    until_ok("the watch is closed", PATIENCE, closed).await?;
    proxy.shutdown().await;
    Ok(Outcome::Passed)
}

/// What was missed while the way was cut for a moment comes by the next watch.
async fn disconnect(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    rig.proxy.cut();
    for n in 100..110 {
        target
            .api()
            .delete(&target.config_map(&format!("{SET}-{n}")))
            .await?;
    }
    // Another value each time: a patch that changes nothing is no event.
    let patch = value_patch(&format!("cut-{}", mode.name().replace('/', "-")));
    target
        .api()
        .patch(&target.config_map(&format!("{SET}-110")), &patch)
        .await?;
    rig.proxy.open();
    rig.probe.converge(&target, SET).await?;
    let (_, updates, deletes) = rig.probe.history.counts();
    ensure!(
        (updates, deletes) == (1, 10),
        "{updates} updates, {deletes} deletes"
    );
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// A connection that is open and dead is noticed by its silence.
async fn dead_connection(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    let rig = Rig::start(&target, SET, mode).await?;
    rig.proxy.black_hole();
    for n in 120..125 {
        target
            .api()
            .delete(&target.config_map(&format!("{SET}-{n}")))
            .await?;
    }
    let accepted = rig.proxy.accepted();
    let noticed = || rig.proxy.accepted() > accepted;
    until("another connection is tried", PATIENCE, noticed).await?;
    rig.proxy.open();
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// The API server is restarted, in good order and by a crash, with writes in between.
async fn apiserver_restart(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    if let Some(reason) = target.control().missing() {
        return Ok(Outcome::Skipped(reason));
    }
    let rig = Rig::start(&target, SET, mode).await?;
    target.control().execute(Command::RestartApiserver).await?;
    change_some(&target, 200, "restarted").await?;
    rig.probe.converge(&target, SET).await?;
    target.control().execute(Command::KillApiserver).await?;
    target.control().execute(Command::StartApiserver).await?;
    change_some(&target, 220, "killed").await?;
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}

/// Deletes three objects and changes three, as soon as the server takes it.
async fn change_some(target: &Target, first: usize, value: &str) -> Result<()> {
    for n in first..first + 6 {
        let path = target.config_map(&format!("{SET}-{n}"));
        let patch = value_patch(value);
        until_ok("the server takes a change", PATIENCE, || {
            target.api().patch(&path, &patch)
        })
        .await?;
        if n % 2 == 0 {
            target.api().delete(&path).await?;
        }
    }
    Ok(())
}

/// Deletes missed while cut off, and the history gone: 410, a relist, tombstones.
async fn tombstones(target: Arc<Target>, mode: Mode) -> Result<Outcome> {
    if let Some(reason) = target.control().missing() {
        return Ok(Outcome::Skipped(reason));
    }
    let rig = Rig::start(&target, SET, mode).await?;
    let before = Truth::of(&target, SET).await?;
    // Refused, so that the watch is tried again from where it was.
    rig.proxy.refuse();
    let mut lost = Vec::new();
    for n in 300..320 {
        let name = format!("{SET}-{n}");
        target.api().delete(&target.config_map(&name)).await?;
        lost.push(format!("{}/{name}", target.environment().namespace));
    }
    target.control().execute(Command::Compact).await?;
    // The API server remembers for a while what the database has forgotten.
    target.control().execute(Command::RestartApiserver).await?;
    rig.proxy.open();
    rig.probe.converge(&target, SET).await?;
    let told = rig.probe.history.told().into_iter();
    let tombstones = told.filter_map(|told| match told {
        Told::Delete {
            key,
            rv,
            unknown: true,
        } => Some((key, rv)),
        Told::Add { .. } | Told::Update { .. } | Told::Delete { .. } => None,
    });
    let mut tombstones: Vec<_> = tombstones.collect();
    tombstones.sort();
    let last_known = |key: String| (key.clone(), before.versions.get(&key).cloned());
    let expected: Vec<_> = lost.into_iter().map(last_known).collect();
    ensure!(tombstones == expected, "tombstones: {tombstones:?}");
    let state = rig.probe.informer.reflector_state().context("it runs")?;
    ensure!(
        state.counters.relists_expired >= 1,
        "no relist because of 410: {state:?}"
    );
    rig.finish(&target, SET).await?;
    Ok(Outcome::Passed)
}
