//! The second try at an object that did not decode: as forgiving as Go's decoder about
//! `null`, and with the path of what is wrong.
//!
//! It parses into a [`Value`] first, so it costs a good object nothing and a bad one
//! about three times the price.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::{
    BorrowedStrDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer,
};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::DecodeError;

/// Decodes `json`, which strict decoding refused.
///
/// `null` stands for the empty value of whatever is expected, at any depth.
#[cold]
pub(crate) fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    let value: Value =
        serde_json::from_slice(json).map_err(|error| DecodeError::new(json, "", &error))?;
    decode_value(&value).map_err(|(path, error)| DecodeError::new(json, path, &error))
}

/// As [`decode`], of a value parsed before; the path and the message of what is wrong.
pub(crate) fn decode_value<T: DeserializeOwned>(value: &Value) -> Result<T, (String, Error)> {
    let path = Path::default();
    T::deserialize(Lenient { value, path: &path }).map_err(|error| (path.to_string(), error))
}

/// Where decoding failed, collected on the way out, innermost first.
#[derive(Default)]
struct Path(RefCell<Vec<Segment>>);

enum Segment {
    Key(String),
    Index(usize),
}

impl Path {
    /// Notes the way to an error, and forgets one that did no harm.
    fn note<T>(
        &self,
        result: Result<T, Error>,
        segment: impl FnOnce() -> Segment,
    ) -> Result<T, Error> {
        match &result {
            Ok(_) => self.0.borrow_mut().clear(),
            Err(_) => self.0.borrow_mut().push(segment()),
        }
        result
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |key: &str| {
            !key.is_empty()
                && key
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        for (index, segment) in self.0.borrow().iter().rev().enumerate() {
            match segment {
                Segment::Key(key) if plain(key) && index == 0 => f.write_str(key)?,
                Segment::Key(key) if plain(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[{key:?}]")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A message that quotes no text of the object: it may be a secret.
#[derive(Debug)]
pub(crate) struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!(
            "invalid type: {}, expected {expected}",
            quoted(unexpected)
        ))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!(
            "invalid value: {}, expected {expected}",
            quoted(unexpected)
        ))
    }
}

fn quoted(unexpected: Unexpected<'_>) -> Unexpected<'_> {
    match unexpected {
        Unexpected::Str(_) => Unexpected::Other("string"),
        Unexpected::Bytes(_) => Unexpected::Other("byte array"),
        Unexpected::Unit => Unexpected::Other("null"),
        other => other,
    }
}

/// Deserializes a value; `null` as the empty value of what is asked for.
#[derive(Clone, Copy)]
struct Lenient<'de, 'path> {
    value: &'de Value,
    path: &'path Path,
}

macro_rules! null_as {
    ($($method:ident => $visit:ident($empty:expr);)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.value {
                Value::Null => visitor.$visit($empty),
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Lenient<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => {
                if let Some(value) = number.as_u64() {
                    visitor.visit_u64(value)
                } else if let Some(value) = number.as_i64() {
                    visitor.visit_i64(value)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
                }
            }
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(values) => visitor.visit_seq(Elements {
                values: values.iter().enumerate(),
                path: self.path,
            }),
            Value::Object(fields) => visitor.visit_map(Fields {
                rest: fields.iter(),
                value: None,
                path: self.path,
            }),
        }
    }

    null_as! {
        deserialize_bool => visit_bool(false);
        deserialize_i8 => visit_i8(0);
        deserialize_i16 => visit_i16(0);
        deserialize_i32 => visit_i32(0);
        deserialize_i64 => visit_i64(0);
        deserialize_u8 => visit_u8(0);
        deserialize_u16 => visit_u16(0);
        deserialize_u32 => visit_u32(0);
        deserialize_u64 => visit_u64(0);
        deserialize_f32 => visit_f32(0.0);
        deserialize_f64 => visit_f64(0.0);
        deserialize_str => visit_borrowed_str("");
        deserialize_string => visit_borrowed_str("");
        deserialize_bytes => visit_borrowed_bytes(b"");
        deserialize_byte_buf => visit_borrowed_bytes(b"");
        deserialize_seq => visit_seq(nothing());
        deserialize_map => visit_map(no_fields());
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Null if name == "Quantity" => {
                visitor.visit_newtype_struct(StrDeserializer::<Error>::new("0"))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value
            .deserialize_enum(name, variants, visitor)
            .map_err(Error::custom)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char unit unit_struct tuple tuple_struct identifier
    }
}

fn nothing() -> SeqDeserializer<std::iter::Empty<&'static str>, Error> {
    SeqDeserializer::new(std::iter::empty())
}

fn no_fields<'de>() -> MapDeserializer<'de, std::iter::Empty<(&'static str, &'static str)>, Error> {
    MapDeserializer::new(std::iter::empty())
}

struct Elements<'de, 'path> {
    values: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    path: &'path Path,
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((index, value)) = self.values.next() else {
            return Ok(None);
        };
        let path = self.path;
        path.note(seed.deserialize(Lenient { value, path }), || {
            Segment::Index(index)
        })
        .map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

struct Fields<'de, 'path> {
    rest: serde_json::map::Iter<'de>,
    value: Option<(&'de String, &'de Value)>,
    path: &'path Path,
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.value = self.rest.next();
        let Some((key, _)) = self.value else {
            return Ok(None);
        };
        seed.deserialize(BorrowedStrDeserializer::new(key))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) = self
            .value
            .take()
            .ok_or_else(|| Error::custom("a value without a key"))?;
        let path = self.path;
        path.note(seed.deserialize(Lenient { value, path }), || {
            Segment::Key(key.clone())
        })
    }
}

#[cfg(test)]
mod tests;
