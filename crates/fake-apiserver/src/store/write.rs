//! Writes: create, update, delete, with the bookkeeping an API server does on metadata.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Collection, Event, EventKind, Range, Store, Take};
use crate::object::{ObjectKey, Stored};
use crate::resource::Resource;
use crate::status::ApiError;

/// How a write is to be done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Write {
    /// Which part of the object the write may change.
    pub(crate) part: Part,
    /// Compute the answer and change nothing.
    pub(crate) dry_run: bool,
}

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it: direct access.
    #[default]
    Whole,
    /// All but the status, where the resource has a status subresource.
    Main,
    /// The status alone.
    Status,
}

/// What must hold for a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// What a delete did.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone; this is its last state.
    Gone(Arc<Stored>),
    /// The object waits for its finalizers.
    Terminating(Arc<Stored>),
}

impl Store {
    /// Stores a new object. `body` has name or generateName, and the namespace if it has one.
    pub(crate) fn create(
        &mut self,
        resource: &Resource,
        body: Map<String, Value>,
        write: Write,
    ) -> Result<Arc<Stored>, ApiError> {
        let (group, plural) = (resource.ty.group.as_str(), resource.ty.plural.as_str());
        let mut object = body;
        let mut metadata = take_metadata(&mut object)?;
        if text(&metadata, "resourceVersion").is_some_and(|rv| !rv.is_empty()) {
            return Err(ApiError::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let name = self.name_for(resource, &metadata)?;
        metadata.insert("name".to_owned(), json!(name));
        let namespace = text(&metadata, "namespace").unwrap_or_default().to_owned();
        let key = ObjectKey::new(&namespace, &name);
        if self.get(resource, &key).is_some() {
            return Err(ApiError::already_exists(group, plural, &name));
        }
        metadata.remove("deletionTimestamp");
        metadata.remove("deletionGracePeriodSeconds");
        metadata.insert("uid".to_owned(), json!(new_uid()));
        metadata.insert("creationTimestamp".to_owned(), json!(now()));
        if object.contains_key("spec") {
            metadata.insert("generation".to_owned(), json!(1));
        }
        default_fields(resource, &name, &mut metadata, &mut object);
        let stored = self.stamp(object, metadata);
        if write.dry_run {
            return Ok(stored);
        }
        self.commit(resource, EventKind::Added, &stored, None);
        if is_definition(resource) {
            self.serve_definition(&stored.to_value(resource));
        }
        Ok(stored)
    }

    /// Replaces an object by what `change` makes of its present state.
    ///
    /// # Errors
    ///
    /// 404 when it does not exist, 409 when the new state names another resource version or
    /// uid, and what `change` answers.
    pub(crate) fn update(
        &mut self,
        resource: &Resource,
        key: &ObjectKey,
        write: Write,
        change: impl FnOnce(Value) -> Result<Value, ApiError>,
    ) -> Result<Arc<Stored>, ApiError> {
        let (group, plural) = (resource.ty.group.as_str(), resource.ty.plural.as_str());
        let missing = || ApiError::not_found(group, plural, &key.name);
        let previous = Arc::clone(self.get(resource, key).ok_or_else(missing)?);
        let before = previous.to_value(resource);
        let Value::Object(mut object) = change(before.clone())? else {
            return Err(ApiError::bad_request("the object is not a JSON object"));
        };
        let Value::Object(before) = before else {
            return Err(missing());
        };
        let mut metadata = take_metadata(&mut object)?;
        if text(&metadata, "name").is_some_and(|name| name != key.name)
            || text(&metadata, "namespace").is_some_and(|ns| !ns.is_empty() && ns != key.namespace)
        {
            let message = "the name or namespace of the object does not match the name or namespace on the request";
            return Err(ApiError::bad_request(message));
        }
        if text(&metadata, "resourceVersion")
            .is_some_and(|rv| !rv.is_empty() && rv != previous.revision.to_string())
        {
            return Err(ApiError::stale(group, plural, &key.name));
        }
        if let Some(uid) =
            text(&metadata, "uid").filter(|uid| !uid.is_empty() && *uid != previous.uid)
        {
            let why = format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                previous.uid
            );
            return Err(ApiError::conflict(group, plural, &key.name, &why));
        }
        restrict(resource, write.part, &before, &mut object, &mut metadata);
        keep_system_fields(&before, &mut metadata);
        if changed_beyond_status(&before, &object)
            && let Some(generation) = metadata.get("generation").and_then(Value::as_u64)
        {
            metadata.insert("generation".to_owned(), json!(generation + 1));
        }
        if is_same(&before, &object, &metadata) {
            return Ok(previous);
        }
        let finished = metadata.contains_key("deletionTimestamp") && !has_finalizers(&metadata);
        let stored = self.stamp(object, metadata);
        if write.dry_run {
            return Ok(stored);
        }
        if finished {
            self.remove(resource, &stored, &previous);
        } else {
            self.commit(resource, EventKind::Modified, &stored, Some(previous));
            if is_definition(resource) {
                self.serve_definition(&stored.to_value(resource));
            }
        }
        Ok(stored)
    }

    /// Deletes an object, or marks it for deletion while it has finalizers.
    pub(crate) fn delete(
        &mut self,
        resource: &Resource,
        key: &ObjectKey,
        preconditions: &Preconditions,
        write: Write,
    ) -> Result<Deleted, ApiError> {
        let (group, plural) = (resource.ty.group.as_str(), resource.ty.plural.as_str());
        let missing = || ApiError::not_found(group, plural, &key.name);
        let previous = Arc::clone(self.get(resource, key).ok_or_else(missing)?);
        let revision = previous.revision.to_string();
        for (what, wanted, found) in [
            ("UID", &preconditions.uid, &previous.uid),
            (
                "ResourceVersion",
                &preconditions.resource_version,
                &revision,
            ),
        ] {
            if let Some(wanted) = wanted.as_ref().filter(|w| *w != found) {
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                return Err(ApiError::conflict(group, plural, &key.name, &why));
            }
        }
        let Value::Object(mut object) = previous.to_value(resource) else {
            return Err(missing());
        };
        let mut metadata = take_metadata(&mut object)?;
        if has_finalizers(&metadata) {
            if metadata.contains_key("deletionTimestamp") {
                return Ok(Deleted::Terminating(previous));
            }
            metadata.insert("deletionTimestamp".to_owned(), json!(now()));
            metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
            let stored = self.stamp(object, metadata);
            if !write.dry_run {
                self.commit(resource, EventKind::Modified, &stored, Some(previous));
            }
            return Ok(Deleted::Terminating(stored));
        }
        let stored = self.stamp(object, metadata);
        if !write.dry_run {
            self.remove(resource, &stored, &previous);
        }
        Ok(Deleted::Gone(stored))
    }

    /// Deletes every object of a resource, of one namespace where one is given.
    pub(super) fn delete_all(&mut self, resource: &Resource, namespace: Option<&str>) {
        let mut keys = Vec::new();
        let range = Range {
            namespace,
            after: None,
        };
        let read = self.read_at(resource, self.revision, &range, |object| {
            keys.push(object.key.clone());
            Take::More
        });
        debug_assert!(read.is_ok(), "the current revision is never compacted");
        for key in keys {
            if let Some(previous) = self.get(resource, &key).map(Arc::clone) {
                let Value::Object(mut object) = previous.to_value(resource) else {
                    continue;
                };
                let Some(Value::Object(metadata)) = object.remove("metadata") else {
                    continue;
                };
                let stored = self.stamp(object, metadata);
                self.remove(resource, &stored, &previous);
            }
        }
    }

    /// The object with the revision its write will get.
    fn stamp(
        &self,
        mut object: Map<String, Value>,
        mut metadata: Map<String, Value>,
    ) -> Arc<Stored> {
        metadata.insert(
            "resourceVersion".to_owned(),
            json!((self.revision + 1).to_string()),
        );
        object.insert("metadata".to_owned(), Value::Object(metadata));
        Arc::new(Stored::encode(&object))
    }

    fn remove(&mut self, resource: &Resource, last: &Arc<Stored>, previous: &Arc<Stored>) {
        self.commit(
            resource,
            EventKind::Deleted,
            last,
            Some(Arc::clone(previous)),
        );
        if resource.is("", "namespaces") {
            let others: Vec<_> = self
                .registry
                .all()
                .iter()
                .filter(|r| r.ty.namespaced)
                .cloned()
                .collect();
            for other in others {
                self.delete_all(&other, Some(&last.key.name));
            }
        }
        if is_definition(resource) {
            self.retire_definition(&last.key.name);
        }
    }

    fn commit(
        &mut self,
        resource: &Resource,
        kind: EventKind,
        object: &Arc<Stored>,
        previous: Option<Arc<Stored>>,
    ) {
        self.revision += 1;
        debug_assert_eq!(
            object.revision, self.revision,
            "an object carries the revision of its write"
        );
        let collection = self
            .collections
            .entry(resource.collection())
            .or_insert_with(Collection::new);
        if kind == EventKind::Deleted {
            collection.objects.remove(&object.key);
        } else {
            collection
                .objects
                .insert(object.key.clone(), Arc::clone(object));
        }
        let event = Event {
            revision: self.revision,
            kind,
            object: Arc::clone(object),
            previous,
        };
        collection.push(event, self.window);
    }

    fn name_for(
        &self,
        resource: &Resource,
        metadata: &Map<String, Value>,
    ) -> Result<String, ApiError> {
        let (group, kind) = (resource.ty.group.as_str(), resource.ty.kind.as_str());
        let named = text(metadata, "name").filter(|n| !n.is_empty());
        let name = match (
            named,
            text(metadata, "generateName").filter(|n| !n.is_empty()),
        ) {
            (Some(name), _) => name.to_owned(),
            (None, Some(prefix)) => {
                let namespace = text(metadata, "namespace").unwrap_or_default();
                let mut name = generated_name(prefix);
                // The real server gives up after some collisions; here a free name exists.
                while self
                    .get(resource, &ObjectKey::new(namespace, &name))
                    .is_some()
                {
                    name = generated_name(prefix);
                }
                name
            }
            (None, None) => {
                let message = "Required value: name or generateName is required";
                return Err(ApiError::invalid(group, kind, "", "metadata.name", message));
            }
        };
        let free_form = group == "rbac.authorization.k8s.io";
        let valid = name.len() <= 253
            && name.bytes().all(|c| match c {
                b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => true,
                b'/' | b'%' => false,
                _ => free_form,
            })
            && !name.starts_with(['-', '.'])
            && !name.ends_with(['-', '.']);
        if valid {
            Ok(name)
        } else {
            let message = "Invalid value: a lowercase RFC 1123 subdomain is required";
            Err(ApiError::invalid(
                group,
                kind,
                &name,
                "metadata.name",
                message,
            ))
        }
    }
}

/// Leaves in place what this endpoint may not change.
fn restrict(
    resource: &Resource,
    part: Part,
    before: &Map<String, Value>,
    object: &mut Map<String, Value>,
    metadata: &mut Map<String, Value>,
) {
    match part {
        Part::Main if resource.status_subresource => match before.get("status") {
            Some(status) => {
                object.insert("status".to_owned(), status.clone());
            }
            None => {
                object.remove("status");
            }
        },
        Part::Main | Part::Whole => {}
        Part::Status => {
            let status = object.remove("status");
            object.clone_from(before);
            object.remove("metadata");
            object.remove("status");
            if let Some(status) = status {
                object.insert("status".to_owned(), status);
            }
            if let Some(Value::Object(kept)) = before.get("metadata") {
                metadata.clone_from(kept);
            }
        }
    }
}

/// Clients cannot change what the server keeps in the metadata.
fn keep_system_fields(before: &Map<String, Value>, metadata: &mut Map<String, Value>) {
    let Some(Value::Object(old)) = before.get("metadata") else {
        return;
    };
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "generateName",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        match old.get(field) {
            Some(value) => {
                metadata.insert(field.to_owned(), value.clone());
            }
            None => {
                metadata.remove(field);
            }
        }
    }
}

