//! Where built control planes are kept: outside the checkout, by version.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The environment variable that overrides the place.
const OVERRIDE: &str = "INFORMERS_CACHE_DIR";

/// A lock other runs wait for; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// The cache folder of this machine.
pub(super) fn folder() -> Result<PathBuf> {
    choose(|name| env::var_os(name))
        .context("no folder for the cache: set INFORMERS_CACHE_DIR or HOME")
}

/// The platform's rule for cache folders over the given environment.
fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = set(OVERRIDE) {
        return Some(folder);
    }
    let platform = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
    };
    Some(platform?.join("informers"))
}

/// Waits until no other run holds `folder`, and says so once if it has to.
pub(super) fn lock(folder: &Path) -> Result<Lock> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        println!(
            "waiting for another run that builds in {}",
            folder.display()
        );
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(Lock { _file: file })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Option<PathBuf> {
        choose(|name| {
            variables
                .iter()
                .find(|(other, _)| *other == name)
                .map(|(_, value)| value.into())
        })
    }

    #[test]
    fn override_wins_over_the_platform() {
        let variables = [
            (OVERRIDE, "mine"),
            ("HOME", "home"),
            ("LOCALAPPDATA", "local"),
        ];
        assert_eq!(chosen(&variables), Some("mine".into()));
    }

    #[test]
    fn folder_without_any_variable_is_none() {
        assert_eq!(chosen(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_follows_xdg_and_falls_back_to_home() {
        assert_eq!(
            chosen(&[("XDG_CACHE_HOME", "xdg"), ("HOME", "home")]),
            Some("xdg/informers".into())
        );
        assert_eq!(
            chosen(&[("XDG_CACHE_HOME", ""), ("HOME", "home")]),
            Some("home/.cache/informers".into())
        );
    }

    #[test]
    fn lock_keeps_a_second_holder_out_until_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let held = lock(folder.path()).expect("the lock is free");
        let other = File::open(folder.path().join("lock")).expect("the file is there");
        assert!(other.try_lock().is_err());
        drop(held);
        assert!(other.try_lock().is_ok());
    }
}
