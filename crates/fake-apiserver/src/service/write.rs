//! POST, PUT, PATCH and DELETE.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use super::{Answer, Call, header};
use crate::list::read_page;
use crate::object::{ObjectKey, Stored};
use crate::options::{ListOptions, Shape, Version};
use crate::patch::{self, PatchKind};
use crate::protobuf;
use crate::request::{Target, Verb};
use crate::resource::{Origin, Resource};
use crate::status::ApiError;
use crate::store::{Deleted, Part, Preconditions, Write};

impl Call {
    pub(super) fn write(
        &self,
        resource: &Resource,
        target: &Target,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        match (self.record.verb, target.name.as_deref()) {
            (Verb::Create, None) => self.create(resource, target, shape, body),
            (Verb::Update, Some(name)) => self.replace(resource, target, name, shape, body),
            (Verb::Patch, Some(name)) => self.patch(resource, target, name, shape, body),
            (Verb::Delete, Some(name)) if target.subresource.is_none() => {
                self.delete(resource, target, name, shape, body)
            }
            (Verb::DeleteCollection, None) => self.delete_collection(resource, shape, body),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    pub(super) fn how(&self, target: &Target) -> Write {
        let part = if target.subresource.as_deref() == Some("status") {
            Part::Status
        } else {
            Part::Main
        };
        Write {
            part,
            dry_run: self.record.param("dryRun") == Some("All"),
        }
    }

    fn create(
        &self,
        resource: &Resource,
        target: &Target,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        if resource.ty.namespaced && target.namespace.is_none() {
            return Err(ApiError::method_not_allowed());
        }
        let object = self.object_of(resource, target, body)?;
        let mut store = self.shared.store();
        if let Some(namespace) = &target.namespace
            && !self.shared.config.lenient_namespaces
            && !store.namespace_exists(namespace)
        {
            return Err(ApiError::not_found("", "namespaces", namespace));
        }
        let stored = store.create(resource, object, self.how(target))?;
        Ok(Answer::object(201, resource, &stored, shape))
    }

    fn replace(
        &self,
        resource: &Resource,
        target: &Target,
        name: &str,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        let object = self.object_of(resource, target, body)?;
        let key = key(target, name);
        let stored = self
            .shared
            .store()
            .update(resource, &key, self.how(target), move |_| {
                Ok(Value::Object(object))
            })?;
        Ok(Answer::object(200, resource, &stored, shape))
    }

    fn patch(
        &self,
        resource: &Resource,
        target: &Target,
        name: &str,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        let media_type = header(&self.headers, &CONTENT_TYPE);
        let unsupported = || {
            ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - {media_type}"
            ))
        };
        let kind = PatchKind::of_media_type(media_type).ok_or_else(unsupported)?;
        if kind == PatchKind::Strategic && resource.origin != Origin::BuiltIn {
            return Err(unsupported());
        }
        let patch = parse(body)?;
        let key = key(target, name);
        let how = self.how(target);
        let mut store = self.shared.store();
        if kind == PatchKind::Apply {
            if self.record.param("fieldManager").is_none_or(str::is_empty) {
                return Err(ApiError::bad_request(
                    "fieldManager is required for apply patch",
                ));
            }
            if store.get(resource, &key).is_none() {
                let mut object = check_object(resource, target, patch)?;
                name_it(&mut object, name);
                let namespace = target.namespace.as_deref().unwrap_or_default();
                if resource.ty.namespaced
                    && !self.shared.config.lenient_namespaces
                    && !store.namespace_exists(namespace)
                {
                    return Err(ApiError::not_found("", "namespaces", namespace));
                }
                let stored = store.create(resource, object, how)?;
                return Ok(Answer::object(201, resource, &stored, shape));
            }
        }
        let stored = store.update(resource, &key, how, |before| {
            patch::apply(kind, before, &patch)
        })?;
        Ok(Answer::object(200, resource, &stored, shape))
    }

