//! The `/scale` subresource of the workloads that have one.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{Answer, Call, header};
use crate::object::ObjectKey;
use crate::patch::{self, PatchKind};
use crate::request::{Target, Verb};
use crate::resource::Resource;
use crate::status::ApiError;

impl Call {
    /// GET, PUT and PATCH of a `Scale`.
    pub(super) fn scale(
        &self,
        resource: &Resource,
        target: &Target,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        let name = target.name.as_deref().unwrap_or_default();
        let key = ObjectKey::new(target.namespace.as_deref().unwrap_or_default(), name);
        let change: Box<dyn FnOnce(Value) -> Result<Value, ApiError>> = match self.record.verb {
            Verb::Get => {
                let missing = || ApiError::not_found(&resource.ty.group, &resource.ty.plural, name);
                let stored = self
                    .shared
                    .store()
                    .get(resource, &key)
                    .cloned()
                    .ok_or_else(missing)?;
                return Ok(Answer::json(200, &scale_of(&stored.to_value(resource))));
            }
            Verb::Update => {
                let wanted = self.parse_body(body)?;
                Box::new(move |_| Ok(wanted))
            }
            Verb::Patch => {
                let media_type = header(&self.headers, &CONTENT_TYPE);
                let kind = PatchKind::of_media_type(media_type).ok_or_else(|| {
                    ApiError::unsupported_media_type("the patch is of an unknown format")
                })?;
                let wanted = super::write::parse(body)?;
                Box::new(move |scale| patch::apply(kind, scale, &wanted))
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        let stored =
            self.shared
                .store()
                .update(resource, &key, self.how(target), |mut object| {
                    let scale = change(scale_of(&object))?;
                    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
                    if replicas < 0 {
                        let message = "must be greater than or equal to 0";
                        return Err(ApiError::invalid(
                            "autoscaling",
                            "Scale",
                            name,
                            "spec.replicas",
                            message,
                        ));
                    }
                    object["spec"]["replicas"] = json!(replicas);
                    if let Some(version) = scale["metadata"]["resourceVersion"].as_str() {
                        object["metadata"]["resourceVersion"] = json!(version);
                    }
                    Ok(object)
                })?;
        Ok(Answer::json(200, &scale_of(&stored.to_value(resource))))
    }
}

/// Whether a resource has a scale.
pub(crate) fn has_scale(resource: &Resource) -> bool {
    matches!(
        (resource.ty.group.as_str(), resource.ty.plural.as_str()),
        ("apps", "deployments" | "statefulsets" | "replicasets") | ("", "replicationcontrollers")
    )
}

fn scale_of(object: &Value) -> Value {
    let labels = object
        .pointer("/spec/selector/matchLabels")
        .and_then(Value::as_object);
    let selector = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",");
    let metadata = &object["metadata"];
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": object["spec"]["replicas"].as_i64().unwrap_or(1)},
        "status": {"replicas": object["status"]["replicas"].as_i64().unwrap_or_default(), "selector": selector},
    })
}
