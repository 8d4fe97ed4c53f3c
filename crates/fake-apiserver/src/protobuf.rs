//! Request bodies in Kubernetes' protobuf form, read as JSON.
//!
//! Typed clients of client-go send them by default, and so do some subcommands of kubectl.
//! Answers are JSON always, which the same clients accept.
//!
//! `protobuf/schema.txt` holds field names, numbers and types of the built-in kinds at
//! version 1.37, one message a line: `package.Message field=number:type …`, where the type is
//! `s` (string), `b` (bool), `i` (integer), `y` (bytes), `d` (double) or a message, of the
//! same package where none is named; a capital letter means that JSON omits the zero value; `[]` and `{}` before it mark lists and maps, `^` before
//! the field a part whose fields stand in the message itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::status::ApiError;

/// The media type of such bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Messages within messages at most; the deepest type of the API has some twenty.
const MAX_DEPTH: usize = 64;

static SCHEMA: LazyLock<HashMap<&'static str, HashMap<u64, Field>>> = LazyLock::new(|| {
    include_str!("protobuf/schema.txt")
        .lines()
        .filter_map(parse_message)
        .collect()
});

/// One field of a message.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    /// Its fields stand in the message itself.
    inline: bool,
    /// The package of the message it belongs to.
    package: &'static str,
    ty: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
}

fn parse_message(line: &'static str) -> Option<(&'static str, HashMap<u64, Field>)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let (package, _) = name.split_once('.')?;
    let field = |word: &'static str| {
        let (inline, word) = match word.strip_prefix('^') {
            Some(word) => (true, word),
            None => (false, word),
        };
        let (name, rest) = word.split_once('=')?;
        let (number, ty) = rest.split_once(':')?;
        let (shape, number) = if let Some(number) = number.strip_suffix("[]") {
            (Shape::List, number)
        } else if let Some(number) = number.strip_suffix("{}") {
            (Shape::Map, number)
        } else {
            (Shape::One, number)
        };
        Some((
            number.parse().ok()?,
            Field {
                name,
                shape,
                inline,
                package,
                ty,
            },
        ))
    };
    Some((name, words.filter_map(field).collect()))
}

impl Field {
    /// The full name of its type, `None` for a scalar.
    fn message(&self) -> Option<String> {
        match self.ty {
            "s" | "b" | "i" | "y" | "d" | "S" | "B" | "I" => None,
            ty if ty.contains('.') => Some(ty.to_owned()),
            ty => Some(format!("{}.{ty}", self.package)),
        }
    }
}

