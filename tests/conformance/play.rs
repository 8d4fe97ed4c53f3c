//! Scripts, played to both informers against one server: what handlers saw, what was asked
//! and what the store holds in the end is compared.

mod client;
mod compare;
mod generate;
mod requests;
mod script;
mod world;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::{Result, bail};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::script::Script;
use crate::Args;

/// The queue that our informer runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    DeltaFifo,
    InOrder,
}

impl Queue {
    fn name(self) -> &'static str {
        match self {
            Self::DeltaFifo => "delta-fifo",
            Self::InOrder => "in-order",
        }
    }
}

/// What one play of one script came to.
struct Outcome {
    title: String,
    /// Of a random script.
    text: Option<String>,
    /// The differences seen that are allowed, by rule; or what is wrong.
    result: Result<Vec<&'static str>>,
}

/// Plays all scripts, several at a time.
pub(crate) async fn run(args: &Args, seed: u64) -> Result<()> {
    let mut scripts = Vec::new();
    for path in crate::files(&args.folder.join("scripts"))? {
        scripts.extend(script::parse(&fs::read_to_string(&path)?)?);
    }
    scripts.extend(generate::scripts(seed, args.scripts)?);
    scripts.retain(|script| args.wants(&script.name));
    let written = scripts
        .iter()
        .filter(|script| script.text.is_none())
        .count();
    let started = Instant::now();
    let permits = Arc::new(Semaphore::new(args.jobs.max(1)));
    let mut plays = JoinSet::new();
    for script in scripts.iter().cloned().map(Arc::new) {
        for queue in [Queue::InOrder, Queue::DeltaFifo] {
            if args
                .queue
                .as_deref()
                .is_some_and(|only| only != queue.name())
            {
                continue;
            }
            let permits = Arc::clone(&permits);
            let script = Arc::clone(&script);
            let programs = world::Programs {
                clientgo: args.clientgo.clone(),
                event_log: args.event_log.clone(),
            };
            plays.spawn(async move {
                let permit = permits.acquire_owned().await;
                let result = play(&script, queue, &programs).await;
                drop(permit);
                Outcome {
                    title: format!("{} ({})", script.name, queue.name()),
                    text: script.text.clone(),
                    result,
                }
            });
        }
    }
    let plays = plays.join_all().await;
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failed = Vec::new();
    for outcome in &plays {
        match &outcome.result {
            Ok(rules) => {
                if args.verbose {
                    println!("{}: {}", outcome.title, rules.join(" "));
                }
                for rule in rules {
                    *seen.entry(rule).or_default() += 1;
                }
            }
            Err(error) => {
                println!("\nscript {}: {error:#}", outcome.title);
                if let Some(text) = &outcome.text {
                    println!("{text}");
                }
                failed.push(outcome.title.as_str());
            }
        }
    }
    let rules: Vec<String> = seen
        .iter()
        .map(|(rule, times)| format!("{rule} ×{times}"))
        .collect();
    println!(
        "scripts: {} plays of {} scripts ({written} written by hand) in {:.1} s; differences seen: {}",
        plays.len(),
        scripts.len(),
        started.elapsed().as_secs_f64(),
        if rules.is_empty() {
            "none".to_owned()
        } else {
            rules.join(", ")
        }
    );
    if !failed.is_empty() {
        bail!(
            "{} plays differ from client-go (seed {seed}): {}",
            failed.len(),
            failed.join(", ")
        );
    }
    Ok(())
}

/// Plays one script and compares; the rules of the differences seen.
async fn play(
    script: &Script,
    queue: Queue,
    programs: &world::Programs,
) -> Result<Vec<&'static str>> {
    let (theirs, ours, uids) = world::play(script, queue, programs).await?;
    let rules = compare::compare(script, queue, &theirs, &ours, &uids)?;
    for shown in &script.shows {
        if !rules.iter().any(|rule| rule == shown) {
            bail!("it is there to show {shown}, and does not: {rules:?}");
        }
    }
    Ok(rules)
}
