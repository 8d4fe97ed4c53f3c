//! [`MetaScan`]: an object's identity and labels, read from its bytes without parsing it.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{Cursor, RawStr};

/// The annotation on the bookmark that ends a `WatchList`'s initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a scan of an object's `metadata` found. All else in the object is skipped, and
/// what stands behind the metadata is not even looked at.
///
/// It serves where an object need not, or cannot, be decoded: for the identity of one that
/// does not fit its type, for bookmarks, and for [`Packed`](crate::Packed).
///
/// # Examples
/// ```
/// use informers_objects::MetaScan;
///
/// let scan = MetaScan::of(br#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}"#);
/// assert_eq!(scan.name().as_deref(), Some("a"));
/// assert_eq!(scan.resource_version().as_deref(), Some("7"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct MetaScan<'a> {
    name: Option<RawStr<'a>>,
    namespace: Option<RawStr<'a>>,
    uid: Option<RawStr<'a>>,
    resource_version: Option<RawStr<'a>>,
    labels: Option<&'a [u8]>,
    annotations: Option<&'a [u8]>,
    managed_fields: Option<Range<usize>>,
    complete: bool,
}

impl<'a> MetaScan<'a> {
    /// Scans the JSON of one object. Never fails: what cannot be read is absent.
    pub fn of(json: &'a [u8]) -> Self {
        let mut scan = Self::default();
        scan.complete = scan.read(json).is_some();
        scan
    }

    /// Whether the metadata was there and well-formed throughout.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// `metadata.name`; `None` if absent, empty or unreadable.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        text(self.name)
    }

    /// `metadata.namespace`; `None` if absent, empty or unreadable.
    pub fn namespace(&self) -> Option<Cow<'a, str>> {
        text(self.namespace)
    }

    /// `metadata.uid`; `None` if absent, empty or unreadable.
    pub fn uid(&self) -> Option<Cow<'a, str>> {
        text(self.uid)
    }

    /// `metadata.resourceVersion`; `None` if absent, empty or unreadable.
    pub fn resource_version(&self) -> Option<Cow<'a, str>> {
        text(self.resource_version)
    }

    /// `metadata.labels`, in the order of the bytes. A value of `null` is an empty text, and
    /// an unreadable one ends them.
    pub fn labels(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + Clone + use<'a> {
        pairs(self.labels)
    }

    /// Whether this is the bookmark that ends a `WatchList`'s initial events.
    ///
    /// # Upstream
    /// `metav1.InitialEventsAnnotationKey`.
    #[doc(alias = "InitialEventsAnnotationKey")]
    pub fn ends_initial_events(&self) -> bool {
        pairs(self.annotations).any(|(key, value)| key == INITIAL_EVENTS_END && value == "true")
    }

    /// The bytes to leave out so that `metadata.managedFields` is gone and the rest is JSON
    /// still; `None` if there are none.
    pub fn managed_fields(&self) -> Option<Range<usize>> {
        self.managed_fields.clone()
    }

    fn read(&mut self, json: &'a [u8]) -> Option<()> {
        let mut cursor = Cursor::new(json);
        cursor.open_object()?;
        let mut first = true;
        while let Some(key) = cursor.key(&mut first)? {
            if key.is("metadata") && cursor.peek()? == b'{' {
                return self.read_metadata(&mut cursor);
            }
            cursor.value()?;
        }
        None
    }

    fn read_metadata(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.open_object()?;
        let mut first = true;
        loop {
            let (began, was_first) = (cursor.position(), first);
            let Some(key) = cursor.key(&mut first)? else {
                return Some(());
            };
            let next = cursor.peek()?;
            let escaped;
            let key = if key.is_escaped() {
                escaped = key.text()?;
                escaped.as_bytes()
            } else {
                key.raw()
            };
            match (key, next) {
                (b"name", b'"') => self.name = Some(cursor.string()?),
                (b"namespace", b'"') => self.namespace = Some(cursor.string()?),
                (b"uid", b'"') => self.uid = Some(cursor.string()?),
                (b"resourceVersion", b'"') => self.resource_version = Some(cursor.string()?),
                (b"labels", b'{') => self.labels = Some(cursor.value()?),
                (b"annotations", b'{') => self.annotations = Some(cursor.value()?),
                (b"managedFields", _) => {
                    cursor.value()?;
                    let mut end = cursor.position();
                    // One comma has to go with it: the one before, else the one behind.
                    if was_first && cursor.peek()? == b',' {
                        end = cursor.position() + 1;
                    }
                    self.managed_fields = Some(began..end);
                }
                _ => {
                    cursor.value()?;
                }
            }
        }
    }
}

fn text(raw: Option<RawStr<'_>>) -> Option<Cow<'_, str>> {
    raw?.text().filter(|text| !text.is_empty())
}

/// The string members of the object that `json` is.
fn pairs(json: Option<&[u8]>) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> + Clone {
    let mut cursor = json.map(Cursor::new);
    if let Some(cursor) = &mut cursor {
        // It is there, or the slice would not have been kept.
        let _ = cursor.open_object();
    }
    let mut first = true;
    std::iter::from_fn(move || {
        let cursor = cursor.as_mut()?;
        let key = cursor.key(&mut first)??.text()?;
        if cursor.null() {
            return Some((key, Cow::Borrowed("")));
        }
        Some((key, cursor.string()?.text()?))
    })
}

#[cfg(test)]
mod tests;
