//! [`Script`]: options and steps, read from plain text.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A script as its file says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Script {
    pub(super) name: String,
    /// Options of both informers, as their command lines take them.
    pub(super) options: Vec<(String, String)>,
    /// Of the server.
    pub(super) bookmark_interval: Option<f64>,
    pub(super) history: Option<usize>,
    /// Whether a watch from a forgotten version is refused instead of ended by an event.
    pub(super) expired_watch_is_refused: bool,
    /// Rules of the differences that the script is there to show.
    pub(super) shows: Vec<String>,
    /// Whether the moment of a relist is left to chance: versions asked for are not compared.
    pub(super) loose: bool,
    pub(super) steps: Vec<Step>,
    /// The whole of a random one.
    pub(super) text: Option<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Start both informers.
    Start,
    /// Objects of the resource.
    Create(String, Vec<(String, String)>),
    Update(String, Vec<(String, String)>),
    Delete(String),
    Seed(usize),
    /// A fault for each of the clients.
    Fault(Value),
    ClearFaults,
    Compact,
    /// So many revisions back.
    Rollback(u64),
    Disconnect,
    Pause,
    Resume,
    /// Until both informers' handlers have been told of the server's state, and both watch.
    Settle,
    /// Until both have been told of the state of this object.
    Seen(String),
    /// Until the faults in force have met so many requests or events each.
    Struck(u64),
    /// Until no watch is open.
    Unwatched,
    /// Until both have listed (by either way) since the last break of a watch.
    Relisted,
    /// Until both have asked for a watch since then.
    Rewatched,
    /// Until each has sent so many requests of this kind, and has an answer.
    Requests(String, usize),
    /// Until each has printed so many lines of this kind.
    Lines(String, usize),
}

impl Script {
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.options.iter();
        options
            .find(|(option, _)| option == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn resource(&self) -> &str {
        self.option("resource").unwrap_or("pods")
    }

    /// The plural alone.
    pub(super) fn plural(&self) -> &str {
        self.resource().rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn resyncs(&self) -> bool {
        self.option("resync").is_some()
    }

    pub(super) fn is_watch_list(&self) -> bool {
        self.option("initial")
            .is_some_and(|initial| initial != "list")
    }
}

/// All scripts of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Script>> {
    let mut scripts: Vec<Script> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("script ") {
            scripts.push(Script {
                name: name.trim().to_owned(),
                options: vec![("initial".to_owned(), "list".to_owned())],
                ..Script::default()
            });
            continue;
        }
        let script = scripts.last_mut().context("a line before any script")?;
        let read =
            option(script, line).and_then(|known| if known { Ok(()) } else { step(script, line) });
        read.with_context(|| format!("line {}: {line}", number + 1))?;
    }
    Ok(scripts)
}

/// Reads an option; false where the line is none.
fn option(script: &mut Script, line: &str) -> Result<bool> {
    let (word, rest) = split(line);
    match word {
        "resource" | "namespace" | "label-selector" | "field-selector" | "resync" | "initial"
        | "representation" => {
            script.options.retain(|(name, _)| name != word);
            script.options.push((word.to_owned(), rest.to_owned()));
        }
        "bookmark-interval" => script.bookmark_interval = Some(rest.parse()?),
        "history" => script.history = Some(rest.parse()?),
        "expired-watch-is-refused" => script.expired_watch_is_refused = true,
        "loose" => script.loose = true,
        "shows" => script.shows = rest.split_whitespace().map(str::to_owned).collect(),
        _ => return Ok(false),
    }
    Ok(true)
}

fn step(script: &mut Script, line: &str) -> Result<()> {
    let (word, rest) = split(line);
    let step = match word {
        "start" => Step::Start,
        "create" => {
            let (key, fields) = object(rest)?;
            Step::Create(key, fields)
        }
        "update" => {
            let (key, fields) = object(rest)?;
            Step::Update(key, fields)
        }
        "delete" => Step::Delete(rest.to_owned()),
        "recreate" => {
            script.steps.push(Step::Delete(split(rest).0.to_owned()));
            let (key, fields) = object(rest)?;
            Step::Create(key, fields)
        }
        "seed" => Step::Seed(rest.parse()?),
        "fault" => Step::Fault(serde_json::from_str(rest)?),
        "clear-faults" => Step::ClearFaults,
        "compact" => Step::Compact,
        "rollback" => Step::Rollback(rest.parse()?),
        "disconnect" => Step::Disconnect,
        "pause" => Step::Pause,
        "resume" => Step::Resume,
        "settle" => Step::Settle,
        "seen" => Step::Seen(rest.to_owned()),
        "struck" => Step::Struck(rest.parse()?),
        "unwatched" => Step::Unwatched,
        "relisted" => Step::Relisted,
        "rewatched" => Step::Rewatched,
        "requests" => {
            let (verb, count) = split(rest);
            Step::Requests(verb.to_owned(), count.parse()?)
        }
        "lines" => {
            let (op, count) = split(rest);
            Step::Lines(op.to_owned(), count.parse()?)
        }
        _ => bail!("neither an option nor a step"),
    };
    script.steps.push(step);
    Ok(())
}

fn split(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (word, rest.trim())
}

/// `KEY label=value path.to.field=value`.
fn object(text: &str) -> Result<(String, Vec<(String, String)>)> {
    let (key, rest) = split(text);
    let fields = rest.split_whitespace().map(|field| {
        let (name, value) = field.split_once('=').context("a field without a value")?;
        Ok((name.to_owned(), value.to_owned()))
    });
    Ok((key.to_owned(), fields.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_steps_are_read() {
        let text = "script one\ninitial watchlist\nshows S3 S10\ncreate a app=x\n# why\nstart\nrecreate ns/a\nlines update 2\n";
        let scripts = parse(text).unwrap();
        assert_eq!(scripts.len(), 1);
        let script = &scripts[0];
        assert_eq!(script.option("initial"), Some("watchlist"));
        assert_eq!(script.shows, ["S3", "S10"]);
        assert_eq!(
            script.steps,
            [
                Step::Create("a".to_owned(), vec![("app".to_owned(), "x".to_owned())]),
                Step::Start,
                Step::Delete("ns/a".to_owned()),
                Step::Create("ns/a".to_owned(), Vec::new()),
                Step::Lines("update".to_owned(), 2),
            ]
        );
    }

    #[test]
    fn line_that_is_nothing_is_an_error_that_names_it() {
        let error = parse("script one\nfly away\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2: fly away"));
    }
}
