//! What both informers did, compared; differences pass by the rules of docs/parity.md only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::Queue;
use super::client::{Line, Printed};
use super::requests::Request;
use super::script::Script;
use super::world::{Record, Uids};

/// How our error says that initial events fell silent.
const NO_END: &str = "sends no bookmark that ends the initial events of a watch";

/// Something a handler was told of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Add { rv: String, initial: bool },
    Update { old: String, rv: String },
    Delete { rv: String, unknown: bool },
}

/// The rules by which a play differed.
pub(super) fn compare(
    script: &Script,
    queue: Queue,
    theirs: &Record,
    ours: &Record,
    uids: &Uids,
) -> Result<Vec<&'static str>> {
    let mut rules = BTreeSet::new();
    let mut wrong = String::new();
    let (their_told, our_told) = (by_key(&theirs.printed), by_key(&ours.printed));
    let keys: BTreeSet<&String> = their_told.keys().chain(our_told.keys()).collect();
    let mut differing = BTreeSet::new();
    for key in keys {
        let none = Vec::new();
        let their = their_told.get(key).unwrap_or(&none);
        let our = our_told.get(key).unwrap_or(&none);
        if let Ok(allowed) = compare_object(script, key, their, our, uids) {
            if !allowed.is_empty() {
                differing.insert(key.clone());
            }
            rules.extend(allowed);
        } else {
            _ = writeln!(wrong, "{key}:");
            _ = writeln!(wrong, "  client-go: {}", words(their));
            _ = writeln!(wrong, "  informers: {}", words(our));
        }
    }
    // W2: in client-go a relist by WatchList comes in no order at all.
    let relists = theirs
        .requests
        .iter()
        .filter(|request| request.verb == "watchlist");
    let has_order = relists.count() <= 1;
    if queue == Queue::InOrder && has_order && wrong.is_empty() {
        let their = in_order(script, &theirs.printed, &differing);
        let our = in_order(script, &ours.printed, &differing);
        if their != our {
            _ = writeln!(wrong, "the order across objects:");
            side_by_side(&mut wrong, &their, &our);
        }
    }
    compare_errors(&theirs.printed, &ours.printed, &mut rules, &mut wrong);
    compare_requests(script, theirs, ours, &mut rules, &mut wrong);
    compare_stores(&theirs.printed, &ours.printed, &mut wrong);
    if wrong.is_empty() {
        return Ok(rules.into_iter().collect());
    }
    for (name, record) in [("client-go", theirs), ("informers", ours)] {
        for error in errors(&record.printed) {
            _ = writeln!(wrong, "{name} told its error handler: {error}");
        }
    }
    bail!("differs from client-go\n{wrong}");
}

fn by_key(printed: &Printed) -> BTreeMap<String, Vec<Told>> {
    let mut told: BTreeMap<String, Vec<Told>> = BTreeMap::new();
    for line in &printed.lines {
        if let Some((key, what)) = told_by(line) {
            told.entry(key.clone()).or_default().push(what);
        }
    }
    told
}

fn told_by(line: &Line) -> Option<(&String, Told)> {
    Some(match line {
        Line::Add { key, rv, initial } => (
            key,
            Told::Add {
                rv: rv.clone(),
                initial: *initial,
            },
        ),
        Line::Update { key, old_rv, rv } => (
            key,
            Told::Update {
                old: old_rv.clone(),
                rv: rv.clone(),
            },
        ),
        Line::Delete {
            key,
            rv,
            final_state_unknown,
        } => (
            key,
            Told::Delete {
                rv: rv.clone(),
                unknown: *final_state_unknown,
            },
        ),
        Line::Synced | Line::Error { .. } | Line::Store { .. } => return None,
    })
}

