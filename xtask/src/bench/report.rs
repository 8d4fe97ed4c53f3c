//! The tables of docs/performance.md.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::clients::{Client, EAGER_STRIPPED, PACKED, PACKED_DECODE, PROJECTION, Peer};
use super::result::{Measured, Metric};

/// Between these two lines the page is written by `cargo xtask bench`.
const BEGIN: &str = "<!-- figures: written by cargo xtask bench -->";
const END: &str = "<!-- end of figures -->";

/// The page before the first run.
pub(super) const EMPTY_PAGE: &str = "# Performance\n\n\
    <!-- figures: written by cargo xtask bench -->\n<!-- end of figures -->\n";

/// What else there is to say of a run.
pub(super) struct Conditions {
    pub(super) machine: Vec<(String, String)>,
    pub(super) command: String,
    /// What the load server said of its pods.
    pub(super) data: String,
    pub(super) rounds: u32,
}

/// The ratios to reach, in the order of [`Metric::ALL`].
const TARGETS: &[(&str, [f64; 4])] = &[
    (PACKED, [0.30, 0.35, 0.07, 0.08]),
    (PACKED_DECODE, [0.60, 0.75, 0.08, 0.10]),
    (PROJECTION, [0.25, 0.30, 0.06, 0.06]),
    (EAGER_STRIPPED, [0.65, 0.85, 1.4, 1.0]),
];

/// `page` with `block` between its marks.
pub(super) fn with_block(page: &str, block: &str) -> Result<String> {
    let (before, rest) = page
        .split_once(BEGIN)
        .context("the page has no place for figures")?;
    let (_, after) = rest
        .split_once(END)
        .context("the place for figures does not end")?;
    Ok(format!("{before}{BEGIN}\n\n{block}\n{END}{after}"))
}

/// Everything between the marks.
pub(super) fn block(conditions: &Conditions, results: &[(Client, Measured)]) -> String {
    let mut block = String::new();
    conditions_table(&mut block, conditions);
    targets_table(&mut block, results);
    clients_table(&mut block, results);
    for metric in Metric::ALL {
        let _ = writeln!(
            block,
            "![{}](performance/{}.svg)",
            metric.title(),
            metric.key()
        );
    }
    block
}

fn conditions_table(block: &mut String, conditions: &Conditions) {
    block.push_str("| | |\n|---|---|\n");
    let _ = writeln!(block, "| command | `{}` |", conditions.command);
    let data = conditions.data.trim_start_matches("ready ");
    let _ = writeln!(block, "| load | {data} |");
    for (name, value) in &conditions.machine {
        let _ = writeln!(block, "| {name} | {value} |");
    }
    let told = if conditions.rounds == 1 {
        "one run of each client".to_owned()
    } else {
        format!("medians of {} runs of each client", conditions.rounds)
    };
    let _ = writeln!(block, "| figures | {told} |\n");
}

/// The best of client-go for a client: of those that strip managedFields as it does.
pub(super) fn best(results: &[(Client, Measured)], stripped: bool, metric: Metric) -> Option<f64> {
    best_of(results, stripped, metric.key())
}

fn best_of(results: &[(Client, Measured)], stripped: bool, key: &str) -> Option<f64> {
    results
        .iter()
        .filter(|(client, _)| client.peer == Peer::ClientGo && client.stripped == stripped)
        .filter_map(|(_, measured)| measured.number(key))
        .min_by(f64::total_cmp)
}

fn targets_table(block: &mut String, results: &[(Client, Measured)]) {
    let found: Vec<_> = TARGETS
        .iter()
        .filter_map(|(name, targets)| {
            let (client, measured) = results.iter().find(|(client, _)| client.name == *name)?;
            Some((client, measured, targets))
        })
        .collect();
    if found.is_empty() || best(results, false, Metric::Sync).is_none() {
        return;
    }
    block.push_str(
        "Ratios to the best of client-go's configurations, for each figure apart (lower is \
         better; in parentheses the target):\n\n|",
    );
    for (client, ..) in &found {
        let _ = write!(block, " | {}", client.name);
    }
    block.push_str(" |\n|---");
    block.push_str(&"|---".repeat(found.len()));
    block.push_str("|\n");
    for (index, metric) in Metric::ALL.into_iter().enumerate() {
        let _ = write!(block, "| {}", metric.title());
        for (client, measured, targets) in &found {
            let target = targets[index];
            match best(results, client.stripped, metric) {
                Some(best) => {
                    let ratio = measured.get(metric) / best;
                    let mark = if ratio <= target { "" } else { " ✗" };
                    let _ = write!(block, " | {ratio:.2} (≤ {target:.2}){mark}");
                }
                None => block.push_str(" | –"),
            }
        }
        block.push_str(" |\n");
    }
    for (title, key) in CPU {
        let _ = write!(block, "| {title}");
        for (client, measured, _) in &found {
            let ratio = measured
                .number(key)
                .zip(best_of(results, client.stripped, key));
            match ratio {
                Some((own, best)) => {
                    let _ = write!(block, " | {:.2}", own / best);
                }
                None => block.push_str(" | –"),
            }
        }
        block.push_str(" |\n");
    }
    block.push('\n');
}

/// Processor time moves less than the clock with what else the machine does.
const CPU: [(&str, &str); 2] = [
    ("CPU of the initial sync", "sync_cpu_s"),
    ("CPU of the events", "events_cpu_s"),
];

fn clients_table(block: &mut String, results: &[(Client, Measured)]) {
    block.push_str(
        "All clients; in parentheses the ratio to the best of client-go, which strips \
         managedFields where the client does:\n\n\
         | client | sync, s | CPU, s | events, s | CPU, s | steady, MiB | peak, MiB |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (client, measured) in results {
        let cell = |metric: Metric| {
            let value = measured.get(metric);
            match best(results, client.stripped, metric) {
                Some(best) => format!("{} ({:.2})", metric.show(value), value / best),
                None => metric.show(value),
            }
        };
        let cpu = |key: &str| {
            let value = measured.number(key);
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
        };
        let _ = writeln!(
            block,
            "| {} | {} | {} | {} | {} | {} | {} |",
            client.name,
            cell(Metric::Sync),
            cpu("sync_cpu_s"),
            cell(Metric::Events),
            cpu("events_cpu_s"),
            cell(Metric::Steady),
            cell(Metric::Peak),
        );
    }
    block.push('\n');
}

#[cfg(test)]
mod tests;