/// Reads a body.
///
/// # Errors
///
/// 400 for what is no such body, 415 for a kind whose fields are not known.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    let unreadable = || ApiError::bad_request("the body of the request is not readable protobuf");
    let envelope = body.strip_prefix(b"k8s\0").ok_or_else(unreadable)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for entry in Reader(envelope) {
        match entry.ok_or_else(unreadable)? {
            (1, Wire::Bytes(type_meta)) => {
                for entry in Reader(type_meta) {
                    match entry.ok_or_else(unreadable)? {
                        (1, Wire::Bytes(text)) => {
                            api_version = String::from_utf8_lossy(text).into_owned();
                        }
                        (2, Wire::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let package = match api_version.split_once('/') {
        _ if kind == "DeleteOptions" => "meta",
        Some((group, _)) => group.split('.').next().unwrap_or_default(),
        None => "core",
    };
    let message = format!("{package}.{kind}");
    if !SCHEMA.contains_key(message.as_str()) {
        let text = format!("{kind} of {api_version} is accepted as application/json only");
        return Err(ApiError::unsupported_media_type(text));
    }
    let mut object = Map::new();
    read_message(&message, raw, &mut object, MAX_DEPTH).ok_or_else(unreadable)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(object.into())
}

/// Reads the fields of a message into an object; `None` when the bytes are no such message.
fn read_message(
    message: &str,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    // Fields of messages that are not known are skipped, as unknown fields are.
    let Some(fields) = SCHEMA.get(message) else {
        return Some(());
    };
    for entry in Reader(bytes) {
        let (number, wire) = entry?;
        let Some(field) = fields.get(&number) else {
            continue;
        };
        match field.shape {
            Shape::One if field.inline => {
                let (Some(part), Wire::Bytes(bytes)) = (field.message(), wire) else {
                    return None;
                };
                read_message(&part, bytes, object, depth)?;
            }
            Shape::One => {
                let value = read_value(field, wire, depth)?;
                let zero = value == "" || value == 0 || value == false;
                let omitted = value.is_null() || (zero && matches!(field.ty, "S" | "B" | "I"));
                if !omitted {
                    object.insert(field.name.to_owned(), value);
                }
            }
            Shape::List => {
                let list = object.entry(field.name).or_insert_with(|| json!([]));
                list.as_array_mut()?.push(read_value(field, wire, depth)?);
            }
            Shape::Map => {
                let Wire::Bytes(entry) = wire else {
                    return None;
                };
                let (mut key, mut value) = (String::new(), None);
                for part in Reader(entry) {
                    match part? {
                        (1, Wire::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                        (2, wire) => value = Some(read_value(field, wire, depth)?),
                        _ => {}
                    }
                }
                let map = object.entry(field.name).or_insert_with(|| json!({}));
                map.as_object_mut()?
                    .insert(key, value.unwrap_or_else(|| json!("")));
            }
        }
    }
    Some(())
}

fn read_value(field: &Field, wire: Wire<'_>, depth: usize) -> Option<Value> {
    Some(match (field.ty, wire) {
        ("s" | "S", Wire::Bytes(text)) => json!(String::from_utf8_lossy(text)),
        ("y", Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        ("b" | "B", Wire::Number(n)) => json!(n != 0),
        ("i" | "I", Wire::Number(n)) => json!(n.cast_signed()),
        ("d", Wire::Number(bits)) => json!(f64::from_bits(bits)),
        (_, Wire::Bytes(bytes)) => read_special(&field.message()?, bytes, depth)?,
        _ => return None,
    })
}

/// Messages that JSON writes as something else, and all others.
fn read_special(message: &str, bytes: &[u8], depth: usize) -> Option<Value> {
    let mut numbers = HashMap::new();
    let mut texts = HashMap::new();
    let mut scan = || {
        for entry in Reader(bytes) {
            match entry? {
                (field, Wire::Number(n)) => drop(numbers.insert(field, n.cast_signed())),
                (field, Wire::Bytes(text)) => drop(texts.insert(field, text)),
            }
        }
        Some(())
    };
    match message {
        "meta.Time" | "meta.MicroTime" => {
            scan()?;
            let Some(seconds) = numbers.get(&1) else {
                return Some(Value::Null);
            };
            let nanos = numbers.get(&2).copied().unwrap_or_default();
            let time = Timestamp::new(*seconds, i32::try_from(nanos).ok()?).ok()?;
            Some(if message == "meta.Time" {
                json!(format!("{time:.0}"))
            } else {
                json!(format!("{time:.6}"))
            })
        }
        "resource.Quantity" => {
            scan()?;
            Some(
                texts
                    .get(&1)
                    .map_or_else(|| json!("0"), |text| json!(String::from_utf8_lossy(text))),
            )
        }
        "intstr.IntOrString" => {
            scan()?;
            let text = texts.get(&3).copied().unwrap_or_default();
            Some(match numbers.get(&1) {
                Some(1) => json!(String::from_utf8_lossy(text)),
                Some(_) | None => json!(numbers.get(&2).copied().unwrap_or_default()),
            })
        }
        "runtime.RawExtension" | "meta.FieldsV1" => {
            scan()?;
            texts
                .get(&1)
                .map_or(Some(Value::Null), |text| serde_json::from_slice(text).ok())
        }
        _ => {
            let mut object = Map::new();
            read_message(message, bytes, &mut object, depth)?;
            Some(object.into())
        }
    }
}

/// A field's value as it is encoded.
#[derive(Clone, Copy, Debug)]
enum Wire<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// The fields of a message, one after the other; `None` within where the bytes are no message.
struct Reader<'b>(&'b [u8]);

impl<'b> Iterator for Reader<'b> {
    type Item = Option<(u64, Wire<'b>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.0 = &[];
        }
        Some(entry)
    }
}

impl<'b> Reader<'b> {
    fn entry(&mut self) -> Option<(u64, Wire<'b>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Number(u64::from(u32::from_le_bytes(
                self.take(4)?.try_into().ok()?,
            ))),
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests;
