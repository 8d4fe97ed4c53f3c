//! Label and field selectors.

use std::collections::BTreeMap;

use crate::status::ApiError;

/// A parsed label selector: all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<LabelRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    operator: LabelOperator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelOperator {
    /// The label is there, with any value.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label has one of these values.
    In(Vec<String>),
    /// The label has none of these values, or is not there.
    NotIn(Vec<String>),
    /// The label is an integer greater than this.
    GreaterThan(i64),
    /// The label is an integer less than this.
    LessThan(i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let bad = || ApiError::bad_request(format!("unable to parse label selector {text:?}"));
        let mut requirements = Vec::new();
        for part in split_requirements(text) {
            let part = part.trim();
            if part.is_empty() {
                if text.trim().is_empty() {
                    continue;
                }
                return Err(bad());
            }
            requirements.push(LabelRequirement::parse(part).ok_or_else(bad)?);
        }
        Ok(Self { requirements })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|r| {
            let value = labels.get(&r.key);
            match &r.operator {
                LabelOperator::Exists => value.is_some(),
                LabelOperator::DoesNotExist => value.is_none(),
                LabelOperator::In(values) => value.is_some_and(|v| values.contains(v)),
                LabelOperator::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
                LabelOperator::GreaterThan(n) => value
                    .and_then(|v| v.parse::<i64>().ok())
                    .is_some_and(|v| v > *n),
                LabelOperator::LessThan(n) => value
                    .and_then(|v| v.parse::<i64>().ok())
                    .is_some_and(|v| v < *n),
            }
        })
    }
}

impl LabelRequirement {
    fn parse(part: &str) -> Option<Self> {
        let made = |key: &str, operator| {
            let key = key.trim();
            is_label_key(key).then(|| Self {
                key: key.to_owned(),
                operator,
            })
        };
        if let Some(open) = part.find('(') {
            let values = part[open + 1..].strip_suffix(')')?;
            let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
            if !values.iter().all(|v| is_label_value(v)) {
                return None;
            }
            let mut words = part[..open].split_whitespace();
            let (key, operator) = (words.next()?, words.next()?);
            return match (operator, words.next()) {
                ("in", None) => made(key, LabelOperator::In(values)),
                ("notin", None) => made(key, LabelOperator::NotIn(values)),
                _ => None,
            };
        }
        let value = |v: &str| is_label_value(v.trim()).then(|| vec![v.trim().to_owned()]);
        if let Some((key, v)) = part.split_once("!=") {
            return made(key, LabelOperator::NotIn(value(v)?));
        }
        if let Some((key, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
            return made(key, LabelOperator::In(value(v)?));
        }
        if let Some((key, v)) = part.split_once('>') {
            return made(key, LabelOperator::GreaterThan(v.trim().parse().ok()?));
        }
        if let Some((key, v)) = part.split_once('<') {
            return made(key, LabelOperator::LessThan(v.trim().parse().ok()?));
        }
        match part.strip_prefix('!') {
            Some(key) => made(key, LabelOperator::DoesNotExist),
            None => made(part, LabelOperator::Exists),
        }
    }
}

/// Splits at the commas outside parentheses.
fn split_requirements(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn is_label_key(key: &str) -> bool {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    !name.is_empty()
        && key.len() <= 317
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

fn is_label_value(value: &str) -> bool {
    value.len() <= 63
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// A parsed field selector: all comparisons must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    path: String,
    wanted: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses, and refuses paths that are not in `selectable` (`None` allows every path).
    pub(crate) fn parse(text: &str, selectable: Option<&[String]>) -> Result<Self, ApiError> {
        let mut requirements = Vec::new();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let (path, wanted, equal) = if let Some((path, v)) = part.split_once("!=") {
                (path, v, false)
            } else if let Some((path, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (path, v, true)
            } else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: {part:?}; can't understand {text:?}"
                )));
            };
            let known = matches!(path, "metadata.name" | "metadata.namespace")
                || selectable.is_none_or(|fields| fields.iter().any(|f| f == path));
            if !known {
                return Err(ApiError::bad_request(format!(
                    "field label not supported: {path}"
                )));
            }
            requirements.push(FieldRequirement {
                path: path.to_owned(),
                wanted: wanted.to_owned(),
                equal,
            });
        }
        Ok(Self { requirements })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// `field` answers a path's value, empty when absent.
    pub(crate) fn matches(&self, field: impl Fn(&str) -> String) -> bool {
        self.requirements
            .iter()
            .all(|r| (field(&r.path) == r.wanted) == r.equal)
    }
}

#[cfg(test)]
mod tests;
