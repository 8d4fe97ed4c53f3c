//! [`Environment`]: what the default rules read from the process, so that tests can
//! give another one.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<OsString> + Send + Sync;

/// Variables, home directory and the place of the service account's files.
#[derive(Clone)]
pub(crate) struct Environment {
    lookup: Arc<Lookup>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) service_account: PathBuf,
}

impl Environment {
    /// That of this process.
    pub(crate) fn process() -> Self {
        Self {
            lookup: Arc::new(|name| std::env::var_os(name)),
            home: std::env::home_dir(),
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
        }
    }

    /// One that holds just these variables.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables: std::collections::HashMap<String, OsString> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
            .collect();
        Self {
            lookup: Arc::new(move |name| variables.get(name).cloned()),
            home: None,
            service_account: PathBuf::from("/nonexistent"),
        }
    }

    /// The variable's value; `None` if unset or empty.
    pub(crate) fn var_os(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }

    /// The variable's value; `None` if unset, empty or not UTF-8.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        self.var_os(name)?.into_string().ok()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("home", &self.home)
            .field("service_account", &self.service_account)
            .finish_non_exhaustive()
    }
}
