//! [`DynamicObject`]: an object of a resource known only at run time.

use std::sync::Arc;

use informers_cache_core::Object;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{ApiResource, Decode, DecodeError, FromWire, lenient};

/// Any object, as a JSON value.
///
/// # Memory
/// A tree of maps: about eleven times the object's JSON. For many objects prefer
/// [`Packed<DynamicObject>`](crate::Packed).
///
/// # Upstream
/// `unstructured.Unstructured`.
#[doc(alias = "Unstructured")]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct DynamicObject(Map<String, Value>);

impl DynamicObject {
    /// From the fields of an object.
    pub fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// `apiVersion`; empty if absent.
    pub fn api_version(&self) -> &str {
        self.0
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// `kind`; empty if absent.
    pub fn kind(&self) -> &str {
        self.0
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The fields of the object.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The value at a JSON pointer such as `/spec/replicas`.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let pointer = pointer.strip_prefix('/')?;
        let (key, rest) = match pointer.find('/') {
            Some(slash) => pointer.split_at(slash),
            None => (pointer, ""),
        };
        let value = if key.contains('~') {
            self.0.get(&key.replace("~1", "/").replace("~0", "~"))
        } else {
            self.0.get(key)
        };
        value?.pointer(rest)
    }

    /// The fields, to take apart.
    pub fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// Decodes it as a `K`.
    ///
    /// # Errors
    /// If it does not fit; the error names the object and the place.
    pub fn decode_as<K: DeserializeOwned>(&self) -> Result<K, DecodeError> {
        let value = Value::Object(self.0.clone());
        lenient::decode_value(&value).map_err(|(path, error)| {
            let identity = serde_json::json!({"metadata": self.0.get("metadata")});
            DecodeError::new(identity.to_string().as_bytes(), path, &error)
        })
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        let text = self.0.get("metadata")?.get(key)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }
}

impl Serialize for DynamicObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Object for DynamicObject {
    fn name(&self) -> &str {
        self.metadata("name").unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.metadata("namespace")
    }

    fn uid(&self) -> Option<&str> {
        self.metadata("uid")
    }

    fn resource_version(&self) -> Option<&str> {
        self.metadata("resourceVersion")
    }

    fn label(&self, key: &str) -> Option<&str> {
        match self.0.get("metadata")?.get("labels")?.get(key)? {
            Value::Null => Some(""),
            value => value.as_str(),
        }
    }

    fn approximate_size(&self) -> usize {
        size_of::<Self>() + size_of_map(&self.0)
    }
}

/// A node of the map's tree has room for eleven entries, and is two thirds full.
fn size_of_map(map: &Map<String, Value>) -> usize {
    let nodes = map.len().div_ceil(8);
    let node = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
    let texts: usize = map
        .iter()
        .map(|(key, value)| key.len() + size_of_value(value))
        .sum();
    nodes * node + texts
}

/// What a value holds outside of itself.
fn size_of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let own = values.capacity() * size_of::<Value>();
            own + values.iter().map(size_of_value).sum::<usize>()
        }
        Value::Object(map) => size_of_map(map),
    }
}

impl FromWire for DynamicObject {
    /// Takes any object. [`DynamicDecoder`] knows a resource.
    fn decoder() -> Arc<dyn Decode<Self>> {
        Arc::new(DynamicDecoder { resource: None })
    }
}

/// Decodes the objects of one resource as [`DynamicObject`]s.
#[derive(Debug)]
pub struct DynamicDecoder {
    resource: Option<ApiResource>,
}

impl DynamicDecoder {
    /// Of the objects of `resource`. The items of a list of built-in types lack `kind` and
    /// `apiVersion`; they are added, as far as `resource` knows them.
    pub fn new(resource: ApiResource) -> Self {
        Self {
            resource: Some(resource),
        }
    }
}

impl Decode<DynamicObject> for DynamicDecoder {
    fn decode(&self, json: &[u8]) -> Result<DynamicObject, DecodeError> {
        let fields: Map<String, Value> =
            serde_json::from_slice(json).map_err(|error| DecodeError::new(json, "", &error))?;
        let mut object = DynamicObject(fields);
        if let Some(resource) = &self.resource {
            for (key, value) in [
                ("apiVersion", resource.api_version().as_ref()),
                ("kind", resource.kind.as_ref()),
            ] {
                if !value.is_empty() && !object.0.contains_key(key) {
                    object.0.insert(key.to_owned(), Value::from(value));
                }
            }
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
