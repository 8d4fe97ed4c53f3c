//! Which resources the server knows: the built-in groups in common use, those given
//! to the builder, and those that `CustomResourceDefinition`s add at run time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A resource type as discovery describes it.
///
/// # Examples
///
/// ```
/// use informers_fake_apiserver::ResourceType;
///
/// let widgets = ResourceType::new("example.com", "v1", "widgets", "Widget").with_short_name("wd");
/// assert_eq!(widgets.api_version(), "example.com/v1");
/// assert!(widgets.namespaced);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResourceType {
    /// API group; empty for the core group.
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Plural, lower case: the name in the path.
    pub plural: String,
    /// Singular, lower case.
    pub singular: String,
    /// Kind of one object.
    pub kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Short names kubectl accepts.
    pub short_names: Vec<String>,
}

impl ResourceType {
    /// A namespaced resource; the singular is the kind in lower case.
    pub fn new(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_ascii_lowercase(),
            kind: kind.to_owned(),
            namespaced: true,
            short_names: Vec::new(),
        }
    }

    /// The same resource without namespaces.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// Adds a short name.
    #[must_use]
    pub fn with_short_name(mut self, short_name: &str) -> Self {
        self.short_names.push(short_name.to_owned());
        self
    }

    /// `v1` for the core group, otherwise `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods` for the core group, otherwise `plural.group`.
    pub fn qualified_plural(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// Where objects of a resource are kept: all versions of a resource share one collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CollectionKey {
    pub(crate) group: String,
    pub(crate) plural: String,
}

/// Who brought a resource in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// One of the built-in groups.
    BuiltIn,
    /// Given to the builder.
    Builder,
    /// Served because of the `CustomResourceDefinition` of this name.
    Definition(String),
}

/// A resource type with what the server must know to serve it.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) ty: ResourceType,
    pub(crate) origin: Origin,
    /// Writes to the main endpoint leave `status` alone.
    pub(crate) status_subresource: bool,
    /// Field selector paths beyond metadata.name and metadata.namespace; `None` allows every path.
    pub(crate) selectable: Option<Vec<String>>,
    /// `"kind":"Pod","apiVersion":"v1",` as the start of each object.
    pub(crate) type_meta: String,
}

impl Resource {
    pub(crate) fn new(
        ty: ResourceType,
        origin: Origin,
        status: bool,
        selectable: Option<Vec<String>>,
    ) -> Self {
        let type_meta = format!(
            "\"kind\":{},\"apiVersion\":{},",
            Value::from(ty.kind.as_str()),
            Value::from(ty.api_version())
        );
        Self {
            ty,
            origin,
            status_subresource: status,
            selectable,
            type_meta,
        }
    }

    pub(crate) fn collection(&self) -> CollectionKey {
        CollectionKey {
            group: self.ty.group.clone(),
            plural: self.ty.plural.clone(),
        }
    }

    /// Items of a list of custom resources carry kind and apiVersion, those of built-in types do not.
    pub(crate) fn items_carry_type(&self) -> bool {
        self.origin != Origin::BuiltIn
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.ty.group == group && self.ty.plural == plural
    }
}

/// One row a built-in resource: group, version, plural, kind, flags, short names.
/// Flags: `n` namespaced, `s` with a status subresource.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const BUILT_IN: &[Row] = &[
    ("", "v1", "pods", "Pod", "ns", &["po"]),
    ("", "v1", "nodes", "Node", "s", &["no"]),
    ("", "v1", "namespaces", "Namespace", "s", &["ns"]),
    ("", "v1", "configmaps", "ConfigMap", "n", &["cm"]),
    ("", "v1", "secrets", "Secret", "n", &[]),
    ("", "v1", "services", "Service", "ns", &["svc"]),
    ("", "v1", "endpoints", "Endpoints", "n", &["ep"]),
    ("", "v1", "events", "Event", "n", &["ev"]),
    ("", "v1", "serviceaccounts", "ServiceAccount", "n", &["sa"]),
    (
        "",
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        "s",
        &["pv"],
    ),
    (
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        "ns",
        &["pvc"],
    ),
    (
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        "ns",
        &["rc"],
    ),
    ("", "v1", "limitranges", "LimitRange", "n", &["limits"]),
    (
        "",
        "v1",
        "resourcequotas",
        "ResourceQuota",
        "ns",
        &["quota"],
    ),
    ("", "v1", "podtemplates", "PodTemplate", "n", &[]),
    ("apps", "v1", "deployments", "Deployment", "ns", &["deploy"]),
    ("apps", "v1", "statefulsets", "StatefulSet", "ns", &["sts"]),
    ("apps", "v1", "daemonsets", "DaemonSet", "ns", &["ds"]),
    ("apps", "v1", "replicasets", "ReplicaSet", "ns", &["rs"]),
    (
        "apps",
        "v1",
        "controllerrevisions",
        "ControllerRevision",
        "n",
        &[],
    ),
    ("batch", "v1", "jobs", "Job", "ns", &[]),
    ("batch", "v1", "cronjobs", "CronJob", "ns", &["cj"]),
    (
        "networking.k8s.io",
        "v1",
        "ingresses",
        "Ingress",
        "ns",
        &["ing"],
    ),
    (
        "networking.k8s.io",
        "v1",
        "ingressclasses",
        "IngressClass",
        "",
        &[],
    ),
    (
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "NetworkPolicy",
        "n",
        &["netpol"],
    ),
    ("coordination.k8s.io", "v1", "leases", "Lease", "n", &[]),
    ("rbac.authorization.k8s.io", "v1", "roles", "Role", "n", &[]),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "rolebindings",
        "RoleBinding",
        "n",
        &[],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "clusterroles",
        "ClusterRole",
        "",
        &[],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        "",
        &[],
    ),
    (
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        "ns",
        &["pdb"],
    ),
    (
        "storage.k8s.io",
        "v1",
        "storageclasses",
        "StorageClass",
        "",
        &["sc"],
    ),
    (
        "storage.k8s.io",
        "v1",
        "volumeattachments",
        "VolumeAttachment",
        "s",
        &[],
    ),
    ("storage.k8s.io", "v1", "csidrivers", "CSIDriver", "", &[]),
    ("storage.k8s.io", "v1", "csinodes", "CSINode", "", &[]),
    (
        "storage.k8s.io",
        "v1",
        "csistoragecapacities",
        "CSIStorageCapacity",
        "n",
        &[],
    ),
    (
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "EndpointSlice",
        "n",
        &[],
    ),
    ("events.k8s.io", "v1", "events", "Event", "n", &["ev"]),
    (
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        "ns",
        &["hpa"],
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "s",
        &["crd", "crds"],
    ),
    (
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        "",
        &["pc"],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        "",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        "s",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        "",
        &[],
    ),
];

