//! Traces of operations, played to client-go's queues and to ours: every hand-out is compared.

mod answer;
mod generate;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use self::answer::Answer;
use crate::Args;

/// One trace: its name and its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    name: String,
    lines: Vec<String>,
}

/// A difference that a trace announces: `#! RULE: CLIENT-GO | INFORMERS`, below the line
/// whose hand-out differs.
#[derive(Debug, PartialEq, Eq)]
struct Announced<'a> {
    rule: &'a str,
    theirs: &'a str,
    ours: &'a str,
}

/// Plays all traces and compares.
pub(crate) fn run(args: &Args, seed: u64) -> Result<()> {
    let mut traces = written(&args.folder.join("traces"))?;
    traces.retain(|trace| args.wants(&trace.name));
    let count = traces.len();
    traces.extend(generate::traces(seed, args.traces));
    traces.retain(|trace| args.wants(&trace.name));
    let text: String = traces.iter().map(Trace::text).collect();
    let theirs = play(Command::new(&args.clientgo).arg("queues"), &text)?;
    let ours = play(&mut Command::new(&args.queue_trace), &text)?;
    let mut seen = BTreeMap::new();
    let mut failures = 0;
    for trace in &traces {
        let none = Vec::new();
        let theirs = theirs.get(&trace.name).unwrap_or(&none);
        let ours = ours.get(&trace.name).unwrap_or(&none);
        if let Err(difference) = compare(trace, theirs, ours, &mut seen) {
            failures += 1;
            println!("{difference}");
        }
    }
    let rules: Vec<String> = seen
        .iter()
        .map(|(rule, times)| format!("{rule} ×{times}"))
        .collect();
    println!(
        "queues: {} traces, {} of them written by hand; differences seen: {}",
        traces.len(),
        count,
        if rules.is_empty() {
            "none".to_owned()
        } else {
            rules.join(", ")
        }
    );
    if failures > 0 {
        bail!("{failures} traces differ from client-go's queues (seed {seed})");
    }
    Ok(())
}

/// The traces of all files of a folder, in the order of their names.
fn written(folder: &Path) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    for path in crate::files(folder)? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        traces.extend(parse(&text));
    }
    Ok(traces)
}

fn parse(text: &str) -> Vec<Trace> {
    let mut traces: Vec<Trace> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("trace ") {
            traces.push(Trace {
                name: name.trim().to_owned(),
                lines: Vec::new(),
            });
        } else if let Some(trace) = traces.last_mut() {
            trace.lines.push(line.to_owned());
        }
    }
    traces
}

impl Trace {
    fn text(&self) -> String {
        let mut text = format!("trace {}\n", self.name);
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn is_delta_fifo(&self) -> bool {
        self.lines
            .iter()
            .any(|line| line.trim().starts_with("queue delta-fifo"))
    }

    /// What is announced for the hand-out of `line`, counted from one.
    fn announced(&self, line: usize) -> Option<Announced<'_>> {
        let (rule, rest) = self
            .lines
            .get(line)?
            .trim()
            .strip_prefix("#!")?
            .split_once(':')?;
        let (theirs, ours) = rest.split_once('|')?;
        Some(Announced {
            rule: rule.trim(),
            theirs: theirs.trim(),
            ours: ours.trim(),
        })
    }
}

/// Plays traces to a program, and reads what it says of each.
fn play(command: &mut Command, text: &str) -> Result<BTreeMap<String, Vec<Answer>>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    let mut input = child
        .stdin
        .take()
        .context("a child without a standard input")?;
    let text = text.to_owned();
    // The program answers while it reads: both pipes have to be served.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child
        .wait_with_output()
        .with_context(|| format!("cannot read from {program}"))?;
    let written = writer.join();
    if !output.status.success() {
        bail!("{program} failed with {}", output.status);
    }
    if !matches!(written, Ok(Ok(()))) {
        bail!("{program} did not read all traces");
    }
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let answer: Answer =
            serde_json::from_str(line).with_context(|| format!("{program} printed {line:?}"))?;
        answers
            .entry(answer.trace.clone())
            .or_default()
            .push(answer);
    }
    Ok(answers)
}

/// Compares what both queues said, line by line; `seen` counts the differences by rule.
fn compare(
    trace: &Trace,
    theirs: &[Answer],
    ours: &[Answer],
    seen: &mut BTreeMap<String, usize>,
) -> Result<(), String> {
    let delta_fifo = trace.is_delta_fifo();
    let mut taken = false;
    for index in 0..theirs.len().max(ours.len()) {
        let (Some(their), Some(our)) = (theirs.get(index), ours.get(index)) else {
            return Err(report(trace, theirs, ours, index));
        };
        taken |= our.op == "take";
        // D6, D7: there the count falls before the processing, under the queue's lock.
        let in_processing = delta_fifo && (taken || our.work.is_some());
        taken &= our.op != "done";
        let may_be_announced = our.work.is_some() || our.op == "done";
        let announced = trace.announced(our.line).filter(|_| may_be_announced);
        if their.line != our.line || their.op != our.op {
            return Err(report(trace, theirs, ours, index));
        }
        if let Some(announced) = announced {
            if their.says() == announced.theirs && our.says() == announced.ours {
                *seen.entry(announced.rule.to_owned()).or_default() += 1;
                continue;
            }
            return Err(report(trace, theirs, ours, index));
        }
        if !in_processing && their.synced != our.synced {
            return Err(report(trace, theirs, ours, index));
        }
        if their.work() == our.work() {
            continue;
        }
        // D2: consecutive relists of one object are one delta here. (B37)
        if delta_fifo && their.with_relists_merged().work() == our.work() {
            *seen.entry("D2".to_owned()).or_default() += 1;
            continue;
        }
        return Err(report(trace, theirs, ours, index));
    }
    Ok(())
}

/// The trace with what both sides said at each line, up to the first difference.
fn report(trace: &Trace, theirs: &[Answer], ours: &[Answer], index: usize) -> String {
    let mut text = format!("\ntrace {} differs:\n", trace.name);
    let at = |answers: &[Answer]| answers.get(index).map(|answer| answer.line);
    let last = at(ours).max(at(theirs)).unwrap_or(trace.lines.len());
    for (number, line) in trace.lines.iter().enumerate().take(last) {
        _ = writeln!(text, "  {:>3}  {line}", number + 1);
    }
    let say = |answers: &[Answer]| {
        answers
            .get(index)
            .map_or_else(|| "no more lines".to_owned(), ToString::to_string)
    };
    _ = writeln!(text, "  client-go: {}", say(theirs));
    _ = writeln!(text, "  informers: {}", say(ours));
    text
}

#[cfg(test)]
mod tests;
