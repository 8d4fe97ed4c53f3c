//! [`Request`]: a request as far as both informers should send the same.

use std::fmt;

use informers_fake_apiserver::{RequestRecord, Verb};

/// A request without what is drawn by chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) verb: &'static str,
    path: String,
    /// Name and value of each parameter, but for timeouts and tokens, which are `set`.
    parameters: Vec<(String, String)>,
    pub(super) status: Option<u16>,
}

/// The word of scripts for what a request does.
pub(super) fn verb(request: &RequestRecord) -> &'static str {
    match request.verb {
        Verb::List => "list",
        Verb::Watch => "watch",
        Verb::WatchList => "watchlist",
        _ => "other",
    }
}

impl Request {
    pub(super) fn of(request: &RequestRecord) -> Self {
        let parameters = request.query.iter().filter_map(|(name, value)| {
            let value = match name.as_str() {
                _ if value.is_empty() => return None,
                // Said twice by client-go's REST client; API servers read the other one.
                "timeout" => return None,
                "timeoutSeconds" | "continue" => "set",
                // A flag may be spelt in several ways.
                _ if value == "1" => "true",
                _ => value.as_str(),
            };
            Some((name.clone(), value.to_owned()))
        });
        Self {
            verb: verb(request),
            path: request.path.clone(),
            parameters: parameters.collect(),
            status: request.status,
        }
    }

    /// With versions as what they are: none, 0, or one.
    pub(super) fn loosely(&self) -> Self {
        let mut loose = self.clone();
        for (name, value) in &mut loose.parameters {
            if name == "resourceVersion" && value != "0" {
                "N".clone_into(value);
            }
        }
        loose
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("-".to_owned(), |code| code.to_string());
        write!(f, "{status} {} {}", self.verb, self.path)?;
        for (name, value) in &self.parameters {
            if name != "watch" {
                write!(f, " {name}={value}")?;
            }
        }
        Ok(())
    }
}
