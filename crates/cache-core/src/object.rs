//! [`Object`]: the metadata that every stage of an informer may read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A Kubernetes object as the informer machinery sees it: metadata only.
///
/// Implemented for every `k8s-openapi` type with an [`ObjectMeta`]. Types of your
/// own implement it by hand; a handful of one-line methods is all there is.
///
/// # Contract
/// The answers must not change while the object is shared: the stores key and index
/// by them.
///
/// # Upstream
/// `metav1.Object`, reduced to what `tools/cache` reads.
#[doc(alias = "metav1.Object")]
pub trait Object: Send + Sync + 'static {
    /// `metadata.name`; empty if absent.
    fn name(&self) -> &str;

    /// `metadata.namespace`; `None` for cluster-scoped objects.
    fn namespace(&self) -> Option<&str>;

    /// `metadata.uid`; `None` if absent.
    fn uid(&self) -> Option<&str>;

    /// `metadata.resourceVersion`, an opaque string; `None` if absent.
    fn resource_version(&self) -> Option<&str>;

    /// The value of the label `key`.
    fn label(&self, key: &str) -> Option<&str>;

    /// Roughly the bytes of memory this object holds, for reports; never exact.
    ///
    /// The default counts the struct itself and nothing it points to.
    fn approximate_size(&self) -> usize {
        size_of_val(self)
    }
}

impl<K> Object for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        non_empty(self.metadata().namespace.as_deref())
    }

    fn uid(&self) -> Option<&str> {
        non_empty(self.metadata().uid.as_deref())
    }

    fn resource_version(&self) -> Option<&str> {
        non_empty(self.metadata().resource_version.as_deref())
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.metadata()
            .labels
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }
}

/// Absent and empty are the same on the wire (Go's `omitempty`).
fn non_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Whether two objects are the very same state of the same object: equal,
/// present UIDs and resource versions.
pub fn same_version<T: Object + ?Sized>(a: &T, b: &T) -> bool {
    a.resource_version().is_some()
        && a.resource_version() == b.resource_version()
        && a.uid() == b.uid()
}

/// Whether two objects of one name are different objects: both carry a UID, and
/// these differ.
pub fn different_identity<T: Object + ?Sized>(a: &T, b: &T) -> bool {
    matches!((a.uid(), b.uid()), (Some(a), Some(b)) if a != b)
}