/// Field selector paths of a built-in resource beyond metadata.name and metadata.namespace.
fn selectable_fields(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    }
}

/// Every resource served, in the order of discovery.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    resources: Vec<std::sync::Arc<Resource>>,
}

impl Registry {
    pub(crate) fn built_in() -> Self {
        let resources = BUILT_IN
            .iter()
            .map(|(group, version, plural, kind, flags, short)| {
                let mut ty = ResourceType::new(group, version, plural, kind);
                ty.namespaced = flags.contains('n');
                ty.short_names = short.iter().map(|s| (*s).to_owned()).collect();
                let fields = selectable_fields(group, plural)
                    .iter()
                    .map(|f| (*f).to_owned())
                    .collect();
                std::sync::Arc::new(Resource::new(
                    ty,
                    Origin::BuiltIn,
                    flags.contains('s'),
                    Some(fields),
                ))
            })
            .collect();
        Self { resources }
    }

    pub(crate) fn all(&self) -> &[std::sync::Arc<Resource>] {
        &self.resources
    }

    /// Adds a resource; one of the same group, version and plural is replaced.
    pub(crate) fn add(&mut self, resource: Resource) {
        self.resources.retain(|r| {
            !(r.ty.group == resource.ty.group
                && r.ty.version == resource.ty.version
                && r.ty.plural == resource.ty.plural)
        });
        self.resources.push(std::sync::Arc::new(resource));
    }

    /// Takes out what a definition brought in and returns it.
    pub(crate) fn remove_definition(&mut self, definition: &str) -> Vec<std::sync::Arc<Resource>> {
        let origin = Origin::Definition(definition.to_owned());
        let (gone, kept) = self.resources.drain(..).partition(|r| r.origin == origin);
        self.resources = kept;
        gone
    }

    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<&std::sync::Arc<Resource>> {
        self.resources
            .iter()
            .find(|r| r.ty.group == group && r.ty.version == version && r.ty.plural == plural)
    }

    /// By the two type fields of an object.
    pub(crate) fn find_kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Option<&std::sync::Arc<Resource>> {
        self.resources
            .iter()
            .find(|r| r.ty.kind == kind && r.ty.api_version() == api_version)
    }

    /// By `pods`, `deployments.apps`, `deployments` or `apps/v1/deployments`.
    pub(crate) fn find_name(&self, name: &str) -> Option<&std::sync::Arc<Resource>> {
        let mut parts = name.rsplitn(3, '/');
        if let (Some(plural), Some(version)) = (parts.next(), parts.next()) {
            return self.find(parts.next().unwrap_or_default(), version, plural);
        }
        self.resources
            .iter()
            .find(|r| r.ty.qualified_plural() == name)
            .or_else(|| self.resources.iter().find(|r| r.ty.plural == name))
    }
}

/// The resources that a `CustomResourceDefinition`'s JSON asks for: one for each served version.
pub(crate) fn resources_of_definition(definition: &Value) -> Vec<Resource> {
    let text = |path: &str| {
        definition
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let plural = text("/spec/names/plural");
    let kind = text("/spec/names/kind");
    if plural.is_empty() || kind.is_empty() {
        return Vec::new();
    }
    let name = text("/metadata/name");
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    versions
        .into_iter()
        .flatten()
        .filter(|v| v["served"].as_bool().unwrap_or(true))
        .filter_map(|v| {
            let mut ty = ResourceType::new(text("/spec/group"), v["name"].as_str()?, plural, kind);
            ty.namespaced = text("/spec/scope") != "Cluster";
            let singular = text("/spec/names/singular");
            if !singular.is_empty() {
                singular.clone_into(&mut ty.singular);
            }
            let short = definition
                .pointer("/spec/names/shortNames")
                .and_then(Value::as_array);
            ty.short_names = short
                .into_iter()
                .flatten()
                .filter_map(|s| Some(s.as_str()?.to_owned()))
                .collect();
            let selectable = v["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|f| Some(f["jsonPath"].as_str()?.trim_start_matches('.').to_owned()))
                .collect();
            let status = v.pointer("/subresources/status").is_some();
            Some(Resource::new(
                ty,
                Origin::Definition(name.to_owned()),
                status,
                Some(selectable),
            ))
        })
        .collect()
}
