//! [`ApiResource`]: what to ask the server for, and [`Resource`]: the types that know.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Group, version, plural name, kind and scope of a resource.
///
/// # Examples
/// ```
/// use informers_objects::{ApiResource, Resource};
/// use k8s_openapi::api::apps::v1::Deployment;
///
/// let deployments = Deployment::api_resource();
/// assert_eq!(deployments.api_version(), "apps/v1");
/// assert_eq!(deployments.path(None), "/apis/apps/v1/deployments");
/// assert_eq!(deployments.path(Some("shop")), "/apis/apps/v1/namespaces/shop/deployments");
///
/// let widgets: ApiResource = "example.com/v1/widgets".parse()?;
/// assert_eq!(widgets.group, "example.com");
/// # Ok::<(), informers_objects::ParseApiResourceError>(())
/// ```
///
/// # Upstream
/// `schema.GroupVersionResource` and `metav1.APIResource`, what of them a request needs.
#[doc(alias = "GroupVersionResource")]
#[doc(alias = "APIResource")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The version within the group, for example `v1`.
    pub version: Cow<'static, str>,
    /// The plural name as it stands in paths, for example `pods`.
    pub plural: Cow<'static, str>,
    /// The kind of one object, for example `Pod`; empty if unknown.
    pub kind: Cow<'static, str>,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
}

/// A type whose objects are served by a Kubernetes API server.
///
/// Implemented for the `k8s-openapi` types; for types of your own, see
/// [`wire_type!`](crate::wire_type).
pub trait Resource {
    /// Where the server has them.
    fn api_resource() -> ApiResource;
}

impl ApiResource {
    /// A resource known at run time, its kind unknown, taken for namespaced: that matters
    /// only where a namespace is asked for.
    ///
    /// # Upstream
    /// `schema.GroupVersionResource`, which a dynamic informer starts from.
    pub fn from_gvr(
        group: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
            kind: Cow::Borrowed(""),
            namespaced: true,
        }
    }

    /// The `apiVersion` of its objects: `group/version`, or the version for the core group.
    pub fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    /// The path of the collection: in `namespace`, or, with `None` and for cluster-scoped
    /// resources, of all there are.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let mut path = String::from(if self.group.is_empty() {
            "/api"
        } else {
            "/apis/"
        });
        path.push_str(&self.group);
        path.push('/');
        path.push_str(&self.version);
        if let Some(namespace) = namespace.filter(|name| self.namespaced && !name.is_empty()) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }
}

impl fmt::Display for ApiResource {
    /// `pods`, `deployments.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl FromStr for ApiResource {
    type Err = ParseApiResourceError;

    /// From `group/version/plural`, `version/plural` (the core group), or `plural` alone
    /// (the core group's `v1`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseApiResourceError {
            text: text.to_owned(),
        };
        let parts: Vec<&str> = text.split('/').collect();
        let (group, version, plural) = match parts[..] {
            [plural] => ("", "v1", plural),
            [version, plural] => ("", version, plural),
            [group, version, plural] if !group.is_empty() => (group, version, plural),
            _ => return Err(refused()),
        };
        if version.is_empty() || plural.is_empty() {
            return Err(refused());
        }
        Ok(Self::from_gvr(
            group.to_owned(),
            version.to_owned(),
            plural.to_owned(),
        ))
    }
}

/// Text that names no resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseApiResourceError {
    text: String,
}

impl fmt::Display for ParseApiResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not of the form group/version/plural", self.text)
    }
}

impl std::error::Error for ParseApiResourceError {}

impl<K> Resource for K
where
    K: k8s_openapi::Resource<Scope: Scope>,
{
    fn api_resource() -> ApiResource {
        ApiResource {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            plural: Cow::Borrowed(K::URL_PATH_SEGMENT),
            kind: Cow::Borrowed(K::KIND),
            namespaced: <K::Scope as Scope>::NAMESPACED,
        }
    }
}

/// The scopes of `k8s-openapi` that have collections. Not to be implemented elsewhere.
#[doc(hidden)]
pub trait Scope {
    /// Whether objects of this scope live in namespaces.
    const NAMESPACED: bool;
}

impl Scope for k8s_openapi::NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for k8s_openapi::ClusterResourceScope {
    const NAMESPACED: bool = false;
}

#[cfg(test)]
mod tests;
