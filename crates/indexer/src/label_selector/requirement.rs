//! [`Requirement`]: one condition on one label.

use std::fmt;

/// How a [`Requirement`] compares a label with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The label is the value.
    Equals,
    /// The label is not the value, or absent.
    NotEquals,
    /// The label is one of the values.
    In,
    /// The label is none of the values, or absent.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer greater than the value.
    GreaterThan,
    /// The label is an integer less than the value.
    LessThan,
}

/// One condition on one label.
///
/// # Upstream
/// `labels.Requirement`.
#[doc(alias = "labels.Requirement")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted and distinct.
    values: Vec<Box<str>>,
    /// The value of `GreaterThan` and `LessThan`; else 0.
    bound: i64,
}

impl Requirement {
    /// A requirement on the label `key`.
    ///
    /// # Errors
    /// If the key or a value is not one that Kubernetes allows for labels, or the
    /// operator takes another number of values: `In` and `NotIn` one or more, `Exists`
    /// and `DoesNotExist` none, all others one; that of `GreaterThan` and `LessThan` is
    /// an integer of 64 bits.
    #[doc(alias = "NewRequirement")]
    pub fn new<V: AsRef<str>>(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        check_key(key)?;
        let values = values.into_iter();
        let mut values: Vec<Box<str>> = values.map(|value| value.as_ref().into()).collect();
        let (fits, takes) = match operator {
            Operator::In | Operator::NotIn => (!values.is_empty(), "at least one value"),
            Operator::Exists | Operator::DoesNotExist => (values.is_empty(), "no value"),
            Operator::Equals | Operator::NotEquals | Operator::GreaterThan | Operator::LessThan => {
                (values.len() == 1, "exactly one value")
            }
        };
        if !fits {
            return Err(RequirementError::new(format!("{operator} takes {takes}")));
        }
        for value in &values {
            check_value(value)?;
        }
        values.sort_unstable();
        values.dedup();
        let bound = match operator {
            Operator::GreaterThan | Operator::LessThan => values[0].parse().map_err(|_| {
                RequirementError::new(format!("{:?} is no integer of 64 bits", values[0]))
            })?,
            Operator::Equals
            | Operator::NotEquals
            | Operator::In
            | Operator::NotIn
            | Operator::Exists
            | Operator::DoesNotExist => 0,
        };
        Ok(Self {
            key: key.into(),
            operator,
            values,
            bound,
        })
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label is compared.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values it is compared with, sorted.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// Whether a label with this value, or an absent one, meets the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        match self.operator {
            Operator::Equals | Operator::In => label.is_some_and(|label| self.has(label)),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(|label| self.has(label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => integer(label).is_some_and(|label| label > self.bound),
            Operator::LessThan => integer(label).is_some_and(|label| label < self.bound),
        }
    }

    fn has(&self, label: &str) -> bool {
        let found = self.values.binary_search_by(|value| (**value).cmp(label));
        found.is_ok()
    }
}

fn integer(label: Option<&str>) -> Option<i64> {
    label?.parse().ok()
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
            Self::GreaterThan => ">",
            Self::LessThan => "<",
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, operator) = (&self.key, self.operator);
        match operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::In | Operator::NotIn => {
                write!(f, "{key} {operator} ({})", self.values.join(","))
            }
            Operator::Equals | Operator::NotEquals | Operator::GreaterThan | Operator::LessThan => {
                write!(f, "{key}{operator}{}", self.values.concat())
            }
        }
    }
}

/// A requirement that no label can be compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequirementError {
    message: String,
}

impl RequirementError {
    fn new(message: String) -> Self {
        Self { message }
    }
}

impl fmt::Display for RequirementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RequirementError {}

/// The longest name and the longest value of a label, in bytes.
const MAX_NAME: usize = 63;
/// The longest prefix of a key, in bytes (RFC 1123).
const MAX_PREFIX: usize = 253;

/// `[prefix/]name`, a qualified name of apimachinery.
pub(super) fn check_key(key: &str) -> Result<(), RequirementError> {
    let invalid = |why: &str| {
        Err(RequirementError::new(format!(
            "{key:?} is no label key: {why}"
        )))
    };
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.is_empty() || name.len() > MAX_NAME {
        return invalid("its name has 1 to 63 characters");
    }
    if !is_name(name) {
        return invalid(
            "its name has letters, digits, '-', '_' and '.', \
             and begins and ends with a letter or digit",
        );
    }
    match prefix {
        Some(prefix) if !is_subdomain(prefix) => invalid("its prefix is no DNS subdomain"),
        _ => Ok(()),
    }
}

pub(super) fn check_value(value: &str) -> Result<(), RequirementError> {
    let invalid = |why: &str| {
        Err(RequirementError::new(format!(
            "{value:?} is no label value: {why}"
        )))
    };
    if value.len() > MAX_NAME {
        return invalid("it has more than 63 characters");
    }
    if !value.is_empty() && !is_name(value) {
        return invalid(
            "it has letters, digits, '-', '_' and '.', \
             and begins and ends with a letter or digit",
        );
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_subdomain(text: &str) -> bool {
    let is_label = |label: &str| {
        let lower = label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        lower && is_name(label)
    };
    text.len() <= MAX_PREFIX && text.split('.').all(is_label)
}
