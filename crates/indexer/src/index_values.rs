//! [`IndexValues`]: what an index function says of one object.

use std::borrow::Cow;

/// The values of one object in one index: a set, possibly empty.
///
/// Made from whatever an index function has at hand: a `String` or `&'static str`,
/// an `Option`, `Vec` or array of them, or any iterator by `collect`.
///
/// # Memory
/// Up to one value needs no list, and static text no copy.
///
/// # Examples
/// ```
/// use informers_indexer::IndexValues;
///
/// assert_eq!(IndexValues::from(None::<String>).as_slice(), [""; 0]);
/// assert_eq!(IndexValues::from("Running").as_slice(), ["Running"]);
/// let values: IndexValues = ["b", "a", "b"].into_iter().collect();
/// assert_eq!(values.as_slice(), ["a", "b"]);
/// ```
///
/// # Upstream
/// The `[]string` of an `IndexFunc`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexValues(Values);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Values {
    #[default]
    None,
    One(Cow<'static, str>),
    /// Two at least, sorted and distinct.
    Many(Vec<Cow<'static, str>>),
}

impl IndexValues {
    /// No value: the index does not hold the object.
    pub fn none() -> Self {
        Self::default()
    }

    /// The distinct values, sorted.
    pub fn as_slice(&self) -> &[Cow<'static, str>] {
        match &self.0 {
            Values::None => &[],
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }
}

impl<S: Into<Cow<'static, str>>> FromIterator<S> for IndexValues {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else {
            return Self(Values::None);
        };
        let first = first.into();
        let Some(second) = values.next() else {
            return Self(Values::One(first));
        };
        let mut all = vec![first, second.into()];
        all.extend(values.map(Into::into));
        all.sort_unstable();
        all.dedup();
        match all.len() {
            1 => Self(Values::One(all.swap_remove(0))),
            _ => Self(Values::Many(all)),
        }
    }
}

impl From<String> for IndexValues {
    fn from(value: String) -> Self {
        Self(Values::One(value.into()))
    }
}

impl From<&'static str> for IndexValues {
    fn from(value: &'static str) -> Self {
        Self(Values::One(value.into()))
    }
}

impl From<Cow<'static, str>> for IndexValues {
    fn from(value: Cow<'static, str>) -> Self {
        Self(Values::One(value))
    }
}

impl<S: Into<Cow<'static, str>>> From<Option<S>> for IndexValues {
    fn from(value: Option<S>) -> Self {
        value.into_iter().collect()
    }
}

impl<S: Into<Cow<'static, str>>> From<Vec<S>> for IndexValues {
    fn from(values: Vec<S>) -> Self {
        values.into_iter().collect()
    }
}

impl<S: Into<Cow<'static, str>>, const N: usize> From<[S; N]> for IndexValues {
    fn from(values: [S; N]) -> Self {
        values.into_iter().collect()
    }
}
