//! [`SmallPod`]: a pod of eight fields, as an agent or a gateway would keep it.

use informers_objects::{Identity, wire_type};
use serde::Deserialize;

/// A pod's identity (name, namespace, UID, resource version, labels) and three fields more.
///
/// # Memory
/// About 330 bytes a pod of the load server, half of them its labels.
#[derive(Debug, Deserialize)]
pub struct SmallPod {
    /// Five fields of the metadata.
    pub metadata: Identity,
    /// One field of the specification.
    pub spec: PodSpec,
    /// Two fields of the status.
    pub status: PodStatus,
}

/// What [`SmallPod`] keeps of a pod's specification.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Where it runs.
    pub node_name: Option<Box<str>>,
}

/// What [`SmallPod`] keeps of a pod's status.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// Its phase.
    pub phase: Option<Box<str>>,
    /// Its address.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<Box<str>>,
}

wire_type!(SmallPod => namespaced "" / "v1" / "pods", "Pod");
