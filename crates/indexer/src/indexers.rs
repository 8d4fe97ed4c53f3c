//! [`Indexers`]: the named functions that put objects into indices.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informers_cache_core::{Object, ObjectName};

use crate::IndexValues;
use crate::error::{BoxError, IndexError, IndexFailure};

/// The name of the index every store has: objects by their namespace.
#[doc(alias = "NamespaceIndex")]
pub const NAMESPACE_INDEX: &str = "namespace";

type IndexFunc<T> = Arc<dyn Fn(&T) -> Result<IndexValues, BoxError> + Send + Sync>;

/// Named index functions, each of which gives an object any number of values.
///
/// # Contract
/// A function is pure: the same object, the same values. It runs once for each object
/// that enters the store, never again when a relist or resync finds that very object.
/// It may read the store, and must not write it.
///
/// If it fails or panics, that is an error of this write for this index alone: it is
/// reported ([`ThreadSafeStore::on_index_error`]), the object is stored, and the index
/// holds nothing for it.
///
/// [`ThreadSafeStore::on_index_error`]: crate::ThreadSafeStore::on_index_error
///
/// # Examples
/// ```
/// use informers_indexer::Indexers;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let indexers = Indexers::new()
///     .with("byNode", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))
///     .with("byOwner", |pod: &Pod| -> Vec<String> {
///         let owners = pod.metadata.owner_references.iter().flatten();
///         owners.map(|owner| owner.uid.clone()).collect()
///     })
///     .with_fallible("byPriority", |pod: &Pod| {
///         let spec = pod.spec.as_ref().ok_or("the pod has no spec")?;
///         Ok::<_, &str>(spec.priority.map(|priority| priority.to_string()))
///     });
/// assert_eq!(indexers.names().collect::<Vec<_>>(), ["byNode", "byOwner", "byPriority"]);
/// ```
///
/// # Upstream
/// `cache.Indexers`, a map of `cache.IndexFunc`; an error there is a panic of the
/// process.
#[doc(alias = "IndexFunc")]
pub struct Indexers<T> {
    indexers: Vec<Indexer<T>>,
}

/// One named index function.
pub(crate) struct Indexer<T> {
    pub(crate) name: Arc<str>,
    function: IndexFunc<T>,
}

impl<T> Indexers<T> {
    /// None yet. The index by namespace needs none: every store has it.
    pub fn new() -> Self {
        Self {
            indexers: Vec::new(),
        }
    }

    /// Adds an index. An earlier function of that name is replaced, as in a map.
    ///
    /// One called [`NAMESPACE_INDEX`] answers queries for that name in place of the
    /// built-in index; listers keep to the built-in one.
    #[must_use]
    pub fn with<V: Into<IndexValues>>(
        self,
        name: impl Into<Arc<str>>,
        function: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.add(name.into(), Arc::new(move |obj| Ok(function(obj).into())))
    }

    /// Adds an index whose function may fail, else as [`with`](Self::with).
    #[must_use]
    pub fn with_fallible<V: Into<IndexValues>, E: Into<BoxError>>(
        self,
        name: impl Into<Arc<str>>,
        function: impl Fn(&T) -> Result<V, E> + Send + Sync + 'static,
    ) -> Self {
        let function = move |obj: &T| function(obj).map(Into::into).map_err(Into::into);
        self.add(name.into(), Arc::new(function))
    }

    /// The names, in the order they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.indexers.iter().map(|indexer| &*indexer.name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.indexers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.indexers.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<Indexer<T>> {
        self.indexers
    }

    fn add(mut self, name: Arc<str>, function: IndexFunc<T>) -> Self {
        let known = self.indexers.iter_mut().find(|known| known.name == name);
        match known {
            Some(known) => known.function = function,
            None => self.indexers.push(Indexer { name, function }),
        }
        self
    }
}

impl<T> Indexer<T> {
    /// Runs the function, whatever it does. Called without the data lock.
    pub(crate) fn compute(&self, name: &ObjectName, obj: &T) -> Result<IndexValues, IndexError> {
        let failure = match catch_unwind(AssertUnwindSafe(|| (self.function)(obj))) {
            Ok(Ok(values)) => return Ok(values),
            Ok(Err(error)) => IndexFailure::Error(error),
            Err(panic) => IndexFailure::Panic(panic_message(&*panic)),
        };
        Err(IndexError {
            index: Arc::clone(&self.name),
            object: name.clone(),
            failure,
        })
    }
}

/// The text of a panic, if it has one.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        return (*text).to_owned();
    }
    match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => "the panic has no text".to_owned(),
    }
}

/// The index function behind [`NAMESPACE_INDEX`]: the namespace, or the empty text for
/// a cluster-scoped object.
#[doc(alias = "MetaNamespaceIndexFunc")]
pub fn namespace_index_func<T: Object>(obj: &T) -> IndexValues {
    obj.namespace().unwrap_or_default().to_owned().into()
}

impl<T> Default for Indexers<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Indexers<T> {
    fn clone(&self) -> Self {
        Self {
            indexers: self.indexers.clone(),
        }
    }
}

impl<T> Clone for Indexer<T> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            function: Arc::clone(&self.function),
        }
    }
}

impl<T> fmt::Debug for Indexers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests;
