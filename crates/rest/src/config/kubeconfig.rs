//! [`Kubeconfig`]: the files that kubectl reads, found, parsed and merged.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{Config, ConfigError, Environment, Fields};

/// One or several kubeconfig files, merged as kubectl does: the first file that names a
/// cluster, user or context has it whole, and the first `current-context` counts.
///
/// Loading is lenient: `null` is the same as absent, unknown fields are ignored, and
/// entries are looked into only when [`config`](Self::config) chooses them.
///
/// # Upstream
/// `clientcmdapi.Config` with `clientcmd.ClientConfigLoadingRules`.
#[doc(alias = "ClientConfigLoadingRules")]
#[derive(Clone, Default)]
pub struct Kubeconfig {
    current_context: Option<String>,
    pub(super) clusters: Vec<Entry>,
    pub(super) users: Vec<Entry>,
    contexts: Vec<Entry>,
}

/// What to use instead of what the kubeconfig's current context says.
///
/// # Upstream
/// `clientcmd.ConfigOverrides`.
#[doc(alias = "ConfigOverrides")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Another context (`--context`).
    pub context: Option<String>,
    /// Another cluster than the context's (`--cluster`).
    pub cluster: Option<String>,
    /// Another user than the context's (`--user`).
    pub user: Option<String>,
    /// Another namespace than the context's (`--namespace`).
    pub namespace: Option<String>,
}

/// A named entry, not looked into yet.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    value: Value,
    directory: Option<Arc<Path>>,
    /// Named twice in one file.
    ambiguous: bool,
}

/// What a context refers to.
pub(super) struct Context {
    pub(super) cluster: String,
    pub(super) user: Option<String>,
    pub(super) namespace: Option<String>,
}

impl Kubeconfig {
    /// The files that kubectl would read: those of `KUBECONFIG`, else
    /// `~/.kube/config`. Files that are missing are skipped; the answer may be empty.
    ///
    /// # Errors
    /// If a file is there and cannot be read or parsed.
    pub fn load() -> Result<Self, ConfigError> {
        Self::load_of(&Environment::process())
    }

    pub(crate) fn load_of(environment: &Environment) -> Result<Self, ConfigError> {
        if let Some(list) = environment.var_os("KUBECONFIG") {
            return Self::load_list(&list);
        }
        match &environment.home {
            Some(home) => Self::load_list(home.join(".kube").join("config").as_os_str()),
            None => Ok(Self::default()),
        }
    }

    /// A list of files as `KUBECONFIG` holds it, separated by `:` (on Windows, `;`).
    fn load_list(list: &OsStr) -> Result<Self, ConfigError> {
        let mut merged = Self::default();
        for path in std::env::split_paths(list) {
            if path.as_os_str().is_empty() {
                continue;
            }
            match std::fs::read(&path) {
                Ok(bytes) => merged.merge(Self::parse(&bytes, Some(&path))?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tracing::debug!(path = %path.display(), "kubeconfig file is missing, skipped");
                }
                Err(error) => return Err(unreadable(&path, error)),
            }
        }
        Ok(merged)
    }

    /// One file, which must be there (`--kubeconfig`). Relative paths in it begin at its
    /// own directory.
    ///
    /// # Errors
    /// If it cannot be read or parsed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
        Self::parse(&bytes, Some(path))
    }

    /// Kubeconfig text, YAML or JSON. Relative paths in it begin at the working
    /// directory.
    ///
    /// # Errors
    /// If it is neither.
    #[doc(alias = "NewClientConfigFromBytes")]
    pub fn from_text(text: impl AsRef<[u8]>) -> Result<Self, ConfigError> {
        Self::parse(text.as_ref(), None)
    }

    /// Adds another file's entries after this one's: what is named here already, stays.
    pub fn merge(&mut self, other: Self) {
        if self.current_context.is_none() {
            self.current_context = other.current_context;
        }
        add_absent(&mut self.clusters, other.clusters);
        add_absent(&mut self.users, other.users);
        add_absent(&mut self.contexts, other.contexts);
    }

    /// Whether there is no entry at all.
    pub fn is_empty(&self) -> bool {
        self.current_context.is_none()
            && self.clusters.is_empty()
            && self.users.is_empty()
            && self.contexts.is_empty()
    }

    /// The context that is used when none is asked for.
    pub fn current_context(&self) -> Option<&str> {
        self.current_context.as_deref()
    }

    /// The names of the contexts, in file order.
    pub fn context_names(&self) -> impl Iterator<Item = &str> {
        self.contexts.iter().map(|entry| entry.name.as_str())
    }

    /// The configuration of the current context, or of that in `overrides`.
    ///
    /// # Errors
    /// If there is no such context, or it lacks or misstates something. Other contexts
    /// may be as broken as they like.
    #[doc(alias = "ClientConfig")]
    pub fn config(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        super::resolve::resolve(self, overrides)
    }

    /// The context that `overrides` and the file choose.
    pub(super) fn choose(&self, overrides: &Overrides) -> Result<Context, ConfigError> {
        let chosen = overrides.context.as_deref().or(self.current_context());
        let mut context = match chosen {
            Some(name) => self.context(name)?,
            // kubectl does with a cluster alone.
            None if overrides.cluster.is_some() => Context {
                cluster: String::new(),
                user: None,
                namespace: None,
            },
            None => return Err(self.no_current_context()),
        };
        if let Some(cluster) = &overrides.cluster {
            context.cluster.clone_from(cluster);
        }
        if overrides.user.is_some() {
            context.user.clone_from(&overrides.user);
        }
        if overrides.namespace.is_some() {
            context.namespace.clone_from(&overrides.namespace);
        }
        Ok(context)
    }

    fn context(&self, name: &str) -> Result<Context, ConfigError> {
        let place = format!("contexts[{name}]");
        let Some(entry) = find(&self.contexts, name, &place)? else {
            let field = "current-context";
            let problem = format!("context {name:?} does not exist; {}", self.known_contexts());
            return Err(ConfigError::new(field, problem));
        };
        let read = || -> Result<Context, ConfigError> {
            let fields = entry.fields()?;
            Ok(Context {
                cluster: fields.string("cluster")?.unwrap_or_default().to_owned(),
                user: fields.string("user")?.map(str::to_owned),
                namespace: fields.string("namespace")?.map(str::to_owned),
            })
        };
        read().map_err(|error| error.within(&place))
    }

    fn no_current_context(&self) -> ConfigError {
        let problem = format!("is not set; {}", self.known_contexts());
        ConfigError::new("current-context", problem)
    }

    fn known_contexts(&self) -> String {
        let names: Vec<&str> = self.context_names().collect();
        if names.is_empty() {
            "there are no contexts".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        }
    }

    fn parse(bytes: &[u8], path: Option<&Path>) -> Result<Self, ConfigError> {
        let place = path.map_or_else(
            || "kubeconfig".to_owned(),
            |path| format!("kubeconfig {}", path.display()),
        );
        Self::parse_at(bytes, path).map_err(|error| error.within(&place))
    }

    fn parse_at(bytes: &[u8], path: Option<&Path>) -> Result<Self, ConfigError> {
        let directory = match path {
            None => None,
            Some(path) => Some(directory_of(path)?),
        };
        let root = parse_document(bytes)?;
        let fields = Fields::of(&root, directory.as_deref())?;
        if let Some(kind) = fields.string("kind")?.filter(|kind| *kind != "Config") {
            return Err(ConfigError::new(
                "kind",
                format!("should be Config, is {kind:?}"),
            ));
        }
        if let Some(version) = fields
            .string("apiVersion")?
            .filter(|version| *version != "v1")
        {
            let problem = format!("should be v1, is {version:?}");
            return Err(ConfigError::new("apiVersion", problem));
        }
        let entries = |list: &str, item: &str| -> Result<Vec<Entry>, ConfigError> {
            Ok(named(fields.list(list)?, item, directory.as_ref()))
        };
        Ok(Self {
            current_context: fields.string("current-context")?.map(str::to_owned),
            clusters: entries("clusters", "cluster")?,
            users: entries("users", "user")?,
            contexts: entries("contexts", "context")?,
        })
    }
}

