//! Direct access to the server's objects, without HTTP.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::object::{ObjectKey, Stored};
use crate::resource::Resource;
use crate::server::Shared;
use crate::status::ApiError;
use crate::store::{Preconditions, Range, Store, Take, Write};
use crate::{patch, seed};

/// A handle on the server's objects; cheap to clone.
///
/// Each call is one synchronous, linearizable operation: when it returns, every request
/// that starts afterwards sees it, and open watches will be told. Namespaces need not
/// exist, and a write may change the status, unlike over HTTP.
///
/// Resources are named `pods`, `deployments.apps` or `apps/v1/deployments`; objects by
/// `namespace/name`, or `name` when they have no namespace.
///
/// # Examples
///
/// ```
/// # use informers_fake_apiserver::FakeApiServer;
/// # use serde_json::json;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = FakeApiServer::start().await?;
/// let cluster = server.cluster();
/// cluster.seed_pods(10, 2);
/// cluster.patch_merge("pods", "default/pod-3", json!({"status": {"phase": "Failed"}}))?;
/// cluster.delete("pods", "default/pod-4")?;
/// assert_eq!(cluster.list("pods").len(), 9);
/// # server.shutdown().await; Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) shared: Arc<Shared>,
}

impl Cluster {
    /// Creates an object; its type is read from `kind` and `apiVersion`.
    ///
    /// # Errors
    ///
    /// 404 for an unknown type, 409 when it exists, 422 for an invalid name, 400 for what is no object.
    pub fn create(&self, object: impl Serialize) -> Result<Value, ApiError> {
        let value = to_value(object)?;
        let mut store = self.shared.store();
        let resource = resource_of(&store, &value)?;
        let Value::Object(mut object) = value else {
            return Err(not_an_object());
        };
        if resource.ty.namespaced
            && let Value::Object(metadata) = object.entry("metadata").or_insert_with(|| json!({}))
        {
            metadata
                .entry("namespace")
                .or_insert_with(|| json!("default"));
        }
        let stored = store.create(&resource, object, Write::default())?;
        Ok(stored.to_value(&resource))
    }

    /// Replaces an object. A `resourceVersion` in it must be the present one.
    ///
    /// # Errors
    ///
    /// 404 when it does not exist, 409 for a stale resource version or another uid.
    pub fn update(&self, object: impl Serialize) -> Result<Value, ApiError> {
        let value = to_value(object)?;
        let mut store = self.shared.store();
        let resource = resource_of(&store, &value)?;
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
        let namespace = match (resource.ty.namespaced, text("namespace")) {
            (true, "") => "default",
            (true, namespace) => namespace,
            (false, _) => "",
        };
        let key = ObjectKey::new(namespace, text("name"));
        let stored = store.update(&resource, &key, Write::default(), |_| Ok(value))?;
        Ok(stored.to_value(&resource))
    }

    /// Applies a merge patch (RFC 7386), to the status too.
    ///
    /// # Errors
    ///
    /// 404 when the object does not exist, 409 when the patch names a stale resource version.
    pub fn patch_merge(
        &self,
        resource: &str,
        key: &str,
        patch: impl Serialize,
    ) -> Result<Value, ApiError> {
        let patch = to_value(patch)?;
        let mut store = self.shared.store();
        let resource = named(&store, resource)?;
        let stored = store.update(
            &resource,
            &object_key(&resource, key),
            Write::default(),
            |before| patch::apply(patch::PatchKind::Merge, before, &patch),
        )?;
        Ok(stored.to_value(&resource))
    }

    /// Deletes an object, or marks it while it has finalizers. Returns its last state.
    ///
    /// # Errors
    ///
    /// 404 when it does not exist.
    pub fn delete(&self, resource: &str, key: &str) -> Result<Value, ApiError> {
        let mut store = self.shared.store();
        let resource = named(&store, resource)?;
        let key = object_key(&resource, key);
        let deleted = store.delete(&resource, &key, &Preconditions::default(), Write::default())?;
        let (crate::store::Deleted::Gone(last) | crate::store::Deleted::Terminating(last)) =
            deleted;
        Ok(last.to_value(&resource))
    }

    /// An object, `None` when it (or its resource) does not exist.
    pub fn get(&self, resource: &str, key: &str) -> Option<Value> {
        let store = self.shared.store();
        let resource = named(&store, resource).ok()?;
        let stored = Arc::clone(store.get(&resource, &object_key(&resource, key))?);
        drop(store);
        Some(stored.to_value(&resource))
    }

