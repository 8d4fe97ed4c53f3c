//! [`Patch`]: a change, in one of the forms that the server takes.

use std::fmt;

use bytes::Bytes;
use http::{HeaderValue, Method};
use informers_reflector::Error;
use serde::Serialize;

use super::{WriteOptions, to_json};
use crate::request::Request;

/// A change of an object.
#[derive(Clone)]
pub struct Patch {
    form: Form,
    body: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Merge,
    Json,
    Strategic,
    Apply,
}

impl Patch {
    /// JSON merge patch (RFC 7386): what is given replaces what is there, `null` removes.
    ///
    /// # Errors
    /// If the value does not serialize.
    #[doc(alias = "MergePatchType")]
    pub fn merge(change: &impl Serialize) -> Result<Self, Error> {
        Self::of(Form::Merge, change)
    }

    /// JSON patch (RFC 6902): a list of operations.
    ///
    /// # Errors
    /// If the value does not serialize.
    #[doc(alias = "JSONPatchType")]
    pub fn json(operations: &impl Serialize) -> Result<Self, Error> {
        Self::of(Form::Json, operations)
    }

    /// Strategic merge patch: lists are merged by their keys. Built-in types only.
    ///
    /// # Errors
    /// If the value does not serialize.
    #[doc(alias = "StrategicMergePatchType")]
    pub fn strategic(change: &impl Serialize) -> Result<Self, Error> {
        Self::of(Form::Strategic, change)
    }

    /// Server-side apply: the fields that the manager named in the options wants to own.
    ///
    /// # Errors
    /// If the value does not serialize.
    #[doc(alias = "ApplyPatchType")]
    pub fn apply(fields: &impl Serialize) -> Result<Self, Error> {
        Self::of(Form::Apply, fields)
    }

    fn of(form: Form, value: &impl Serialize) -> Result<Self, Error> {
        Ok(Self {
            form,
            body: to_json(value)?,
        })
    }

    pub(super) fn request(&self, path: String, options: &WriteOptions) -> Request {
        let media_type = match self.form {
            Form::Merge => "application/merge-patch+json",
            Form::Json => "application/json-patch+json",
            Form::Strategic => "application/strategic-merge-patch+json",
            // Every JSON text is YAML, and servers before 1.33 know no other name.
            Form::Apply => "application/apply-patch+yaml",
        };
        let media_type = HeaderValue::from_static(media_type);
        let mut request = Request::new(Method::PATCH, path).body(media_type, self.body.clone());
        options.add_to(&mut request);
        if options.force && self.form == Form::Apply {
            request.push_query("force", "true");
        }
        request
    }
}

// By hand: the change may be of a Secret.
impl fmt::Debug for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({} bytes)", self.form, self.body.len())
    }
}
