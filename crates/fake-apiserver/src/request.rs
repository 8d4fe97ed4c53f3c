//! What a request asks for, and the log of requests.

mod log;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use self::log::RequestLog;
pub use self::log::WaitTimeout;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// GET of a collection.
    List,
    /// A watch without `sendInitialEvents`.
    Watch,
    /// A watch with `sendInitialEvents=true`.
    #[serde(alias = "watchlist")]
    WatchList,
    /// GET of one object.
    Get,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// Discovery, health, version and everything else.
    Other,
}

/// One request the server received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestRecord {
    /// Number of this request, counted from 0.
    pub index: u64,
    /// HTTP method.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Query parameters, decoded; of repeated ones the first.
    pub query: BTreeMap<String, String>,
    /// What the request does.
    pub verb: Verb,
    /// Plural of the resource, where the path names one.
    pub plural: Option<String>,
    /// Namespace, where the path names one.
    pub namespace: Option<String>,
    /// Time between the server's start and this request.
    #[serde(rename = "atSeconds", serialize_with = "seconds")]
    pub at: Duration,
    /// HTTP status of the answer; `None` while there is none.
    pub status: Option<u16>,
    /// The client's User-Agent header.
    pub user_agent: String,
}

impl RequestRecord {
    /// A query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Whether this is a watch of either kind.
    pub fn is_watch(&self) -> bool {
        matches!(self.verb, Verb::Watch | Verb::WatchList)
    }
}

fn seconds<S: serde::Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}

/// A path below `/api` or `/apis` that names a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let segments: Vec<String> = path.trim_matches('/').split('/').map(decode).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // The namespace itself and its own subresources are core resources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
                (None, rest)
            }
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                (Some((*namespace).to_owned()), rest)
            }
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return None,
        };
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace,
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        })
    }
}

/// The verb of a request, as the API server's authorization would name it.
pub(crate) fn verb_of(
    method: &str,
    target: Option<&Target>,
    query: &BTreeMap<String, String>,
) -> Verb {
    let Some(target) = target else {
        return Verb::Other;
    };
    let flag = |name: &str| query.get(name).is_some_and(|v| is_true(v));
    match (method, &target.name) {
        ("GET", _) if flag("watch") && target.subresource.is_none() => {
            if flag("sendInitialEvents") {
                Verb::WatchList
            } else {
                Verb::Watch
            }
        }
        ("GET", None) => Verb::List,
        ("GET", Some(_)) => Verb::Get,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", Some(_)) => Verb::Delete,
        ("DELETE", None) => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

/// How the API reads a flag: present means set, unless it says otherwise.
pub(crate) fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "f")
}

pub(crate) fn parse_query(query: &str) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    for pair in query.split('&').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| decode(&text.replace('+', " "));
        parameters
            .entry(plain(name))
            .or_insert_with(|| plain(value));
    }
    parameters
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |c: u8| {
            char::from(c)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        if let (b'%', [high, low, after @ ..]) = (first, tail)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.push(high * 16 + low);
            rest = after;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
