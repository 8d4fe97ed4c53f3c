//! [`Identity`]: the metadata an informer needs, in one small allocation.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::MetaScan;

/// Name, namespace, UID, resource version and labels: the metadata field of a struct of
/// your own that wants no more of it. See [`wire_type!`](crate::wire_type).
///
/// # Memory
/// 16 bytes and one allocation of the texts' length and a byte or two for each.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity(Box<[u8]>);

/// Metadata that an object's identity and labels can be read from: the field that
/// [`wire_type!`](crate::wire_type) builds upon. [`ObjectMeta`] and [`Identity`] are.
pub trait ObjectMetadata {
    /// `name`; empty if absent.
    fn name(&self) -> &str;
    /// `namespace`; `None` if absent or empty.
    fn namespace(&self) -> Option<&str>;
    /// `uid`; `None` if absent or empty.
    fn uid(&self) -> Option<&str>;
    /// `resourceVersion`; `None` if absent or empty.
    fn resource_version(&self) -> Option<&str>;
    /// The value of the label `key`.
    fn label(&self, key: &str) -> Option<&str>;
}

/// A view of an encoded identity, which other bytes may follow:
/// the lengths of the four texts and of the labels, the texts, then for each label the
/// length and the text of its key and of its value. Lengths are LEB128, texts UTF-8.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    lengths: [usize; 5],
    rest: &'a [u8],
}

const NAME: usize = 0;
const NAMESPACE: usize = 1;
const UID: usize = 2;
const RESOURCE_VERSION: usize = 3;
const LABELS: usize = 4;

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn of(mut bytes: &'a [u8]) -> Self {
        let mut lengths = [0; 5];
        for length in &mut lengths {
            *length = take_length(&mut bytes);
        }
        Self {
            lengths,
            rest: bytes,
        }
    }

    #[inline]
    fn field(&self, field: usize) -> &'a [u8] {
        let start: usize = self.lengths[..field].iter().sum();
        &self.rest[start..start + self.lengths[field]]
    }

    pub(crate) fn name(&self) -> &'a str {
        text(self.field(NAME))
    }

    pub(crate) fn namespace(&self) -> Option<&'a str> {
        non_empty(self.field(NAMESPACE))
    }

    pub(crate) fn uid(&self) -> Option<&'a str> {
        non_empty(self.field(UID))
    }

    pub(crate) fn resource_version(&self) -> Option<&'a str> {
        non_empty(self.field(RESOURCE_VERSION))
    }

    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.raw_labels()
            .map(|(key, value)| (text(key), text(value)))
    }

    pub(crate) fn label(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.raw_labels().find(|(own, _)| *own == key.as_bytes())?;
        Some(text(value))
    }

    /// What follows the identity.
    #[inline]
    pub(crate) fn behind(&self) -> &'a [u8] {
        let length: usize = self.lengths.iter().sum();
        &self.rest[length..]
    }

    fn raw_labels(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.field(LABELS);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let key = take_text(&mut rest);
            Some((key, take_text(&mut rest)))
        })
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("an identity is encoded from texts")
}

fn non_empty(bytes: &[u8]) -> Option<&str> {
    (!bytes.is_empty()).then(|| text(bytes))
}