/// Walks along what both handlers were told of one object; the rules of the differences.
fn compare_object(
    script: &Script,
    key: &str,
    theirs: &[Told],
    ours: &[Told],
    uids: &Uids,
) -> Result<Vec<&'static str>, ()> {
    let mut rules = Vec::new();
    let (mut theirs, mut ours) = (theirs, ours);
    let mut known = false;
    let is_repetition = |told: &Told| matches!(told, Told::Update { old, rv } if old == rv);
    loop {
        match (theirs, ours) {
            ([], []) => return Ok(rules),
            ([their, their_rest @ ..], [our, our_rest @ ..]) if their == our => {
                known = !matches!(their, Told::Delete { .. });
                (theirs, ours) = (their_rest, our_rest);
            }
            // How often a timer fires is a matter of time.
            ([their, rest @ ..], _) if script.resyncs() && is_repetition(their) => theirs = rest,
            (_, [our, rest @ ..]) if script.resyncs() && is_repetition(our) => ours = rest,
            // S3, S4: a relist found the object unchanged.
            ([their, rest @ ..], _) if is_repetition(their) => {
                rules.push("S3");
                theirs = rest;
            }
            // S10: another object of the same name.
            (
                [Told::Update { old, rv }, their_rest @ ..],
                [
                    Told::Delete {
                        rv: deleted,
                        unknown: true,
                    },
                    Told::Add {
                        rv: added,
                        initial: false,
                    },
                    our_rest @ ..,
                ],
            ) if old == deleted && rv == added && are_two_objects(key, old, rv, uids) => {
                rules.push("S10");
                known = true;
                (theirs, ours) = (their_rest, our_rest);
            }
            // R1: nobody was told of the object.
            ([Told::Delete { unknown: false, .. }, rest @ ..], _) if !known => {
                rules.push("R1");
                theirs = rest;
            }
            _ => return Err(()),
        }
    }
}

fn are_two_objects(key: &str, old: &str, new: &str, uids: &Uids) -> bool {
    let uid = |rv: &str| uids.get(&(key.to_owned(), rv.to_owned()));
    uid(old) != uid(new)
}

/// What was told, across objects, but for objects that were told of differently, and with
/// what comes in no order in one.
fn in_order(script: &Script, printed: &Printed, differing: &BTreeSet<String>) -> Vec<String> {
    let mut order: Vec<(String, Told)> = printed
        .lines
        .iter()
        .filter_map(told_by)
        .filter(|(key, _)| !differing.contains(*key))
        .map(|(key, told)| (key.clone(), told))
        .collect();
    if script.resyncs() {
        order.retain(|(_, told)| !matches!(told, Told::Update { old, rv } if old == rv));
    }
    // R11: tombstones of one relist; W2: initial events.
    let any_order = |told: &Told| match told {
        Told::Delete { unknown: true, .. } => 1,
        Told::Add { initial: true, .. } if script.is_watch_list() => 2,
        _ => 0,
    };
    for run in order.chunk_by_mut(|(_, a), (_, b)| any_order(a) == any_order(b)) {
        if any_order(&run[0].1) > 0 {
            run.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
    }
    order
        .into_iter()
        .map(|(key, told)| format!("{key} {}", words(&[told])))
        .collect()
}

/// A4, L1, W6: our error handler hears of more, never of less.
fn compare_errors(
    theirs: &Printed,
    ours: &Printed,
    rules: &mut BTreeSet<&'static str>,
    wrong: &mut String,
) {
    let codes = |printed: &Printed| -> Vec<Option<u16>> {
        printed
            .lines
            .iter()
            .filter_map(|line| match line {
                Line::Error { code, .. } => Some(*code),
                _ => None,
            })
            .collect()
    };
    let (their, our) = (codes(theirs), codes(ours));
    if their == our {
        return;
    }
    let mut heard = our.iter();
    if their.iter().all(|code| heard.any(|other| other == code)) {
        rules.insert("A4");
        return;
    }
    _ = writeln!(wrong, "errors told:");
    side_by_side(wrong, &errors(theirs), &errors(ours));
}

/// What the error handler was told.
fn errors(printed: &Printed) -> Vec<String> {
    let lines = printed.lines.iter().filter_map(|line| match line {
        Line::Error { code, message } => Some(format!("{code:?} {message}")),
        _ => None,
    });
    lines.collect()
}

fn compare_requests(
    script: &Script,
    theirs: &Record,
    ours: &Record,
    rules: &mut BTreeSet<&'static str>,
    wrong: &mut String,
) {
    let read = |requests: &[Request]| -> Vec<Request> {
        requests
            .iter()
            .map(|request| {
                if script.loose {
                    request.loosely()
                } else {
                    request.clone()
                }
            })
            .collect()
    };
    let (their, our) = (read(&theirs.requests), read(&ours.requests));
    // A busy machine may be silent for so long.
    let gave_up = errors(&ours.printed)
        .iter()
        .any(|error| error.ends_with(NO_END));
    if let Some(allowed) = walk(&their, &our, gave_up) {
        rules.extend(allowed);
        return;
    }
    _ = writeln!(wrong, "requests:");
    let say = |requests: &[Request]| requests.iter().map(ToString::to_string).collect::<Vec<_>>();
    side_by_side(wrong, &say(&their), &say(&our));
}

/// Walks along both sides' requests; the rules of the differences, `None` for others.
/// `gave_up`: we waited in vain for the end of initial events.
fn walk(theirs: &[Request], ours: &[Request], gave_up: bool) -> Option<Vec<&'static str>> {
    let mut rules = Vec::new();
    let (mut their, mut our) = (0, 0);
    loop {
        let (next, ours_next) = match (theirs.get(their), ours.get(our)) {
            (None, None) => return Some(rules),
            pair => pair,
        };
        if next == ours_next {
            (their, our) = (their + 1, our + 1);
            continue;
        }
        let before = their.checked_sub(1).map(|index| &theirs[index]);
        let ours_before = our.checked_sub(1).map(|index| &ours[index]);
        // W4: silent initial events are given up for a list and a watch from it.
        if let (Some(next), Some(before)) = (ours_next, ours_before)
            && gave_up
            && before.verb == "watchlist"
            && before.status == Some(200)
            && next.verb == "list"
        {
            rules.push("W4");
            our += 2;
            continue;
        }
        // A8: a list at a version that a watch was just refused for is asked again without.
        if let (Some(next), Some(before)) = (ours_next, ours_before)
            && next.is_list_of_the_newest_state()
            && before.is_good_list_at_a_version()
        {
            rules.push("A8");
            our += 1;
            while ours.get(our).is_some_and(Request::continues) {
                our += 1;
            }
            continue;
        }
        // §1.11: client-go's REST client repeats what was answered with Retry-After.
        if let (Some(next), Some(before)) = (next, before)
            && before.asks_to_come_back()
            && next.is_the_same_question_as(before)
        {
            rules.push("1.11");
            their += 1;
            our += usize::from(ours_next.is_some_and(Request::is_list_of_the_newest_state));
            continue;
        }
        // §2.5: after a list at a version, the newest state is asked for without pages there.
        if let (Some(next), Some(ours_next)) = (next, ours_next)
            && next.status == ours_next.status
            && ours_next.is_list_of_the_newest_state()
            && next.is_the_same_question_as(&ours_next.without_limit())
        {
            rules.push("2.5");
            (their, our) = (their + 1, our + 1);
            continue;
        }
        // A5: a short watch without events makes client-go list.
        if let (Some(next), Some(before)) = (next, before)
            && before.verb == "watch"
            && next.is_good_list_at_a_version()
        {
            rules.push("A5");
            their += 1;
            continue;
        }
        return None;
    }
}

