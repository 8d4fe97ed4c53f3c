//! `cargo xtask tidy`: the house rules, each an ordinary function over the checkout.
//!
//! A rule returns what it found; nothing here changes a file.

mod authentication;
mod documents;
mod layers;
mod manifests;
mod markdown;
mod names;
mod parity;
mod sources;
mod words;

use std::fmt;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// A place where the checkout breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Workspace) -> Vec<Violation>;

const RULES: &[Rule] = &[
    layers::check,
    sources::check,
    words::check,
    manifests::check,
    documents::check,
    names::check,
    parity::check,
    authentication::check,
];

/// Prints every violation; an error if there is one.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let mut violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(&workspace)).collect();
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!(
                "tidy: {} files of {} packages keep the rules",
                workspace.files.len(),
                workspace.packages.len()
            );
            Ok(())
        }
        1 => bail!("1 violation of the house rules"),
        count => bail!("{count} violations of the house rules"),
    }
}