#[inline]
pub(crate) fn take_length(bytes: &mut &[u8]) -> usize {
    let (mut length, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    length
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = take_length(bytes);
    let (text, rest) = bytes.split_at(length);
    *bytes = rest;
    text
}

pub(crate) fn put_length(out: &mut Vec<u8>, mut length: usize) {
    loop {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the low seven bits are meant"
        )]
        let low = (length & 0x7f) as u8;
        length >>= 7;
        if length == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn length_of_length(length: usize) -> usize {
    (usize::BITS - (length | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends an encoded identity to `out`.
pub(crate) fn encode<I, T>(out: &mut Vec<u8>, texts: [&str; 4], labels: &I)
where
    I: Iterator<Item = (T, T)> + Clone,
    T: AsRef<str>,
{
    let size = |text: &T| {
        let length = text.as_ref().len();
        length_of_length(length) + length
    };
    let labels_size = labels
        .clone()
        .map(|(key, value)| size(&key) + size(&value))
        .sum();
    out.reserve(20 + texts.iter().map(|text| text.len()).sum::<usize>() + labels_size);
    for text in texts {
        put_length(out, text.len());
    }
    put_length(out, labels_size);
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
    for (key, value) in labels.clone() {
        for text in [key.as_ref(), value.as_ref()] {
            put_length(out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Appends the identity that `scan` found to `out`.
pub(crate) fn encode_scan(out: &mut Vec<u8>, scan: &MetaScan<'_>) {
    let texts = [
        scan.name(),
        scan.namespace(),
        scan.uid(),
        scan.resource_version(),
    ];
    let texts = texts
        .each_ref()
        .map(|text| text.as_deref().unwrap_or_default());
    encode(out, texts, &scan.labels());
}

impl Identity {
    /// The identity of an object, read from its JSON.
    pub fn of_json(json: &[u8]) -> Self {
        let mut bytes = Vec::new();
        encode_scan(&mut bytes, &MetaScan::of(json));
        Self(bytes.into())
    }

    /// The labels, in the order the server wrote them.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.view().labels()
    }

    /// The bytes of memory it holds besides itself.
    pub fn heap_size(&self) -> usize {
        self.0.len()
    }

    fn view(&self) -> View<'_> {
        View::of(&self.0)
    }
}

impl Default for Identity {
    /// Of nothing: all texts empty.
    fn default() -> Self {
        Self(Box::new([0; 5]))
    }
}

impl ObjectMetadata for Identity {
    fn name(&self) -> &str {
        self.view().name()
    }

    fn namespace(&self) -> Option<&str> {
        self.view().namespace()
    }

    fn uid(&self) -> Option<&str> {
        self.view().uid()
    }

    fn resource_version(&self) -> Option<&str> {
        self.view().resource_version()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.view().label(key)
    }
}

impl ObjectMetadata for ObjectMeta {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|text| !text.is_empty())
    }

    fn uid(&self) -> Option<&str> {
        self.uid.as_deref().filter(|text| !text.is_empty())
    }

    fn resource_version(&self) -> Option<&str> {
        self.resource_version
            .as_deref()
            .filter(|text| !text.is_empty())
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("name", &self.name())
            .field("namespace", &self.namespace())
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
            .field("labels", &self.labels().collect::<Vec<_>>())
            .finish()
    }
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IdentityVisitor)
    }
}

struct IdentityVisitor;

impl<'de> Visitor<'de> for IdentityVisitor {
    type Value = Identity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Identity, A::Error> {
        let mut texts: [Option<String>; 4] = Default::default();
        let mut labels: Option<Labels> = None;
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Text(field) => texts[field] = map.next_value()?,
                Key::Labels => labels = map.next_value()?,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let texts = texts
            .each_ref()
            .map(|text| text.as_deref().unwrap_or_default());
        let labels = labels.unwrap_or_default().0;
        let labels = labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_deref().unwrap_or_default()));
        let mut bytes = Vec::new();
        encode(&mut bytes, texts, &labels);
        Ok(Identity(bytes.into()))
    }
}

/// In the order the server wrote them.
#[derive(Default)]
struct Labels(Vec<(String, Option<String>)>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;

        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = map.next_entry()? {
                    labels.push(label);
                }
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(LabelsVisitor)
    }
}

enum Key {
    Text(usize),
    Labels,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field of object metadata")
            }

            fn visit_str<E>(self, key: &str) -> Result<Key, E> {
                Ok(match key {
                    "name" => Key::Text(NAME),
                    "namespace" => Key::Text(NAMESPACE),
                    "uid" => Key::Text(UID),
                    "resourceVersion" => Key::Text(RESOURCE_VERSION),
                    "labels" => Key::Labels,
                    _ => Key::Other,
                })
            }
        }

        deserializer.deserialize_identifier(KeyVisitor)
    }
}

#[cfg(test)]
mod tests;
