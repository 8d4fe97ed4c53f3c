//! [`ConfigError`]: which field of the configuration is at fault, and why.

use std::error::Error as StdError;
use std::fmt;

type BoxError = Box<dyn StdError + Send + Sync>;

/// A configuration that no client can be made of.
///
/// The text names the field, in the words of the kubeconfig file, and what is wrong
/// with it; never its value where that is a secret. The cause, such as an IO error, is
/// in [`source`](StdError::source).
#[derive(Debug)]
pub struct ConfigError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    field: String,
    problem: String,
    source: Option<BoxError>,
    nothing_configured: bool,
}

impl ConfigError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            field: field.into(),
            problem: problem.into(),
            source: None,
            nothing_configured: false,
        }))
    }

    pub(crate) fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Neither a kubeconfig nor a cluster around this process.
    pub(crate) fn nothing_configured(problem: impl Into<String>) -> Self {
        let mut error = Self::new("", problem);
        error.0.nothing_configured = true;
        error
    }

    /// Puts a file, or an entry of a list, before the name of the field.
    pub(crate) fn within(mut self, place: &str) -> Self {
        let field = &mut self.0.field;
        if field.is_empty() {
            place.clone_into(field);
        } else {
            *field = format!("{place}.{field}");
        }
        self
    }

    /// The field at fault, such as `users[jane].client-key`; empty if it is not about
    /// one field.
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// Whether there is no configuration at all: no kubeconfig file, and this process
    /// does not run in a cluster.
    #[doc(alias = "IsEmptyConfig")]
    pub fn is_nothing_configured(&self) -> bool {
        self.0.nothing_configured
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.field.is_empty() {
            write!(f, "{}: ", self.0.field)?;
        }
        f.write_str(&self.0.problem)
    }
}

impl StdError for ConfigError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}