impl Entry {
    pub(super) fn fields(&self) -> Result<Fields<'_>, ConfigError> {
        Fields::of(&self.value, self.directory.as_deref())
    }
}

/// The entry of that name.
pub(super) fn find<'a>(
    entries: &'a [Entry],
    name: &str,
    place: &str,
) -> Result<Option<&'a Entry>, ConfigError> {
    let entry = entries.iter().find(|entry| entry.name == name);
    if entry.is_some_and(|entry| entry.ambiguous) {
        return Err(ConfigError::new(place, "is there twice in one file"));
    }
    Ok(entry)
}

/// `[{name: …, <item>: {…}}, …]`. What has no name cannot be chosen.
fn named(list: &[Value], item: &str, directory: Option<&Arc<Path>>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for value in list {
        let Some(name) = value.get("name").and_then(Value::as_str) else {
            continue;
        };
        if let Some(earlier) = entries.iter_mut().find(|earlier| earlier.name == name) {
            earlier.ambiguous = true;
            continue;
        }
        entries.push(Entry {
            name: name.to_owned(),
            value: value.get(item).cloned().unwrap_or(Value::Null),
            directory: directory.cloned(),
            ambiguous: false,
        });
    }
    entries
}

fn add_absent(entries: &mut Vec<Entry>, others: Vec<Entry>) {
    for other in others {
        if !entries.iter().any(|entry| entry.name == other.name) {
            entries.push(other);
        }
    }
}

/// The absolute directory of a file.
fn directory_of(path: &Path) -> Result<Arc<Path>, ConfigError> {
    let absolute: PathBuf = std::path::absolute(path)
        .map_err(|error| ConfigError::new("", "has no absolute path").with_source(error))?;
    Ok(absolute.parent().unwrap_or(&absolute).into())
}

/// The first document of YAML or JSON text; null if there is nothing.
fn parse_document(bytes: &[u8]) -> Result<Value, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ConfigError::new("", "is not UTF-8 text").with_source(error))?;
    // JSON is YAML too, but for tabs and some escapes.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    // A context may be called `y` or `on`. Snippets of the text may show secrets.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        with_snippet: false,
    };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| ConfigError::new("", format!("is not valid YAML{}", place_of(&error))))?;
    Ok(documents.into_iter().next().unwrap_or(Value::Null))
}

/// Where a YAML error lies. Its own text may quote a secret.
fn place_of(error: &serde_saphyr::Error) -> String {
    error.location().map_or_else(String::new, |location| {
        format!(" at line {}, column {}", location.line(), location.column())
    })
}

fn unreadable(path: &Path, error: io::Error) -> ConfigError {
    let field = format!("kubeconfig {}", path.display());
    ConfigError::new(field, "cannot be read").with_source(error)
}

// By hand: the entries hold secrets.
impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn names(entries: &[Entry]) -> Vec<&str> {
            entries.iter().map(|entry| entry.name.as_str()).collect()
        }
        f.debug_struct("Kubeconfig")
            .field("current_context", &self.current_context)
            .field("clusters", &names(&self.clusters))
            .field("users", &names(&self.users))
            .field("contexts", &names(&self.contexts))
            .finish()
    }
}

#[cfg(test)]
mod tests;
