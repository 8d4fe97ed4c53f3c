//! [`Fields`]: lenient, typed access to one mapping of a kubeconfig file.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::ConfigError;

/// One mapping of a kubeconfig file. Absent, `null` and empty are the same; unknown
/// fields are not looked at; a field of the wrong type is an error when it is asked
/// for.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    /// Where relative paths of this mapping begin.
    directory: Option<&'a Path>,
}

impl<'a> Fields<'a> {
    /// `value` must be a mapping or null.
    pub(crate) fn of(value: &'a Value, directory: Option<&'a Path>) -> Result<Self, ConfigError> {
        match value {
            Value::Null => Ok(Self {
                map: None,
                directory,
            }),
            Value::Object(map) => Ok(Self {
                map: Some(map),
                directory,
            }),
            other => Err(mismatch("", "a mapping", other)),
        }
    }

    fn value(self, key: &str) -> Option<&'a Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    /// Text; `None` if absent or empty.
    pub(crate) fn string(self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(mismatch(key, "a string (quote it)", other)),
        }
    }

    /// A switch; `false` if absent. YAML 1.1 spellings count.
    pub(crate) fn bool(self, key: &str) -> Result<bool, ConfigError> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            Some(Value::String(text)) => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "y" => Ok(true),
                "" | "false" | "no" | "off" | "n" => Ok(false),
                _ => Err(ConfigError::new(key, "is neither true nor false")),
            },
            Some(other) => Err(mismatch(key, "true or false", other)),
        }
    }

    /// Base64; `None` if absent or empty.
    pub(crate) fn data(self, key: &str) -> Result<Option<Vec<u8>>, ConfigError> {
        let Some(text) = self.string(key)? else {
            return Ok(None);
        };
        let text: String = text.split_ascii_whitespace().collect();
        match BASE64_STANDARD.decode(text) {
            Ok(data) if data.is_empty() => Ok(None),
            Ok(data) => Ok(Some(data)),
            Err(error) => Err(ConfigError::new(key, "is not valid base64").with_source(error)),
        }
    }

    /// A path, relative ones resolved against the file's own directory.
    pub(crate) fn path(self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        Ok(self.string(key)?.map(|path| self.resolve(Path::new(path))))
    }

    /// `path`, resolved against the file's own directory if it is relative.
    pub(crate) fn resolve(self, path: &Path) -> PathBuf {
        match self.directory {
            Some(directory) if path.is_relative() => directory.join(path),
            _ => path.to_owned(),
        }
    }

    /// A list of text.
    pub(crate) fn strings(self, key: &str) -> Result<Vec<String>, ConfigError> {
        let mut strings = Vec::new();
        for value in self.list(key)? {
            match value {
                Value::String(text) => strings.push(text.clone()),
                Value::Null => strings.push(String::new()),
                other => return Err(mismatch(key, "strings (quote them)", other)),
            }
        }
        Ok(strings)
    }

    /// A list of anything; empty if absent.
    pub(crate) fn list(self, key: &str) -> Result<&'a [Value], ConfigError> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(other) => Err(mismatch(key, "a list", other)),
        }
    }

    /// A mapping inside this one.
    pub(crate) fn fields(self, key: &str) -> Result<Option<Fields<'a>>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => Fields::of(value, self.directory)
                .map(Some)
                .map_err(|error| error.within(key)),
        }
    }

    /// The keys of this mapping.
    pub(crate) fn keys(self) -> impl Iterator<Item = &'a str> {
        self.map.into_iter().flatten().map(|(key, _)| key.as_str())
    }
}

fn mismatch(key: &str, wanted: &str, found: &Value) -> ConfigError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    };
    ConfigError::new(key, format!("should be {wanted}, is {found}"))
}
