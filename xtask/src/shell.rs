//! Commands run for their effect, with an error that says which one failed.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The cargo that runs us, so that a toolchain chosen with `cargo +1.89` stays chosen.
///
/// Without what that cargo told us of our own package: build scripts that look at such
/// variables (ring's does) would run again, and all that depends on them be compiled anew.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs `command` with our own output and fails where it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", describe(command));
    }
    Ok(())
}

/// Runs `command` and returns its standard output as text.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{}`", describe(command)))?;
    if !output.status.success() {
        bail!("`{}` failed with {}", describe(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| {
        format!(
            "`{}` printed something that is not UTF-8",
            describe(command)
        )
    })
}

/// `command` as a person would type it.
pub(crate) fn describe(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_stem().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Where `program` is found on the `PATH`, if it is.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(format!("{program}{}", env::consts::EXE_SUFFIX)))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describe_shows_program_name_and_arguments() {
        let mut command = Command::new("/usr/bin/go");
        command.args(["build", "-v"]);
        assert_eq!(describe(&command), "go build -v");
    }

    #[test]
    fn read_of_a_failing_command_names_it() {
        let error = read(cargo().args(["metadata", "--format-version", "0"])).unwrap_err();
        assert!(
            format!("{error:#}").contains("metadata --format-version 0` failed"),
            "{error:#}"
        );
    }

    #[test]
    fn which_finds_nothing_for_an_unknown_program() {
        assert_eq!(which("a-program-nobody-installed"), None);
    }
}
