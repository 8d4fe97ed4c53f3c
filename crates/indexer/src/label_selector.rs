//! [`LabelSelector`]: which objects, by their labels.

mod parser;
mod requirement;

use std::fmt;
use std::str::FromStr;

use informers_cache_core::Object;

pub use parser::ParseSelectorError;
pub use requirement::{Operator, Requirement, RequirementError};

/// Requirements on an object's labels, all of which must hold.
///
/// # Syntax
/// Requirements, separated by commas; white space goes anywhere between words.
///
/// | text | holds for objects |
/// |---|---|
/// | `key=value`, `key==value` | whose label `key` is `value` |
/// | `key!=value` | whose label `key` is not `value`, or that have none |
/// | `key in (a, b)` | whose label `key` is one of these |
/// | `key notin (a, b)` | whose label `key` is none of these, or that have none |
/// | `key` | that have a label `key` |
/// | `!key` | that have no label `key` |
/// | `key>3`, `key<3` | whose label `key` is an integer, and greater or less |
///
/// There are no quotes: keys and values are those Kubernetes allows for labels. A value
/// may be empty (`key=`, `key in (a,)`), and `in` and `notin` may be keys and values.
/// Empty text selects everything.
///
/// [`Display`](fmt::Display) writes text that parses to the same selector, sorted by
/// key, as an API server understands it too. [`nothing`](Self::nothing) has no text of
/// its own, and is written as a contradiction.
///
/// # Examples
/// ```
/// use informers_indexer::LabelSelector;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let selector: LabelSelector = "tier in (front, edge), !canary, app=web".parse()?;
/// let mut pod = Pod::default();
/// assert!(!selector.matches(&pod));
/// let labels = [("app", "web"), ("tier", "edge")];
/// pod.metadata.labels = Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
/// assert!(selector.matches(&pod));
/// assert_eq!(selector.to_string(), "app=web,!canary,tier in (edge,front)");
///
/// let error = "app=web,tier in front".parse::<LabelSelector>().unwrap_err();
/// assert_eq!(error.position(), 16);
/// # Ok::<(), informers_indexer::ParseSelectorError>(())
/// ```
///
/// # Upstream
/// `labels.Selector`, `labels.Parse`.
#[doc(alias = "labels.Selector")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSelector(Selection);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Selection {
    Nothing,
    /// Sorted by key; everything if there is none.
    All(Vec<Requirement>),
}

impl LabelSelector {
    /// Matches every object.
    #[doc(alias = "labels.Everything")]
    pub fn everything() -> Self {
        Self(Selection::All(Vec::new()))
    }

    /// Matches no object.
    #[doc(alias = "labels.Nothing")]
    pub fn nothing() -> Self {
        Self(Selection::Nothing)
    }

    /// Matches objects that meet all of `requirements`.
    pub fn new(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self(Selection::All(requirements))
    }

    /// Matches objects that have all of these labels, as the `matchLabels` of a
    /// workload's selector say.
    ///
    /// # Errors
    /// If a key or a value is not one that Kubernetes allows.
    #[doc(alias = "ValidatedSelectorFromSet")]
    pub fn from_labels<K: AsRef<str>, V: AsRef<str>>(
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, RequirementError> {
        let labels = labels.into_iter();
        let requirements: Result<Vec<_>, _> = labels
            .map(|(key, value)| Requirement::new(key.as_ref(), Operator::Equals, [value.as_ref()]))
            .collect();
        Ok(Self::new(requirements?))
    }

    /// This selector and one more requirement.
    #[must_use]
    pub fn and(self, requirement: Requirement) -> Self {
        match self.0 {
            Selection::Nothing => Self::nothing(),
            Selection::All(mut requirements) => {
                requirements.push(requirement);
                Self::new(requirements)
            }
        }
    }

    /// The requirements, sorted by key; `None` for [`nothing`](Self::nothing).
    pub fn requirements(&self) -> Option<&[Requirement]> {
        match &self.0 {
            Selection::Nothing => None,
            Selection::All(requirements) => Some(requirements),
        }
    }

    /// Whether it matches every object, because it requires nothing.
    pub fn is_everything(&self) -> bool {
        self.requirements().is_some_and(<[_]>::is_empty)
    }

    /// Whether it is [`nothing`](Self::nothing).
    pub fn is_nothing(&self) -> bool {
        self.requirements().is_none()
    }

    /// Whether `obj` has labels that meet the requirements.
    pub fn matches(&self, obj: &(impl Object + ?Sized)) -> bool {
        self.matches_labels(|key| obj.label(key))
    }

    /// Whether labels meet the requirements, where `label` answers the value of a key.
    pub fn matches_labels<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        match &self.0 {
            Selection::Nothing => false,
            Selection::All(requirements) => requirements
                .iter()
                .all(|requirement| requirement.matches(label(requirement.key()))),
        }
    }
}

/// Everything.
impl Default for LabelSelector {
    fn default() -> Self {
        Self::everything()
    }
}

impl FromStr for LabelSelector {
    type Err = ParseSelectorError;

    /// # Errors
    /// For text that is not as [described](LabelSelector#syntax).
    fn from_str(text: &str) -> Result<Self, ParseSelectorError> {
        parser::parse(text).map(Self::new)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // Never the empty text: a server takes that for everything.
            Selection::Nothing => f.write_str("nothing,!nothing"),
            Selection::All(requirements) => {
                for (place, requirement) in requirements.iter().enumerate() {
                    if place > 0 {
                        f.write_str(",")?;
                    }
                    requirement.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
