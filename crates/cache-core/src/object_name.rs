//! [`ObjectName`]: the key of an object within one resource.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::Object;

/// The key of an object within one resource: `namespace/name`, or `name` for
/// cluster-scoped objects.
///
/// # Memory
/// One shared allocation holds the whole text; a clone is a reference count. The
/// queue, the store and every index of an informer share it.
///
/// # Examples
/// ```
/// use informers_cache_core::ObjectName;
///
/// let key: ObjectName = "kube-system/coredns".parse()?;
/// assert_eq!(key.namespace(), Some("kube-system"));
/// assert_eq!(key.name(), "coredns");
/// assert_eq!(key, ObjectName::new(Some("kube-system"), "coredns"));
/// assert!("a/b/c".parse::<ObjectName>().is_err());
/// # Ok::<(), informers_cache_core::ParseObjectNameError>(())
/// ```
///
/// # Upstream
/// `cache.ObjectName`, `MetaNamespaceKeyFunc`.
#[doc(alias = "MetaNamespaceKeyFunc")]
#[derive(Clone)]
pub struct ObjectName {
    text: Arc<str>,
    /// Where the name starts: 0, or just behind the slash.
    name_at: u32,
}

impl ObjectName {
    /// The key of `name` in `namespace` (`None` or empty: cluster-scoped).
    ///
    /// # Panics
    /// If the text is 4 GiB or longer.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => {
                let mut text = String::with_capacity(namespace.len() + 1 + name.len());
                text.push_str(namespace);
                text.push('/');
                text.push_str(name);
                Self {
                    name_at: at(namespace.len() + 1),
                    text: text.into(),
                }
            }
            _ => Self {
                text: name.into(),
                name_at: 0,
            },
        }
    }

    /// The key of `obj`.
    #[doc(alias = "ObjectToName")]
    pub fn of<T: Object + ?Sized>(obj: &T) -> Self {
        Self::new(obj.namespace(), obj.name())
    }

    /// The namespace; `None` for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        match self.name_at {
            0 => None,
            name_at => Some(&self.text[..name_at as usize - 1]),
        }
    }

    /// The name within the namespace.
    pub fn name(&self) -> &str {
        &self.text[self.name_at as usize..]
    }

    /// The whole key, `namespace/name` or `name`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn at(index: usize) -> u32 {
    u32::try_from(index).expect("a namespace is shorter than 4 GiB")
}

impl FromStr for ObjectName {
    type Err = ParseObjectNameError;

    /// # Errors
    /// For text with more than one slash.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None => Ok(Self::new(None, text)),
            Some((namespace, name)) if !name.contains('/') => Ok(Self::new(Some(namespace), name)),
            Some(_) => Err(ParseObjectNameError {
                text: text.to_owned(),
            }),
        }
    }
}

/// A key with more than one slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseObjectNameError {
    text: String,
}

impl fmt::Display for ParseObjectNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unexpected key format: {:?}", self.text)
    }
}

impl std::error::Error for ParseObjectNameError {}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl PartialEq for ObjectName {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.text == other.text
    }
}

impl Eq for ObjectName {}

impl PartialOrd for ObjectName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

// As `str`, so that maps keyed by `ObjectName` can be asked with a `&str`.
impl Hash for ObjectName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Borrow<str> for ObjectName {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for ObjectName {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests;
