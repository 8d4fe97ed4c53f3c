//! What may be said with a call.

use bytes::Bytes;
use informers_reflector::Error;
use serde::Serialize;

use super::to_json;
use crate::request::Request;

/// Which objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Label selector; empty for all.
    pub labels: String,
    /// Field selector; empty for all.
    pub fields: String,
    /// Objects per request of a list; `None` asks for all at once.
    pub page_size: Option<u32>,
}

/// What may be said with a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who owns the fields that are set; required for server-side apply.
    pub field_manager: Option<String>,
    /// Server-side apply: takes fields over from other managers.
    pub force: bool,
    /// Everything but the storing.
    pub dry_run: bool,
    /// `fieldValidation`: `Ignore`, `Warn` or `Strict`.
    pub field_validation: Option<String>,
}

/// What may be said with a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Grace period, in seconds; 0 deletes at once, `None` is the object's own.
    pub grace_period_seconds: Option<u32>,
    /// What becomes of the objects that this one owns.
    pub propagation: Option<Propagation>,
    /// Only the object with this UID.
    pub uid: Option<String>,
    /// Only this version of the object.
    pub resource_version: Option<String>,
    /// Everything but the deletion.
    pub dry_run: bool,
}

/// What becomes of the objects that a deleted object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// They stay.
    Orphan,
    /// They are deleted afterwards.
    Background,
    /// They are deleted before.
    Foreground,
}

impl WriteOptions {
    pub(super) fn add_to(&self, request: &mut Request) {
        if let Some(manager) = &self.field_manager {
            request.push_query("fieldManager", manager);
        }
        if let Some(validation) = &self.field_validation {
            request.push_query("fieldValidation", validation);
        }
        if self.dry_run {
            request.push_query("dryRun", "All");
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: &'static str,
    api_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    propagation_policy: Option<Propagation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditions: Option<Preconditions<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    dry_run: &'static [&'static str],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preconditions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}

impl DeleteOptions {
    pub(super) fn body(&self) -> Result<Bytes, Error> {
        let conditional = self.uid.is_some() || self.resource_version.is_some();
        to_json(&Body {
            kind: "DeleteOptions",
            api_version: "v1",
            grace_period_seconds: self.grace_period_seconds,
            propagation_policy: self.propagation,
            preconditions: conditional.then_some(Preconditions {
                uid: self.uid.as_deref(),
                resource_version: self.resource_version.as_deref(),
            }),
            dry_run: if self.dry_run { &["All"] } else { &[] },
        })
    }
}