fn changed_beyond_status(before: &Map<String, Value>, object: &Map<String, Value>) -> bool {
    let own = |field: &str| !matches!(field, "metadata" | "status" | "kind" | "apiVersion");
    let fields = |map: &Map<String, Value>| map.keys().filter(|k| own(k)).count();
    fields(before) != fields(object)
        || before
            .iter()
            .any(|(k, v)| own(k) && object.get(k) != Some(v))
}

/// Whether a write would change nothing: it then gets no new revision.
fn is_same(
    before: &Map<String, Value>,
    object: &Map<String, Value>,
    metadata: &Map<String, Value>,
) -> bool {
    let Some(Value::Object(old)) = before.get("metadata") else {
        return false;
    };
    let content = |map: &Map<String, Value>| {
        map.iter()
            .filter(|(k, v)| {
                !matches!(k.as_str(), "metadata" | "kind" | "apiVersion") && !v.is_null()
            })
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Map<String, Value>>()
    };
    let meta = |map: &Map<String, Value>| {
        map.iter()
            .filter(|(k, _)| k.as_str() != "resourceVersion")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Map<String, Value>>()
    };
    content(before) == content(object) && meta(old) == meta(metadata)
}

fn default_fields(
    resource: &Resource,
    name: &str,
    metadata: &mut Map<String, Value>,
    object: &mut Map<String, Value>,
) {
    let default_in = |object: &mut Map<String, Value>, field: &str, key: &str, value: Value| {
        if let Value::Object(part) = object.entry(field).or_insert_with(|| json!({})) {
            part.entry(key).or_insert(value);
        }
    };
    if resource.is("", "pods") {
        default_in(object, "status", "phase", json!("Pending"));
    } else if resource.is("", "namespaces") {
        default_in(object, "status", "phase", json!("Active"));
        if let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| json!({})) {
            labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
        }
    } else if is_definition(resource) {
        let accepted = json!([
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts",
             "message": "no conflicts found", "lastTransitionTime": now()},
            {"type": "Established", "status": "True", "reason": "InitialNamesAccepted",
             "message": "the initial names have been accepted", "lastTransitionTime": now()},
        ]);
        let names = object
            .get("spec")
            .and_then(|s| s.get("names"))
            .cloned()
            .unwrap_or_default();
        let status = json!({"acceptedNames": names, "conditions": accepted, "storedVersions": []});
        object.insert("status".to_owned(), status);
    }
}

fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

fn take_metadata(object: &mut Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    match object.remove("metadata") {
        Some(Value::Object(metadata)) => Ok(metadata),
        None | Some(Value::Null) => Ok(Map::new()),
        Some(_) => Err(ApiError::bad_request("metadata is not an object")),
    }
}

fn has_finalizers(metadata: &Map<String, Value>) -> bool {
    metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .is_some_and(|f| !f.is_empty())
}

fn text<'v>(map: &'v Map<String, Value>, field: &str) -> Option<&'v str> {
    map.get(field)?.as_str()
}

fn generated_name(prefix: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let suffix = (0..5).map(|_| char::from(ALPHABET[fastrand::usize(..ALPHABET.len())]));
    prefix.chars().take(248).chain(suffix).collect()
}

fn new_uid() -> String {
    let mut n = fastrand::u128(..);
    n = (n & !(0xf << 76)) | (0x4 << 76);
    n = (n & !(0x3 << 62)) | (0x2 << 62);
    let hex = format!("{n:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}
