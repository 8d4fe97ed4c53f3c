//! Words that tracked text must not hold: paths of one machine, marks of unfinished work.

use std::path::Path;

use super::Violation;
use crate::workspace::Workspace;

/// A word and why it is not wanted. Each is written in two halves, so that this file passes.
struct Word {
    text: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Counts where it starts a path, not in the middle of one.
    Path,
    /// Counts in Rust files where no letter touches it.
    Unfinished,
}

const WORDS: &[Word] = &[
    Word {
        text: concat!("/wo", "rk/"),
        kind: Kind::Path,
    },
    Word {
        text: concat!("/ro", "ot/"),
        kind: Kind::Path,
    },
    Word {
        text: concat!("/fa", "rm/"),
        kind: Kind::Path,
    },
    Word {
        text: concat!("/Use", "rs/"),
        kind: Kind::Path,
    },
    Word {
        text: concat!("TO", "DO"),
        kind: Kind::Unfinished,
    },
    Word {
        text: concat!("FIX", "ME"),
        kind: Kind::Unfinished,
    },
    Word {
        text: concat!("XX", "X"),
        kind: Kind::Unfinished,
    },
];

pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    workspace
        .texts("")
        .flat_map(|(path, text)| check_text(path, &text))
        .collect()
}

fn check_text(path: &str, text: &str) -> Vec<Violation> {
    let rust = Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs");
    text.lines()
        .enumerate()
        .flat_map(|(index, line)| {
            WORDS
                .iter()
                .filter(move |word| (rust || word.kind == Kind::Path) && word.is_in(line))
                .map(move |word| (index + 1, word))
        })
        .map(|(line, word)| Violation::new(path, line, word.message()))
        .collect()
}

impl Word {
    fn is_in(&self, line: &str) -> bool {
        line.match_indices(self.text).any(|(start, _)| {
            let before = line[..start].chars().next_back();
            let after = line[start + self.text.len()..].chars().next();
            match self.kind {
                Kind::Path => !before.is_some_and(|c| {
                    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | ')' | '>' | '*')
                }),
                Kind::Unfinished => ![before, after]
                    .iter()
                    .flatten()
                    .any(|c| c.is_alphanumeric() || *c == '_'),
            }
        })
    }

    fn message(&self) -> String {
        match self.kind {
            Kind::Path => format!("{} is a path of one machine", self.text),
            Kind::Unfinished => format!("{} says the work is unfinished", self.text),
        }
    }
}

#[cfg(test)]
mod tests;
