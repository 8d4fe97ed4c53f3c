//! A stored object: its bytes, laid out so that each representation is a slice of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::resource::Resource;

/// Namespace (empty for cluster-scoped objects) and name, in the order of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectKey {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// One version of an object, never changed.
///
/// # Invariants
///
/// `rest` is `"metadata":{…},"spec":…}`: the object without its opening brace, kind and
/// apiVersion. `{` + type + `rest` is the object, `{` + `rest` an item of a list, and
/// `rest[..metadata_end]` its metadata alone.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) revision: u64,
    pub(crate) created: Option<Timestamp>,
    pub(crate) labels: BTreeMap<String, String>,
    node_name: Option<String>,
    phase: Option<String>,
    rest: Bytes,
    metadata_end: usize,
}

impl Stored {
    /// Encodes an object whose metadata is complete.
    pub(crate) fn encode(object: &Map<String, Value>) -> Self {
        let empty = Value::Null;
        let metadata = object.get("metadata").unwrap_or(&empty);
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let pointer = |a: &str, b: &str| Some(object.get(a)?.get(b)?.as_str()?.to_owned());
        let labels = metadata["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
            .collect();
        let mut rest = format!("\"metadata\":{metadata}");
        let metadata_end = rest.len();
        for (field, value) in object {
            if !matches!(field.as_str(), "kind" | "apiVersion" | "metadata") {
                rest.push(',');
                rest.push_str(&Value::from(field.as_str()).to_string());
                rest.push(':');
                rest.push_str(&value.to_string());
            }
        }
        rest.push('}');
        Self {
            key: ObjectKey::new(text("namespace"), text("name")),
            uid: text("uid").to_owned(),
            revision: text("resourceVersion").parse().unwrap_or_default(),
            created: text("creationTimestamp").parse().ok(),
            labels,
            node_name: pointer("spec", "nodeName"),
            phase: pointer("status", "phase"),
            rest: rest.into(),
            metadata_end,
        }
    }

    /// Appends the whole object.
    pub(crate) fn write_object(&self, resource: &Resource, out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(resource.type_meta.as_bytes());
        out.extend_from_slice(&self.rest);
    }

    /// Appends the object as an item of a list of its own kind.
    pub(crate) fn write_item(&self, resource: &Resource, out: &mut Vec<u8>) {
        if resource.items_carry_type() {
            self.write_object(resource, out);
        } else {
            out.push(b'{');
            out.extend_from_slice(&self.rest);
        }
    }

    /// Appends the object as a `PartialObjectMetadata`.
    pub(crate) fn write_metadata(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",",
        );
        out.extend_from_slice(&self.rest[..self.metadata_end]);
        out.push(b'}');
    }

    /// Length of the encoded object without its type, in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        self.rest.len()
    }

    /// The object as a JSON value.
    pub(crate) fn to_value(&self, resource: &Resource) -> Value {
        let mut bytes = Vec::with_capacity(self.rest.len() + 64);
        self.write_object(resource, &mut bytes);
        serde_json::from_slice(&bytes).expect("rest holds what serde_json wrote")
    }

    /// The value of a field selector's path, empty when absent.
    pub(crate) fn field(&self, path: &str) -> String {
        match path {
            "metadata.name" => self.key.name.clone(),
            "metadata.namespace" => self.key.namespace.clone(),
            "spec.nodeName" => self.node_name.clone().unwrap_or_default(),
            "status.phase" => self.phase.clone().unwrap_or_default(),
            _ => self.parsed_field(path),
        }
    }

    fn parsed_field(&self, path: &str) -> String {
        let text = [b"{", &self.rest[..]].concat();
        let value: Value = serde_json::from_slice(&text).expect("rest holds what serde_json wrote");
        // An event's `source` is a structure; the selector means its component.
        let path = if path == "source" {
            "source.component"
        } else {
            path
        };
        match value.pointer(&format!("/{}", path.replace('.', "/"))) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        }
    }

    /// STATUS column of a table: the phase.
    pub(crate) fn phase(&self) -> Option<&str> {
        self.phase.as_deref()
    }
}
