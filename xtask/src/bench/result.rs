//! [`Measured`]: what a client printed.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    Sync,
    Events,
    Steady,
    Peak,
}

impl Metric {
    pub(super) const ALL: [Self; 4] = [Self::Sync, Self::Events, Self::Steady, Self::Peak];

    /// The key of the JSON line.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Sync => "sync_s",
            Self::Events => "events_s",
            Self::Steady => "steady_mib",
            Self::Peak => "peak_mib",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sync => "initial sync",
            Self::Events => "events",
            Self::Steady => "steady memory",
            Self::Peak => "peak memory",
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Sync | Self::Events => "s",
            Self::Steady | Self::Peak => "MiB",
        }
    }

    /// A value as a person reads it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Sync | Self::Events => format!("{value:.2}"),
            Self::Steady | Self::Peak => format!("{value:.0}"),
        }
    }
}

/// One line of a client, or the medians of several.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// As it was printed.
    pub(super) line: String,
    values: Map<String, Value>,
}

impl Measured {
    pub(super) fn of(line: &str) -> Result<Self> {
        let values = serde_json::from_str(line).with_context(|| format!("no result: {line}"))?;
        let measured = Self {
            line: line.to_owned(),
            values,
        };
        for metric in Metric::ALL {
            measured
                .number(metric.key())
                .with_context(|| format!("no {}", metric.key()))?;
        }
        Ok(measured)
    }

    pub(super) fn get(&self, metric: Metric) -> f64 {
        self.number(metric.key()).unwrap_or(f64::NAN)
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.values.get(key)?.as_f64()
    }

    /// Number by number; what is no number is taken from the first. `None` of nothing.
    pub(super) fn median(runs: &[Self]) -> Option<Self> {
        let mut median = runs.first()?.clone();
        for (key, value) in &mut median.values {
            if !value.is_f64() {
                continue;
            }
            let mut numbers: Vec<f64> = runs.iter().filter_map(|run| run.number(key)).collect();
            numbers.sort_by(f64::total_cmp);
            *value = numbers[numbers.len() / 2].into();
        }
        Some(median)
    }

    /// A line of `results.jsonl`.
    pub(super) fn to_line(&self, name: &str) -> String {
        let mut line = Map::new();
        line.insert("client".to_owned(), name.into());
        line.extend(self.values.clone());
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests;