fn compare_stores(theirs: &Printed, ours: &Printed, wrong: &mut String) {
    let (their, our) = (theirs.lines.last(), ours.lines.last());
    if their != our || !matches!(our, Some(Line::Store { .. })) {
        _ = writeln!(wrong, "the store in the end:");
        _ = writeln!(wrong, "  client-go: {their:?}");
        _ = writeln!(wrong, "  informers: {our:?}");
    }
}

fn words(told: &[Told]) -> String {
    let words: Vec<String> = told
        .iter()
        .map(|told| match told {
            Told::Add { rv, initial: true } => format!("add! {rv}"),
            Told::Add { rv, initial: false } => format!("add {rv}"),
            Told::Update { old, rv } => format!("update {old}→{rv}"),
            Told::Delete { rv, unknown: true } => format!("tombstone {rv}"),
            Told::Delete { rv, unknown: false } => format!("delete {rv}"),
        })
        .collect();
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(", ")
    }
}

/// Two lists in two columns; lines that differ are marked.
fn side_by_side(text: &mut String, theirs: &[String], ours: &[String]) {
    for index in 0..theirs.len().max(ours.len()) {
        let their = theirs.get(index).map_or("", String::as_str);
        let our = ours.get(index).map_or("", String::as_str);
        if their == our {
            _ = writeln!(text, "    {their}");
        } else {
            _ = writeln!(text, "  - client-go: {their}");
            _ = writeln!(text, "  + informers: {our}");
        }
    }
}

#[cfg(test)]
mod tests;