    /// All objects of a resource, in key order; none of an unknown resource.
    pub fn list(&self, resource: &str) -> Vec<Value> {
        let store = self.shared.store();
        let Ok(resource) = named(&store, resource) else {
            return Vec::new();
        };
        let objects = all_of(&store, &resource);
        drop(store);
        objects.iter().map(|o| o.to_value(&resource)).collect()
    }

    /// Keys and resource versions of all objects of a resource, in key order.
    pub fn versions(&self, resource: &str) -> Vec<(String, String)> {
        let store = self.shared.store();
        let Ok(resource) = named(&store, resource) else {
            return Vec::new();
        };
        all_of(&store, &resource)
            .iter()
            .map(|o| (o.key.to_string(), o.revision.to_string()))
            .collect()
    }

    /// Keys of all objects of a resource, in order.
    pub fn keys(&self, resource: &str) -> Vec<String> {
        self.versions(resource)
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    }

    /// How many objects a resource has.
    pub fn count(&self, resource: &str) -> usize {
        let store = self.shared.store();
        named(&store, resource).map_or(0, |r| {
            store.count(
                &r,
                &Range {
                    namespace: None,
                    after: None,
                },
            )
        })
    }

    /// The revision of the latest write.
    pub fn revision(&self) -> u64 {
        self.shared.store().revision()
    }

    /// Forgets the event history: watches and exact reads from older revisions get 410. Open
    /// watches go on.
    pub fn compact(&self) {
        self.shared.store().compact();
    }

    /// Takes state and revision back, as a restore from a backup does. Open watches end; later
    /// writes use the revisions after `revision` again.
    ///
    /// # Errors
    ///
    /// 410 when the history does not reach back, 400 for a revision not reached yet.
    pub fn rollback(&self, revision: u64) -> Result<(), ApiError> {
        self.shared.store().rollback(revision)
    }

    /// Creates pods `pod-0` … in the namespace `default`, spread over the nodes `node-0` …
    /// (which need not exist; with 0 nodes the pods are bound to none). Those that exist are left alone.
    pub fn seed_pods(&self, pods: usize, nodes: usize) {
        for i in 0..pods {
            self.seed(seed::pod(i, nodes));
        }
    }

    /// Creates the nodes `node-0` …; those that exist are left alone.
    pub fn seed_nodes(&self, nodes: usize) {
        for i in 0..nodes {
            self.seed(seed::node(i));
        }
    }

    fn seed(&self, object: Value) {
        if let Err(error) = self.create(object) {
            debug_assert_eq!(error.reason(), "AlreadyExists", "seeds are valid objects");
        }
    }

    /// Creates objects of any resource, for the command line.
    ///
    /// # Errors
    ///
    /// 404 for an unknown resource.
    pub fn seed_resource(&self, resource: &str, count: usize) -> Result<(), ApiError> {
        let found = named(&self.shared.store(), resource)?;
        for i in 0..count {
            if found.is("", "pods") {
                self.seed(seed::pod(i, 20));
            } else if found.is("", "nodes") {
                self.seed(seed::node(i));
            } else {
                self.seed(seed::other(&found.ty, i));
            }
        }
        Ok(())
    }
}

fn all_of(store: &Store, resource: &Resource) -> Vec<Arc<Stored>> {
    let mut objects = Vec::new();
    let read = store.read_at(
        resource,
        store.revision(),
        &Range {
            namespace: None,
            after: None,
        },
        |object| {
            objects.push(Arc::clone(object));
            Take::More
        },
    );
    debug_assert!(read.is_ok(), "the current revision is never compacted");
    objects
}

fn to_value(object: impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(object)
        .map_err(|error| ApiError::bad_request(format!("not JSON: {error}")))
}

fn not_an_object() -> ApiError {
    ApiError::bad_request("the object is not a JSON object")
}

fn resource_of(store: &Store, object: &Value) -> Result<Arc<Resource>, ApiError> {
    if !object.is_object() {
        return Err(not_an_object());
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    store
        .registry()
        .find_kind(text("apiVersion"), text("kind"))
        .cloned()
        .ok_or_else(|| {
            let message = format!(
                "no resource serves kind {:?} of {:?}",
                text("kind"),
                text("apiVersion")
            );
            ApiError::new(404, "NotFound", message)
        })
}

fn named(store: &Store, resource: &str) -> Result<Arc<Resource>, ApiError> {
    store
        .registry()
        .find_name(resource)
        .cloned()
        .ok_or_else(|| {
            ApiError::new(
                404,
                "NotFound",
                format!("there is no resource {resource:?}"),
            )
        })
}

fn object_key(resource: &Resource, key: &str) -> ObjectKey {
    match key.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(namespace, name),
        None if resource.ty.namespaced => ObjectKey::new("default", key),
        None => ObjectKey::new("", key),
    }
}
