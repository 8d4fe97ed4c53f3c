//! What the kernel knows of this process.

use anyhow::{Context as _, Result};

/// Clock ticks a second in `/proc/self/stat`: the same on every Linux that Rust knows.
const TICKS: f64 = 100.0;

/// Seconds of CPU so far, user and system, all threads.
pub(crate) fn cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("no process statistics")?;
    // The name before may hold blanks; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')').context("unknown statistics")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |index: usize| -> Result<f64> {
        let field = fields.get(index).context("statistics are too short")?;
        Ok(field.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// Memory as MiB: `VmRSS` now, `VmHWM` at most so far.
pub(crate) fn memory(key: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("no process status")?;
    let line = status.lines().find(|line| line.starts_with(key));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = kib.with_context(|| format!("no {key}"))?.parse()?;
    Ok(kib / 1024.0)
}
