//! The providers that start nothing: an existing cluster, and the server in the test program.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::{ControlPlane, Options, suite};

/// A cluster someone else runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Existing {
    /// A path, or a list of paths as `KUBECONFIG` may hold.
    kubeconfig: OsString,
    context: Option<String>,
}

/// The fake API server, which the test program starts itself.
pub(super) struct Embedded;

impl Existing {
    /// The kubeconfig of the options, else of `KUBECONFIG`, else the one in the home folder.
    pub(super) fn from_options(options: &Options) -> Result<Self> {
        let kubeconfig = options.kubeconfig.clone().map(PathBuf::into_os_string);
        let Some(kubeconfig) = choose(kubeconfig, |name| env::var_os(name)) else {
            bail!("no kubeconfig: name one with --kubeconfig or KUBECONFIG");
        };
        if !env::split_paths(&kubeconfig).any(|path| path.is_file()) {
            bail!("the kubeconfig {} does not exist", kubeconfig.display());
        }
        Ok(Self {
            kubeconfig,
            context: options.context.clone(),
        })
    }
}

fn choose(
    option: Option<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<OsString> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    option
        .or_else(|| set("KUBECONFIG"))
        .or_else(|| Some(PathBuf::from(home()?).join(".kube").join("config").into()))
}

impl ControlPlane for Existing {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![(suite::KUBECONFIG, self.kubeconfig.clone())];
        if let Some(context) = &self.context {
            variables.push((suite::CONTEXT, context.into()));
        }
        variables
    }

    fn summary(&self) -> String {
        format!("kubeconfig  {}", self.kubeconfig.display())
    }

    fn stop(self: Box<Self>, _failed: bool) -> Result<()> {
        Ok(())
    }
}

impl ControlPlane for Embedded {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        Vec::new()
    }

    fn summary(&self) -> String {
        "the server runs in the test program".to_owned()
    }

    fn stop(self: Box<Self>, _failed: bool) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfig_option_wins_over_the_variable_and_that_over_the_home_folder() {
        let variable = |name: &str| match name {
            "KUBECONFIG" => Some("one".into()),
            "HOME" => Some("home".into()),
            _ => None,
        };
        let home = |name: &str| (name == "HOME").then(|| "home".into());
        assert_eq!(choose(Some("mine".into()), variable), Some("mine".into()));
        assert_eq!(choose(None, variable), Some("one".into()));
        let default = PathBuf::from("home").join(".kube").join("config");
        assert_eq!(choose(None, home), Some(default.into()));
        assert_eq!(choose(None, |_| None), None);
    }

    #[test]
    fn missing_kubeconfig_is_refused_with_its_path() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("nowhere");
        let options = Options {
            kubeconfig: Some(path.clone()),
            ..Options::binaries()
        };
        let error = Existing::from_options(&options).unwrap_err();
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}
