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
/// assert_eq!(mine.namespaces(), ["shop"]);
/// ```
///
/// # Upstream
/// `WithNamespace`, `WithTweakListOptions`. The fields that the protocol itself sets
/// cannot be tweaked here.
#[doc(alias = "WithTweakListOptions")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Sorted, each once; none: all.
    namespaces: Vec<String>,
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
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        self.in_namespaces([namespace])
    }

    /// Only objects of these namespaces; none, or an empty text among them, means all.
    /// Each has a watch of its own, all of them one informer.
    #[must_use]
    pub fn in_namespaces(
        mut self,
        namespaces: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        if self.namespaces.iter().any(String::is_empty) {
            self.namespaces.clear();
        }
        self.namespaces.sort();
        self.namespaces.dedup();
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

    /// The namespaces, sorted; none for all.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The label selector.
    pub fn label_selector(&self) -> Option<&str> {
        self.label_selector.as_deref()
    }

    /// The field selector.
    pub fn field_selector(&self) -> Option<&str> {
        self.field_selector.as_deref()
    }

    pub(crate) fn without_namespaces(mut self) -> Self {
        self.namespaces.clear();
        self
    }
}