    fn delete(
        &self,
        resource: &Resource,
        target: &Target,
        name: &str,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        let (preconditions, dry_run) = self.delete_options(body)?;
        let how = Write {
            part: Part::Whole,
            dry_run,
        };
        let deleted =
            self.shared
                .store()
                .delete(resource, &key(target, name), &preconditions, how)?;
        Ok(match deleted {
            Deleted::Terminating(object) => Answer::object(200, resource, &object, shape),
            Deleted::Gone(object) => Answer::json(200, &success(resource, &object)),
        })
    }

    fn delete_collection(
        &self,
        resource: &Resource,
        shape: Shape,
        body: &Bytes,
    ) -> Result<Answer, ApiError> {
        let (preconditions, dry_run) = self.delete_options(body)?;
        let mut options: ListOptions = self.options(resource)?;
        options.version = Version::Unset;
        options.version_match = None;
        let how = Write {
            part: Part::Whole,
            dry_run,
        };
        let mut store = self.shared.store();
        let page = read_page(&store, resource, &options, 0)?;
        for object in &page.items {
            store.delete(resource, &object.key, &preconditions, how)?;
        }
        drop(store);
        let size = page.size();
        let content = page.into_content(Arc::new(resource.clone()), shape);
        Ok(Answer {
            code: 200,
            content,
            content_type: "application/json",
            size,
            retry_after: None,
        })
    }

    fn delete_options(&self, body: &Bytes) -> Result<(Preconditions, bool), ApiError> {
        let in_query = self.record.param("dryRun") == Some("All");
        if body.is_empty() {
            return Ok((Preconditions::default(), in_query));
        }
        let options = self.parse_body(body)?;
        let text = |path: &str| {
            options
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let preconditions = Preconditions {
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
        };
        let in_body = options["dryRun"]
            .as_array()
            .is_some_and(|d| d.iter().any(|v| v == "All"));
        Ok((preconditions, in_query || in_body))
    }

    fn object_of(
        &self,
        resource: &Resource,
        target: &Target,
        body: &Bytes,
    ) -> Result<Map<String, Value>, ApiError> {
        check_object(resource, target, self.parse_body(body)?)
    }

    /// The body as JSON, whichever form it came in.
    pub(super) fn parse_body(&self, body: &Bytes) -> Result<Value, ApiError> {
        let media_type = header(&self.headers, &CONTENT_TYPE);
        match media_type.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" => parse(body),
            protobuf::MEDIA_TYPE => protobuf::decode(body),
            other => Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - {other} - accepted media types include: \
                 application/json, {}",
                protobuf::MEDIA_TYPE
            ))),
        }
    }
}

/// The object of a write, with the type and the namespace of its path.
fn check_object(
    resource: &Resource,
    target: &Target,
    value: Value,
) -> Result<Map<String, Value>, ApiError> {
    let Value::Object(mut object) = value else {
        return Err(ApiError::bad_request("the object is not a JSON object"));
    };
    let expected = [
        ("kind", resource.ty.kind.clone()),
        ("apiVersion", resource.ty.api_version()),
    ];
    for (field, expected) in expected {
        match object.get(field).and_then(Value::as_str) {
            None | Some("") => {}
            Some(found) if found == expected => {}
            Some(found) => {
                let message = format!(
                    "the {field} in the data ({found}) does not match the expected {field} ({expected})"
                );
                return Err(ApiError::bad_request(message));
            }
        }
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Value::Object(metadata) = metadata else {
        return Err(ApiError::bad_request("metadata is not an object"));
    };
    let found = metadata
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match &target.namespace {
        Some(namespace) if found.is_empty() => {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        Some(namespace) if found != namespace => {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(ApiError::bad_request(message));
        }
        Some(_) => {}
        None => {
            metadata.remove("namespace");
        }
    }
    Ok(object)
}

fn name_it(object: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("name".to_owned(), json!(name));
    }
}

fn key(target: &Target, name: &str) -> ObjectKey {
    ObjectKey::new(target.namespace.as_deref().unwrap_or_default(), name)
}

pub(super) fn parse(body: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("the body of the request is not JSON: {error}"))
    })
}

fn success(resource: &Resource, object: &Stored) -> Value {
    let mut details =
        json!({"name": object.key.name, "kind": resource.ty.plural, "uid": object.uid});
    if !resource.ty.group.is_empty() {
        details["group"] = json!(resource.ty.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
