//! The test program: built before a control plane is started, then run with the variables
//! below set.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::interrupt::Interrupt;
use super::{ControlPlane, Options, ProviderName};
use crate::{shell, workspace};

/// The provider's name: `binaries`, `kind`, `kubeconfig` or `fake`. Always set.
const PROVIDER: &str = "INFORMERS_E2E_PROVIDER";
/// The name of the suite to run. Always set.
const SUITE: &str = "INFORMERS_E2E_SUITE";
/// The seed of all that is random, a decimal `u64`. Always set.
const SEED: &str = "INFORMERS_E2E_SEED";
/// The namespace the program creates, works in and deletes. Always set.
const NAMESPACE: &str = "INFORMERS_E2E_NAMESPACE";
/// The kubeconfig: a path, or a list of paths as `KUBECONFIG` may hold. Set but for `fake`.
pub(super) const KUBECONFIG: &str = "INFORMERS_E2E_KUBECONFIG";
/// The context of the kubeconfig; the current one where not set.
pub(super) const CONTEXT: &str = "INFORMERS_E2E_CONTEXT";
/// `127.0.0.1:PORT` of the control server ([`super::control`]); set by `binaries` only.
pub(super) const CONTROL: &str = "INFORMERS_E2E_CONTROL";
/// The API server's audit log, one JSON event a line; set with `--audit` only.
pub(super) const AUDIT_LOG: &str = "INFORMERS_E2E_AUDIT_LOG";

const PACKAGE: &str = "informers-tests";
const TARGET: &str = "e2e";
const POLL: Duration = Duration::from_millis(50);

/// One run of the test program.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) provider: ProviderName,
    pub(super) options: &'a Options,
    pub(super) id: &'a str,
}

/// The built test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    path: PathBuf,
}

/// Builds the test program as `cargo test` would.
pub(super) fn build() -> Result<Program> {
    let root = workspace::root()?;
    println!("building the suite");
    let messages = shell::read(shell::cargo().current_dir(root).args([
        "test",
        "--package",
        PACKAGE,
        "--test",
        TARGET,
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]))?;
    let path = executable(&messages).context("cargo built no test program for the suite")?;
    Ok(Program { path })
}

/// The path of the test program in what cargo printed.
fn executable(messages: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        executable: Option<PathBuf>,
    }

    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }

    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .find(|message| {
            message.target.name == TARGET && message.target.kind.iter().any(|kind| kind == "test")
        })?
        .executable
}

impl Run<'_> {
    /// Runs the program against `control_plane`.
    pub(super) fn execute(
        &self,
        control_plane: &dyn ControlPlane,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let seed = self.options.seed.unwrap_or_else(random);
        let suite = &self.options.suite;
        println!(
            "suite {suite}, seed {seed}; again with: cargo xtask e2e --provider {} \
             --kubernetes {} --suite {suite} --seed {seed}",
            self.provider.name(),
            self.options.kubernetes
        );
        let mut command = Command::new(&self.program.path);
        command
            .current_dir(workspace::root()?.join("tests"))
            .args(&self.options.filters)
            .env(PROVIDER, self.provider.name())
            .env(SUITE, suite)
            .env(SEED, seed.to_string())
            .env(NAMESPACE, format!("informers-e2e-{}", self.id))
            .envs(control_plane.variables());
        run_interruptible(&mut command, interrupt)
            .with_context(|| format!("suite {suite} failed (seed {seed})"))
    }
}

/// Runs `command`; it is killed when we are asked to stop.
pub(super) fn run_interruptible(command: &mut Command, interrupt: &Interrupt) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run `{}`", shell::describe(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("`{}` failed with {status}", shell::describe(command));
        }
        if let Err(interrupted) = interrupt.pause(POLL) {
            child.kill().context("cannot kill it")?;
            child.wait().context("cannot wait for it")?;
            return Err(interrupted);
        }
    }
}

/// A short name no other run has.
pub(super) fn run_id() -> String {
    let mut id = random_hex(1);
    id.truncate(8);
    id
}

/// `words` times 16 hexadecimal digits nobody can guess.
pub(super) fn random_hex(words: usize) -> String {
    (0..words).fold(String::new(), |mut text, _| {
        // Writing to a string cannot fail.
        write!(text, "{:016x}", random()).expect("a string takes every text");
        text
    })
}

/// A random number from the standard library's hash keys, which the system seeds.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_is_the_one_of_the_suite() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"informers_tests","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"e2e","kind":["test"]},"executable":"deps/e2e-1"}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(executable(messages), Some("deps/e2e-1".into()));
        assert_eq!(executable(""), None);
    }

    #[test]
    fn random_names_differ() {
        assert_ne!(random_hex(2), random_hex(2));
        assert_eq!(random_hex(2).len(), 32);
        assert_eq!(run_id().len(), 8);
    }

    #[cfg(unix)]
    #[test]
    fn interrupted_command_is_killed() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let mut command = Command::new("sh");
        command.args(["-c", "while true; do sleep 0.01; done"]);
        let error = run_interruptible(&mut command, &interrupt).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
    }
}
