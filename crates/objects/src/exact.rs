//! Deserializes JSON into vectors without spare capacity.
//!
//! `serde_json` does not know how many elements an array has until it has read them, so a
//! vector grows by doubling: a fifth of what a decoded pod holds would be room for elements
//! that never come, and each step copies those that are there. Here the elements are
//! counted first, in one pass that costs some 5 % of decoding, and each array's count is
//! handed to the vector as its size hint.
//!
//! A wrapper around each part of serde's protocol passes everything through and replaces
//! that one answer. A wrong hint could cost memory, never correctness; serde bounds what a
//! vector allocates by a hint alone.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::json::Children;

thread_local! {
    static CHILDREN: Cell<Children> = Cell::default();
}

/// A buffer grown beyond this for one large object is given back after it, in bytes.
const KEPT: usize = 1 << 18;

/// As `serde_json::from_slice`.
pub(crate) fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    // Taken out while in use, so that a type may decode within its decoding.
    let mut children = CHILDREN.take();
    children.count(json);
    let counts = Counts {
        counts: children.counts(),
        next: Cell::new(0),
    };
    // Checked once as a whole, a text costs a fraction of what its many strings do.
    let result = match std::str::from_utf8(json) {
        Ok(text) => deserialize(serde_json::Deserializer::from_str(text), &counts),
        // It knows where.
        Err(_) => deserialize(serde_json::Deserializer::from_slice(json), &counts),
    };
    if children.capacity() <= KEPT {
        CHILDREN.set(children);
    }
    result
}

fn deserialize<'de, T: DeserializeOwned, R: serde_json::de::Read<'de>>(
    mut deserializer: serde_json::Deserializer<R>,
    counts: &Counts<'_>,
) -> Result<T, serde_json::Error> {
    let value = T::deserialize(Exact {
        inner: &mut deserializer,
        counts,
    })?;
    deserializer.end()?;
    Ok(value)
}

/// The counts of the arrays, in the order in which they are met.
struct Counts<'a> {
    counts: &'a [u32],
    next: Cell<usize>,
}

impl Counts<'_> {
    /// The elements of the next array; `None` if it holds texts or numbers.
    fn next(&self) -> Option<usize> {
        let next = self.next.get();
        self.next.set(next + 1);
        let count = *self.counts.get(next)?;
        (count > 0).then_some(count as usize)
    }
}

/// One part of serde's protocol, passed through.
struct Exact<'a, I> {
    inner: I,
    counts: &'a Counts<'a>,
}

impl<'a, I> Exact<'a, I> {
    fn wrap<J>(&self, inner: J) -> Exact<'a, J> {
        Exact {
            inner,
            counts: self.counts,
        }
    }
}

macro_rules! deserialize {
    ($($method:ident)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.wrap(visitor);
            self.inner.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<'_, D> {
    type Error = D::Error;

    deserialize! {
        deserialize_any deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit
        deserialize_seq deserialize_map deserialize_identifier
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_unit_struct(name, visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_enum(name, variants, visitor)
    }

    /// Not skipped but visited: the arrays in it have to be met as well.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserialize_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident: $type:ty;)*) => {
        $(#[inline]
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Exact<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool;
        visit_i8: i8; visit_i16: i16; visit_i32: i32; visit_i64: i64; visit_i128: i128;
        visit_u8: u8; visit_u16: u16; visit_u32: u32; visit_u64: u64; visit_u128: u128;
        visit_f32: f32; visit_f64: f64; visit_char: char;
        visit_str: &str; visit_borrowed_str: &'de str; visit_string: String;
        visit_bytes: &[u8]; visit_borrowed_bytes: &'de [u8]; visit_byte_buf: Vec<u8>;
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_some(deserializer)
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let seq = Elements {
            seq: self.wrap(seq),
            left: self.counts.next(),
        };
        self.inner.visit_seq(seq)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = self.wrap(map);
        self.inner.visit_map(map)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        let data = self.wrap(data);
        self.inner.visit_enum(data)
    }
}

/// An array whose length is known.
struct Elements<'a, A> {
    seq: Exact<'a, A>,
    left: Option<usize>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        let seed = self.seq.wrap(seed);
        self.seq.inner.next_element_seed(seed)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.left.or_else(|| self.seq.inner.size_hint())
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Exact<'_, A> {
    type Error = A::Error;

    // No array stands in a key.
    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.wrap(seed);
        self.inner.next_value_seed(seed)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Exact<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'a, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Exact<'a, A> {
    type Error = A::Error;
    type Variant = Exact<'a, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let counts = self.counts;
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Exact { inner, counts }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Exact<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.wrap(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.wrap(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.wrap(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests;
