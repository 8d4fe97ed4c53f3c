//! [`Scope`]: which objects of a resource an informer holds.

/// Which objects of a resource an informer holds: a namespace or all, and what label and
/// field selectors leave. The server applies them, on every request.
///
/// # Examples
/// ```
/// use informers::Scope;
///
/// let mine = Scope::all()
///     .in_namespace("shop")
///     .with_label_selector("app in (web, api), !canary")
///     .with_field_selector("spec.nodeName=node-7");
/// assert_eq!(mine.namespace(), Some("shop"));
/// ```
///
/// # Upstream
/// `WithNamespace`, `WithTweakListOptions`. The fields that the protocol itself sets
/// cannot be tweaked here.
#[doc(alias = "WithTweakListOptions")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    namespace: Option<String>,
    label_selector: Option<String>,
    field_selector: Option<String>,
}

impl Scope {
    /// All objects of all namespaces.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only objects of `namespace`; the empty text means all.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// Only objects that a label selector matches, in the API's syntax.
    #[must_use]
    pub fn with_label_selector(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into()).filter(|selector| !selector.is_empty());
        self
    }

    /// Only objects that a field selector matches, in the API's syntax.
    #[must_use]
    pub fn with_field_selector(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into()).filter(|selector| !selector.is_empty());
        self
    }

    /// The namespace; `None` for all.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The label selector.
    pub fn label_selector(&self) -> Option<&str> {
        self.label_selector.as_deref()
    }

    /// The field selector.
    pub fn field_selector(&self) -> Option<&str> {
        self.field_selector.as_deref()
    }

    pub(crate) fn without_namespace(mut self) -> Self {
        self.namespace = None;
        self
    }
}
