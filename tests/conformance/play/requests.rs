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

    /// A request to one path with a query of words.
    #[cfg(test)]
    pub(super) fn new(verb: &'static str, query: &str, status: u16) -> Self {
        let parameters = query.split_whitespace().filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Self {
            verb,
            path: "/api/v1/pods".to_owned(),
            parameters: parameters.collect(),
            status: Some(status),
        }
    }

    fn version(&self) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters
            .find(|(name, _)| name == "resourceVersion")
            .map(|(_, value)| value.as_str())
    }

    /// Whether a further page is asked for.
    pub(super) fn continues(&self) -> bool {
        self.parameters.iter().any(|(name, _)| name == "continue")
    }

    pub(super) fn is_good_list_at_a_version(&self) -> bool {
        let at_a_version = self.version().is_some_and(|version| version != "0");
        self.verb == "list" && self.status == Some(200) && at_a_version
    }

    pub(super) fn is_list_of_the_newest_state(&self) -> bool {
        self.verb == "list" && self.version().is_none() && !self.continues()
    }

    /// Whether the answer may have carried Retry-After.
    pub(super) fn asks_to_come_back(&self) -> bool {
        self.status.is_some_and(|code| code == 429 || code >= 500)
    }

    /// Whether the same is asked, whatever was answered.
    pub(super) fn is_the_same_question_as(&self, other: &Self) -> bool {
        self.verb == other.verb && self.path == other.path && self.parameters == other.parameters
    }

    pub(super) fn without_limit(&self) -> Self {
        let mut without = self.clone();
        without.parameters.retain(|(name, _)| name != "limit");
        without
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
