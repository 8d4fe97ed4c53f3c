//! What the figures depend on: the machine and the versions.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell;

/// Lines of name and value.
pub(super) fn describe(root: &Path) -> Result<Vec<(String, String)>> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = field(&cpus, "model name").unwrap_or("unknown");
    let threads = std::thread::available_parallelism()?;
    let memory = read("/proc/meminfo");
    let memory = field(&memory, "MemTotal").unwrap_or("unknown");
    let text =
        |command: &mut Command| -> Result<String> { Ok(shell::read(command)?.trim().to_owned()) };
    let commit =
        text(
            Command::new("git")
                .current_dir(root)
                .args(["rev-parse", "--short", "HEAD"]),
        )?;
    let go_mod = fs::read_to_string(root.join("benches/peers/go.mod"))?;
    let client_go = go_mod
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/client-go "));
    let lock = fs::read_to_string(root.join("benches/peers/kubers/Cargo.lock"))?;
    let lines = [
        ("processor", format!("{threads} × {model}")),
        ("memory", memory.to_owned()),
        (
            "kernel",
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
        ("informers", format!("commit {commit}")),
        ("client-go", client_go.unwrap_or("unknown").to_owned()),
        (
            "kube-rs",
            locked(&lock, "kube").unwrap_or("unknown").to_owned(),
        ),
        ("Rust", text(Command::new("rustc").arg("--version"))?),
        ("Go", text(Command::new("go").arg("version"))?),
    ];
    Ok(lines
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

/// The value behind the first `name :` of a file in `/proc`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The version of a package in a lock file.
fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    version.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::{field, locked};

    #[test]
    fn field_is_what_stands_behind_the_colon() {
        let text = "processor\t: 0\nmodel name\t: A CPU\n";
        assert_eq!(field(text, "model name"), Some("A CPU"));
        assert_eq!(field(text, "flags"), None);
    }

    #[test]
    fn locked_version_is_that_of_the_package_by_its_whole_name() {
        let lock = "[[package]]\nname = \"kube-core\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"kube\"\nversion = \"5.0.0\"\n";
        assert_eq!(locked(lock, "kube"), Some("5.0.0"));
        assert_eq!(locked(lock, "none"), None);
    }
}
