//! The options of LIST and WATCH, and the form the client wants objects in.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::object::{ObjectKey, Stored};
use crate::request::is_true;
use crate::resource::Resource;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::ApiError;

/// What `resourceVersion` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Not given.
    Unset,
    /// `0`.
    Any,
    /// This one.
    At(u64),
}

/// What `resourceVersionMatch` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// Which objects are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Filter {
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|ns| *ns == object.key.namespace)
            && (self.labels.is_empty() || self.labels.matches(&object.labels))
            && (self.fields.is_empty() || self.fields.matches(|path| object.field(path)))
    }

    pub(crate) fn has_selector(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

/// Parsed list options.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) filter: Filter,
    pub(crate) version: Version,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_from: Option<Continue>,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout: Option<Duration>,
}

impl ListOptions {
    /// Reads the query of a LIST, WATCH or deletecollection.
    pub(crate) fn parse(
        resource: &Resource,
        namespace: Option<String>,
        query: &BTreeMap<String, String>,
    ) -> Result<Self, ApiError> {
        let text = |name: &str| {
            query
                .get(name)
                .map(String::as_str)
                .filter(|v| !v.is_empty())
        };
        let filter = Filter {
            namespace,
            labels: LabelSelector::parse(text("labelSelector").unwrap_or_default())?,
            fields: FieldSelector::parse(
                text("fieldSelector").unwrap_or_default(),
                resource.selectable.as_deref(),
            )?,
        };
        let version = match text("resourceVersion") {
            None => Version::Unset,
            Some("0") => Version::Any,
            Some(rv) => Version::At(parse_version(rv)?),
        };
        let version_match = match text("resourceVersionMatch") {
            None => None,
            Some("Exact") => Some(VersionMatch::Exact),
            Some("NotOlderThan") => Some(VersionMatch::NotOlderThan),
            Some(other) => {
                let message = format!(
                    "unsupported value {other:?}: supported values: \"Exact\", \"NotOlderThan\""
                );
                return Err(ApiError::invalid_options("resourceVersionMatch", &message));
            }
        };
        let limit = match text("limit") {
            None => None,
            Some(limit) => match limit.parse::<i64>() {
                Ok(limit) => usize::try_from(limit).ok().filter(|l| *l > 0),
                Err(_) => {
                    return Err(ApiError::bad_request(format!(
                        "limit {limit:?} is not a number"
                    )));
                }
            },
        };
        let timeout = match text("timeoutSeconds") {
            None => None,
            Some(seconds) => match seconds.parse::<u64>() {
                Ok(seconds) => Some(Duration::from_secs(seconds)).filter(|t| !t.is_zero()),
                Err(_) => {
                    return Err(ApiError::bad_request(format!(
                        "timeoutSeconds {seconds:?} is not a number"
                    )));
                }
            },
        };
        Ok(Self {
            filter,
            version,
            version_match,
            limit,
            continue_from: text("continue").map(Continue::decode).transpose()?,
            bookmarks: query.get("allowWatchBookmarks").is_some_and(|v| is_true(v)),
            send_initial_events: query.get("sendInitialEvents").map(|v| is_true(v)),
            timeout,
        })
    }

    /// The combinations a LIST may not have.
    pub(crate) fn validate_list(&self) -> Result<(), ApiError> {
        if self.send_initial_events.is_some() {
            return Err(ApiError::invalid_options(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        if self.continue_from.is_some() && matches!(self.version, Version::At(_)) {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let Some(version_match) = self.version_match else {
            return Ok(());
        };
        let forbidden =
            |message: &str| Err(ApiError::invalid_options("resourceVersionMatch", message));
        if self.continue_from.is_some() {
            return forbidden("resourceVersionMatch is forbidden when continue is provided");
        }
        match (version_match, self.version) {
            (_, Version::Unset) => {
                forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
            }
            (VersionMatch::Exact, Version::Any) => {
                forbidden("resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"")
            }
            (VersionMatch::Exact | VersionMatch::NotOlderThan, _) => Ok(()),
        }
    }

    /// The combinations a WATCH may not have.
    pub(crate) fn validate_watch(&self) -> Result<(), ApiError> {
        let forbidden = |field: &str, message: &str| Err(ApiError::invalid_options(field, message));
        if self.continue_from.is_some() {
            return forbidden("continue", "continue is forbidden for watch");
        }
        match (self.send_initial_events, self.version_match) {
            (None, Some(_)) => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
            (Some(_), None | Some(VersionMatch::Exact)) => forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ),
            (Some(true), Some(VersionMatch::NotOlderThan)) if !self.bookmarks => forbidden(
                "allowWatchBookmarks",
                "sendInitialEvents requires setting allowWatchBookmarks to true",
            ),
            (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => Ok(()),
        }
    }
}

fn parse_version(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "Invalid value: {text:?}: the resource version is not a number"
        ))
    })
}

/// Where a later page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page; `None` for an inconsistent rest.
    pub(crate) revision: Option<u64>,
    /// The last key of the page before.
    pub(crate) after: ObjectKey,
}

#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

impl Continue {
    pub(crate) fn encode(&self) -> String {
        let token = Token {
            v: "meta.k8s.io/v1".to_owned(),
            rv: self
                .revision
                .and_then(|r| i64::try_from(r).ok())
                .unwrap_or(-1),
            start: format!("{}/{}", self.after.namespace, self.after.name),
        };
        let text = serde_json::to_vec(&token).expect("a token of text and numbers is JSON");
        URL_SAFE_NO_PAD.encode(text)
    }

    fn decode(text: &str) -> Result<Self, ApiError> {
        let bad = || ApiError::bad_request("continue key is not valid: unrecognized encoded data");
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|_| bad())?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| bad())?;
        let (namespace, name) = token.start.split_once('/').ok_or_else(bad)?;
        Ok(Self {
            revision: u64::try_from(token.rv).ok(),
            after: ObjectKey::new(namespace, name),
        })
    }
}

/// The 410 of a page whose revision is compacted.
pub(crate) fn expired_page(rest: Option<&Continue>) -> ApiError {
    let message = "The provided continue parameter is too old to display a consistent list result. \
                   Start a new list without it, or use the continue token in this response to get the rest, \
                   which will not be consistent with the pages before.";
    let error = ApiError::new(410, "Expired", message);
    match rest {
        Some(rest) => error.with_continue(
            Continue {
                revision: None,
                after: rest.after.clone(),
            }
            .encode(),
        ),
        None => error,
    }
}

/// The form in which objects are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    Object,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `Table`, as kubectl prints.
    Table,
}

impl Shape {
    /// The first form of an Accept header that is served.
    pub(crate) fn negotiate(accept: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Object);
        }
        accept
            .split(',')
            .find_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let media_type = parts.next()?;
                let mut wanted = None;
                let mut version = None;
                for part in parts {
                    match part.split_once('=') {
                        Some(("as", value)) => wanted = Some(value),
                        Some(("v", value)) => version = Some(value),
                        _ => {}
                    }
                }
                if !matches!(media_type, "application/json" | "*/*" | "application/*") {
                    return None;
                }
                match (wanted, version) {
                    (None, _) => Some(Self::Object),
                    (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("v1")) => {
                        Some(Self::Metadata)
                    }
                    (Some("Table"), Some("v1")) => Some(Self::Table),
                    _ => None,
                }
            })
            .ok_or_else(ApiError::not_acceptable)
    }
}
