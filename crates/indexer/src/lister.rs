//! [`Lister`]: queries by namespace and label over a store.

use std::fmt;
use std::sync::Arc;

use informers_cache_core::{Object, ObjectName};

use crate::{LabelSelector, Store};

/// Reads the objects of one resource.
///
/// # Examples
/// ```
/// use informers_indexer::{Indexers, LabelSelector, Lister, ThreadSafeStore};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let store = ThreadSafeStore::<Pod>::new(Indexers::new());
/// let lister: Lister<Pod> = store.lister();
/// let web: LabelSelector = "app=web,tier in (front, edge)".parse()?;
/// assert!(lister.all(&web).is_empty());
/// assert!(lister.namespace("default").get("web-0").is_none());
/// # Ok::<(), informers_indexer::ParseSelectorError>(())
/// ```
///
/// # Upstream
/// The generated listers, `cache.GenericLister`, `cache.ListAll`. A `get` that finds
/// nothing answers `None`, not an error.
#[doc(alias = "GenericLister")]
pub struct Lister<T> {
    store: Store<T>,
}

/// Reads the objects of one namespace.
#[doc(alias = "GenericNamespaceLister")]
pub struct NamespaceLister<T> {
    store: Store<T>,
    namespace: Arc<str>,
}

impl<T> Lister<T> {
    /// A lister over `store`.
    pub fn new(store: Store<T>) -> Self {
        Self { store }
    }

    /// The objects in `namespace`; with the empty text, those in all.
    #[doc(alias = "ByNamespace")]
    pub fn namespace(&self, namespace: impl Into<Arc<str>>) -> NamespaceLister<T> {
        NamespaceLister {
            store: self.store.clone(),
            namespace: namespace.into(),
        }
    }

    /// The object with that name, for cluster-scoped resources; for others the name is
    /// the key, `namespace/name`.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.store.get_by_key(name)
    }

    /// The store behind it.
    pub fn store(&self) -> &Store<T> {
        &self.store
    }
}

impl<T: Object> Lister<T> {
    /// The objects that `selector` matches, of every namespace.
    #[doc(alias = "ListAll")]
    pub fn all(&self, selector: &LabelSelector) -> Vec<Arc<T>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        if selector.is_everything() {
            return self.store.list();
        }
        let snapshot = self.store.snapshot();
        let objects = snapshot.objects().filter(|obj| selector.matches(&***obj));
        objects.map(Arc::clone).collect()
    }
}

impl<T> NamespaceLister<T> {
    /// The object with that name in this namespace; in all namespaces, the
    /// cluster-scoped one.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        // The key of a name with a slash would be one of another namespace.
        if name.contains('/') {
            return None;
        }
        self.store
            .get(&ObjectName::new(Some(&self.namespace), name))
    }
}

impl<T: Object> NamespaceLister<T> {
    /// The objects in this namespace that `selector` matches.
    #[doc(alias = "ListAllByNamespace")]
    pub fn all(&self, selector: &LabelSelector) -> Vec<Arc<T>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        let mut objects = self.store.namespace(&self.namespace);
        if !selector.is_everything() {
            objects.retain(|obj| selector.matches(&**obj));
        }
        objects
    }
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self::new(self.store.clone())
    }
}

impl<T> Clone for NamespaceLister<T> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            namespace: Arc::clone(&self.namespace),
        }
    }
}

impl<T> fmt::Debug for Lister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lister").field(&self.store).finish()
    }
}

impl<T> fmt::Debug for NamespaceLister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
