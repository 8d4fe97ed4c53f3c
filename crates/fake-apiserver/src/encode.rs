//! Objects, events and tables as bytes.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::Stored;
use crate::options::Shape;
use crate::resource::Resource;

/// Appends an object in the wanted form.
pub(crate) fn write_object(resource: &Resource, object: &Stored, shape: Shape, out: &mut Vec<u8>) {
    match shape {
        Shape::Object => object.write_object(resource, out),
        Shape::Metadata => object.write_metadata(out),
        Shape::Table => {
            write_table_head(resource, object.revision, out);
            write_row(resource, object, out);
            out.extend_from_slice(b"]}");
        }
    }
}

/// Appends an object in the wanted form as an element of a list in that form.
pub(crate) fn write_item(resource: &Resource, object: &Stored, shape: Shape, out: &mut Vec<u8>) {
    match shape {
        Shape::Object => object.write_item(resource, out),
        Shape::Metadata => object.write_metadata(out),
        Shape::Table => write_row(resource, object, out),
    }
}

/// Appends one line of a watch.
pub(crate) fn write_event(
    resource: &Resource,
    event_type: &str,
    object: &Stored,
    shape: Shape,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event_type.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    write_object(resource, object, shape, out);
    out.extend_from_slice(b"}\n");
}

/// Appends a line of a watch with any object.
pub(crate) fn write_value_event(event_type: &str, object: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(
        json!({"type": event_type, "object": object})
            .to_string()
            .as_bytes(),
    );
    out.push(b'\n');
}

/// Appends a bookmark.
pub(crate) fn write_bookmark(
    resource: &Resource,
    revision: u64,
    shape: Shape,
    initial_end: bool,
    out: &mut Vec<u8>,
) {
    let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
    if initial_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object = match shape {
        Shape::Object if resource.is("", "pods") => json!({
            "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": null}, "status": {},
        }),
        Shape::Object => {
            json!({"kind": resource.ty.kind, "apiVersion": resource.ty.api_version(), "metadata": metadata})
        }
        Shape::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        }
        Shape::Table => {
            let row = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
            let columns = columns(resource);
            let cells = vec![""; columns.as_array().map_or(0, Vec::len)];
            json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": revision.to_string()},
                "columnDefinitions": columns,
                "rows": [{"cells": cells, "object": row}],
            })
        }
    };
    write_value_event("BOOKMARK", &object, out);
}

/// What stands before the items of a list.
pub(crate) fn write_list_head(
    resource: &Resource,
    metadata: &Value,
    shape: Shape,
    out: &mut Vec<u8>,
) {
    let head = match shape {
        Shape::Object => {
            let (kind, version) = (
                json!(format!("{}List", resource.ty.kind)),
                json!(resource.ty.api_version()),
            );
            format!(
                "{{\"kind\":{kind},\"apiVersion\":{version},\"metadata\":{metadata},\"items\":["
            )
        }
        Shape::Metadata => format!(
            "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{metadata},\"items\":["
        ),
        Shape::Table => table_head(resource, metadata),
    };
    out.extend_from_slice(head.as_bytes());
}

fn write_table_head(resource: &Resource, revision: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(
        table_head(resource, &json!({"resourceVersion": revision.to_string()})).as_bytes(),
    );
}

fn table_head(resource: &Resource, metadata: &Value) -> String {
    let columns = columns(resource);
    format!(
        "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{metadata},\"columnDefinitions\":{columns},\"rows\":["
    )
}

fn has_phase(resource: &Resource) -> bool {
    resource.ty.group.is_empty()
        && matches!(
            resource.ty.plural.as_str(),
            "pods" | "namespaces" | "persistentvolumes" | "persistentvolumeclaims"
        )
}

fn columns(resource: &Resource) -> Value {
    let column = |name: &str, kind: &str, format: &str, what: &str| json!({"name": name, "type": kind, "format": format, "description": what, "priority": 0});
    let mut columns = vec![column("Name", "string", "name", "name of the object")];
    if has_phase(resource) {
        columns.push(column("Status", "string", "", "phase of the object"));
    }
    columns.push(column(
        "Age",
        "string",
        "",
        "time since the object was created",
    ));
    columns.into()
}

fn write_row(resource: &Resource, object: &Stored, out: &mut Vec<u8>) {
    let age = object.created.map_or_else(
        || "<unknown>".to_owned(),
        |created| age(Timestamp::now(), created),
    );
    let cells = if has_phase(resource) {
        json!([object.key.name, object.phase().unwrap_or("Unknown"), age])
    } else {
        json!([object.key.name, age])
    };
    out.extend_from_slice(format!("{{\"cells\":{cells},\"object\":").as_bytes());
    object.write_metadata(out);
    out.push(b'}');
}

/// A duration as kubectl shows ages: the largest unit, with the next one while it is small.
fn age(now: Timestamp, created: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(created.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => format!("{minutes}m{}s", seconds % 60),
        600..10800 => format!("{minutes}m"),
        10800..28800 => format!("{hours}h{}m", minutes % 60),
        28800..172_800 => format!("{hours}h"),
        _ => format!("{days}d"),
    }
}
