//! The suite `chaos`: informers of every representation under churn, while the control
//! plane and the way to it are broken in an order that the seed says.
//!
//! After each fault, and at the end, every store and every index is what a LIST of the
//! database is, and every handler's history is legal: what was added was not there, what
//! was changed or deleted was, versions of a key only grow, and what vanished got its
//! delete.

mod faults;
mod probes;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use informers_tests::TcpProxy;
use tokio::time::{Instant, sleep};

use self::faults::Fault;
use self::probes::{Checked, Side};
use self::writer::Writer;
use crate::probe::{PATIENCE, Truth};
use crate::report::{Outcome, Report};
use crate::target::Target;

/// The label of the objects.
const SET: &str = "chaos";
/// Rounds beyond one of each fault.
const EXTRA_ROUNDS: usize = 4;
/// From the end of a fault until everything is right again, on a machine that does other
/// things too. Our part is a watch's death noticed (3 s) and the longest backoff (4 s); the
/// rest is the API server's start.
const RECOVERY: Duration = Duration::from_secs(60);
/// How often it is looked at whether everything is right.
const POLL: Duration = Duration::from_millis(100);
/// Requests of one informer for one fault; more are a hot loop.
const REQUESTS_PER_FAULT: u64 = 60;
/// A round that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// All that runs while faults strike.
struct Chaos {
    target: Arc<Target>,
    sides: Vec<Side>,
    writer: Writer,
}

pub(crate) async fn run(target: &Arc<Target>, report: &mut Report) -> Result<()> {
    let seed = target.environment().seed;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut rounds: Vec<Fault> = Fault::ALL.to_vec();
    rounds.retain(|fault| fault.can_strike(target.control()));
    for _ in 0..EXTRA_ROUNDS {
        let again = rng
            .choice(rounds.iter().copied())
            .context("no fault can strike here")?;
        rounds.push(again);
    }
    rng.shuffle(&mut rounds);

    let chaos = Arc::new(Chaos::start(target, seed).await?);
    let planned = rounds.len();
    for (round, fault) in rounds.into_iter().enumerate() {
        let (chaos, dice) = (Arc::clone(&chaos), rng.fork());
        let name = format!("chaos/{:02}-{}", round + 1, fault.name());
        report
            .run(&name, LIMIT, async move { chaos.round(fault, dice).await })
            .await;
    }
    report
        .run(
            "chaos/end",
            LIMIT,
            async move { chaos.finish(planned).await },
        )
        .await;
    Ok(())
}

impl Chaos {
    async fn start(target: &Arc<Target>, seed: u64) -> Result<Self> {
        target.fill(SET, writer::NAMES / 2).await?;
        let sides = vec![Side::first(target).await?, Side::second(target).await?];
        for side in &sides {
            side.factory.wait_for_cache_sync(PATIENCE).await?;
        }
        Ok(Self {
            target: Arc::clone(target),
            sides,
            writer: Writer::start(target, seed)?,
        })
    }

    fn proxies(&self) -> impl Iterator<Item = &TcpProxy> {
        self.sides.iter().map(|side| &side.proxy)
    }

    fn probes(&self) -> impl Iterator<Item = &dyn Checked> {
        self.sides
            .iter()
            .flat_map(|side| side.probes.iter().map(|probe| &**probe))
    }

    /// One fault, and everything right again after it.
    async fn round(&self, fault: Fault, mut rng: fastrand::Rng) -> Result<Outcome> {
        let requests = |probe: &dyn Checked| probe.requests();
        let before: Vec<u64> = self.probes().map(requests).collect();
        let began = Instant::now();
        fault.strike(self, &mut rng).await?;
        let (held, healed) = (began.elapsed(), Instant::now());
        let quiet = self.writer.pause().await;
        let objects = self.recover(healed).await?;
        let recovered = healed.elapsed();
        drop(quiet);
        let most = self
            .probes()
            .zip(before)
            .map(|(probe, before)| probe.requests() - before)
            .max()
            .unwrap_or_default();
        println!(
            "    {}: held {:.1} s, all {objects} objects right {:.1} s later, at most {most} requests each",
            fault.name(),
            held.as_secs_f64(),
            recovered.as_secs_f64(),
        );
        ensure!(
            most <= REQUESTS_PER_FAULT,
            "{most} requests of one informer"
        );
        Ok(Outcome::Passed)
    }

    /// Waits until every store, index and handler is as a LIST is; answers how many objects
    /// there are.
    async fn recover(&self, healed: Instant) -> Result<usize> {
        loop {
            let wrong = match Truth::of(&self.target, SET).await {
                Ok(truth) => match self.probes().find_map(|probe| probe.wrong(&truth)) {
                    None => return Ok(truth.versions.len()),
                    Some(wrong) => wrong,
                },
                Err(error) => error,
            };
            if healed.elapsed() > RECOVERY {
                return Err(wrong.context(format!("not right {RECOVERY:?} after the fault")));
            }
            sleep(POLL).await;
        }
    }

    async fn finish(&self, rounds: usize) -> Result<Outcome> {
        let written = self.writer.stop().await;
        let objects = self.recover(Instant::now()).await?;
        println!("    {written}; {objects} objects in the end");
        for probe in self.probes() {
            probe.legal_order()?;
            println!("    {}", probe.summary());
            let allowed = REQUESTS_PER_FAULT * (rounds as u64 + 1);
            ensure!(probe.requests() <= allowed, "{} requests", probe.requests());
        }
        for side in &self.sides {
            if let Err(late) = side.factory.shutdown(Duration::from_secs(5)).await {
                bail!("{late}");
            }
            side.factory.client().close().await;
            side.proxy.shutdown().await;
        }
        Ok(Outcome::Passed)
    }
}
