//! Warnings that the server sends along with its answers.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;

/// As many different warnings are remembered as logged.
const MAX_REMEMBERED: usize = 1024;

/// Told of the server's warnings: a deprecated API, an unknown field.
///
/// # Contract
/// Called for each warning of each answer, in the task that sent the request. Must not
/// block.
///
/// # Upstream
/// `rest.WarningHandler`.
pub trait WarningHandler: Send + Sync + 'static {
    /// One warning.
    fn on_warning(&self, text: &str);
}

/// Logs each different warning once, by tracing.
///
/// # Memory
/// The text of the first 1,024 different ones; later ones are logged each time.
#[derive(Debug, Default)]
pub struct LogWarnings {
    seen: Mutex<HashSet<String>>,
}

impl WarningHandler for LogWarnings {
    fn on_warning(&self, text: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.contains(text) {
            return;
        }
        if seen.len() < MAX_REMEMBERED {
            seen.insert(text.to_owned());
        }
        drop(seen);
        tracing::warn!(warning = text, "the API server warns");
    }
}

/// Hands the warnings of an answer over.
pub(crate) fn report(headers: &HeaderMap, handler: &dyn WarningHandler) {
    for value in headers.get_all(WARNING) {
        if let Ok(value) = value.to_str()
            && let Some(text) = parse(value)
        {
            handler.on_warning(&text);
        }
    }
}

/// The text of `299 agent "text"`; other codes are not for the user.
fn parse(value: &str) -> Option<String> {
    let rest = value.trim().strip_prefix("299 ")?;
    let (_, quoted) = rest.trim_start().split_once(' ')?;
    let quoted = quoted.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some(text),
            '\\' => text.extend(characters.next()),
            // Nothing that could change a terminal's state.
            character if character.is_control() => text.push(' '),
            character => text.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests;
