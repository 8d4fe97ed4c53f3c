//! The four kinds of PATCH.

use serde_json::{Map, Value};

use crate::status::ApiError;

/// How a patch body is to be read, by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Kubernetes' merge with keyed lists; built-in types only.
    Strategic,
    /// Server-side apply, served as an upsert: a strategic merge onto what is there.
    Apply,
}

impl PatchKind {
    pub(crate) fn of_media_type(media_type: &str) -> Option<Self> {
        match media_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Some(Self::Merge),
            "application/json-patch+json" => Some(Self::Json),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Some(Self::Apply),
            _ => None,
        }
    }
}

/// The document with the patch applied.
///
/// # Errors
///
/// 400 for a patch that cannot be read, 422 for a JSON patch that does not fit the document.
pub(crate) fn apply(
    kind: PatchKind,
    mut document: Value,
    patch: &Value,
) -> Result<Value, ApiError> {
    match kind {
        PatchKind::Merge => json_patch::merge(&mut document, patch),
        PatchKind::Json => {
            let operations: json_patch::Patch =
                serde_json::from_value(patch.clone()).map_err(|e| {
                    ApiError::bad_request(format!("unable to read the JSON patch: {e}"))
                })?;
            json_patch::patch(&mut document, &operations).map_err(|e| {
                ApiError::new(
                    422,
                    "Invalid",
                    format!("the JSON patch does not apply: {e}"),
                )
            })?;
        }
        PatchKind::Strategic | PatchKind::Apply => strategic(&mut document, patch),
    }
    Ok(document)
}

/// The key by which the elements of a list are matched, `None` for lists replaced as a whole.
///
/// The API's types declare it field by field; this table holds the fields of the common types.
fn merge_key(field: &str, elements: &[Value]) -> Option<&'static str> {
    let has = |key: &str| elements.iter().any(|e| e.get(key).is_some());
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets"
        | "resourceClaims" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "ports" if has("containerPort") => Some("containerPort"),
        "ports" if has("port") => Some("port"),
        "conditions" | "addresses" => Some("type"),
        "hostAliases" | "podIPs" | "hostIPs" => Some("ip"),
        "ownerReferences" => Some("uid"),
        "taints" => Some("key"),
        "topologySpreadConstraints" => Some("topologyKey"),
        _ => None,
    }
}

fn strategic(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        target.clone_from(patch);
        return;
    };
    match changes.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            let kept = changes.iter().filter(|(k, _)| !k.starts_with('$'));
            *target = kept
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect::<Map<_, _>>()
                .into();
            return;
        }
        Some("delete") => {
            *target = Value::Null;
            return;
        }
        Some(_) | None => {}
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else {
        return;
    };
    if let Some(Value::Array(kept)) = changes.get("$retainKeys") {
        object.retain(|key, _| kept.iter().any(|k| k == key));
    }
    for (field, change) in changes {
        if let Some(list) = field.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(present)), Value::Array(gone)) =
                (object.get_mut(list), change)
            {
                present.retain(|v| !gone.contains(v));
            }
        } else if field.starts_with('$') {
            // Order directives: elements keep their order and new ones follow.
        } else if change.is_null() {
            object.remove(field);
        } else {
            let slot = object.entry(field.clone()).or_insert(Value::Null);
            merge_field(field, slot, change);
            if slot.is_null() {
                object.remove(field);
            }
        }
    }
}

fn merge_field(field: &str, slot: &mut Value, change: &Value) {
    let Value::Array(elements) = change else {
        strategic(slot, change);
        return;
    };
    if field == "finalizers" {
        let Value::Array(present) = slot else {
            slot.clone_from(change);
            return;
        };
        for element in elements {
            if !present.contains(element) {
                present.push(element.clone());
            }
        }
        return;
    }
    let Some(key) = merge_key(field, elements) else {
        slot.clone_from(change);
        return;
    };
    let replace = |e: &&Value| e["$patch"] == "replace" && e.get(key).is_none();
    if elements.iter().any(|e| replace(&e)) || !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    let Value::Array(present) = slot else { return };
    for element in elements.iter().filter(|e| !replace(e)) {
        let found = present
            .iter()
            .position(|p| p.get(key).is_some() && p.get(key) == element.get(key));
        if element["$patch"] == "delete" {
            if let Some(at) = found {
                present.remove(at);
            }
        } else if let Some(at) = found {
            strategic(&mut present[at], element);
        } else {
            let mut fresh = Value::Null;
            strategic(&mut fresh, element);
            present.push(fresh);
        }
    }
}

#[cfg(test)]
mod tests;
