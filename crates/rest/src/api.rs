//! [`Api`]: the calls besides list and watch that a controller makes, typed.

mod options;
mod patch;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, Method};
use informers_cache_core::{ListItem, Object, Undecodable};
use informers_objects::{ApiResource, Decode, FromWire, Resource};
use informers_reflector::{
    Error, ListMeta, ListOptions, ListPart, ListerWatcher as _, TransportKind,
};
use serde::Serialize;

pub use self::options::{DeleteOptions, Propagation, Selection, WriteOptions};
pub use self::patch::Patch;
use crate::client::Client;
use crate::list_watch::ListWatch;
use crate::request::{Request, encode};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Reads and writes the objects of one resource, by requests to the server.
///
/// For reading what an informer watches, use its lister: it costs no request.
///
/// # Cancel safety
/// Dropping the future of a write leaves it open whether the server has acted.
///
/// # Examples
/// ```no_run
/// # use informers_rest::{Api, Client, Config, Patch, WriteOptions};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Config::infer()?)?;
/// let maps = Api::<ConfigMap>::in_namespace(client, "shop");
/// let patch = Patch::merge(&serde_json::json!({"data": {"color": "blue"}}))?;
/// maps.patch("settings", &patch, &WriteOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Upstream
/// The typed clients of client-go, and `dynamic.ResourceInterface`.
#[doc(alias = "ResourceInterface")]
pub struct Api<K> {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    decode: Arc<dyn Decode<K>>,
}

/// A list that was read whole.
#[derive(Debug, Clone)]
pub struct ObjectList<K> {
    /// The objects.
    pub items: Vec<K>,
    /// Those that do not fit the type.
    pub undecodable: Vec<Undecodable>,
    /// The list's metadata.
    pub meta: ListMeta,
}

impl<K: FromWire + Resource> Api<K> {
    /// Cluster-scoped objects; or those of every namespace, to list and, for objects
    /// that name their namespace, to write.
    pub fn all(client: Client) -> Self {
        Self::new(client, K::api_resource(), K::decoder())
    }

    /// Those of one namespace.
    pub fn in_namespace(client: Client, namespace: impl Into<String>) -> Self {
        Self::all(client).with_namespace(namespace)
    }
}

impl<K: Object> Api<K> {
    /// The objects of `resource`, decoded by `decode`: for resources known at run time.
    pub fn new(client: Client, resource: ApiResource, decode: Arc<dyn Decode<K>>) -> Self {
        Self {
            client,
            resource,
            namespace: None,
            decode,
        }
    }

    /// Confines it to one namespace.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// One object.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if it is not there;
    /// [`is_decode`](Error::is_decode) if it does not fit the type.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        let path = self.object_path(self.namespace.as_deref(), name)?;
        self.object(Request::get(path)).await
    }

    /// The objects that `selection` selects, all pages of them.
    pub async fn list(&self, selection: &Selection) -> Result<ObjectList<K>, Error> {
        let decode = Arc::clone(&self.decode);
        let mut pages = ListWatch::new(self.client.clone(), self.resource.clone(), decode)
            .with_label_selector(&selection.labels)
            .with_field_selector(&selection.fields);
        if let Some(namespace) = &self.namespace {
            pages = pages.in_namespace(namespace);
        }
        let mut list = ObjectList {
            items: Vec::new(),
            undecodable: Vec::new(),
            meta: ListMeta::default(),
        };
        let mut options = ListOptions {
            limit: selection.page_size,
            ..ListOptions::default()
        };
        loop {
            let mut page = pages.list(options.clone());
            while let Some(part) = page.try_next().await? {
                match part {
                    ListPart::Items(items) => list.add(items),
                    ListPart::End(meta) => list.meta = meta,
                }
            }
            let next = list.meta.continue_token.take();
            if next.is_none() || next == options.continue_token {
                return Ok(list);
            }
            options.continue_token = next;
        }
    }

    /// Creates an object; in its own namespace, if this is not confined to one.
    ///
    /// # Errors
    /// Status 409 `AlreadyExists` if there is one of that name.
    pub async fn create(&self, object: &K, options: &WriteOptions) -> Result<K, Error>
    where
        K: Serialize,
    {
        let namespace = self.namespace.as_deref().or(object.namespace());
        let path = self.collection_path(namespace)?;
        self.write(Method::POST, path, object, options).await
    }

    /// Replaces an object by another version of it.
    ///
    /// # Errors
    /// Status 409 `Conflict` if the object carries a resource version that is no longer
    /// the newest.
    #[doc(alias = "Update")]
    pub async fn replace(&self, object: &K, options: &WriteOptions) -> Result<K, Error>
    where
        K: Serialize,
    {
        let namespace = self.namespace.as_deref().or(object.namespace());
        let path = self.object_path(namespace, object.name())?;
        self.write(Method::PUT, path, object, options).await
    }

    /// Replaces the status of an object, and nothing else.
    #[doc(alias = "UpdateStatus")]
    pub async fn replace_status(&self, object: &K, options: &WriteOptions) -> Result<K, Error>
    where
        K: Serialize,
    {
        let namespace = self.namespace.as_deref().or(object.namespace());
        let path = self.object_path(namespace, object.name())?;
        let path = format!("{path}/status");
        self.write(Method::PUT, path, object, options).await
    }

    /// Changes an object.
    pub async fn patch(
        &self,
        name: &str,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<K, Error> {
        let path = self.object_path(self.namespace.as_deref(), name)?;
        self.object(patch.request(path, options)).await
    }

    /// Changes the status of an object.
    pub async fn patch_status(
        &self,
        name: &str,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<K, Error> {
        let path = self.object_path(self.namespace.as_deref(), name)?;
        let path = format!("{path}/status");
        self.object(patch.request(path, options)).await
    }

    /// Deletes an object. `Some` if it is still there, waiting for its finalizers or its
    /// grace period.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Option<K>, Error> {
        let path = self.object_path(self.namespace.as_deref(), name)?;
        let request = Request::new(Method::DELETE, path).body(JSON, options.body()?);
        let body = self.client.request(request).await?;
        if is_status(&body) {
            return Ok(None);
        }
        self.decoded(&body).map(Some)
    }

    /// Deletes all objects that `selection` selects.
    pub async fn delete_collection(
        &self,
        selection: &Selection,
        options: &DeleteOptions,
    ) -> Result<(), Error> {
        let path = self.resource.path(self.namespace.as_deref());
        let mut request = Request::new(Method::DELETE, path).body(JSON, options.body()?);
        if !selection.labels.is_empty() {
            request.push_query("labelSelector", &selection.labels);
        }
        if !selection.fields.is_empty() {
            request.push_query("fieldSelector", &selection.fields);
        }
        self.client.request(request).await.map(drop)
    }

    async fn write(
        &self,
        method: Method,
        path: String,
        object: &K,
        options: &WriteOptions,
    ) -> Result<K, Error>
    where
        K: Serialize,
    {
        let body = to_json(object)?;
        let mut request = Request::new(method, path).body(JSON, body);
        options.add_to(&mut request);
        self.object(request).await
    }

    async fn object(&self, request: Request) -> Result<K, Error> {
        let accept = HeaderValue::from_str(self.decode.accept())
            .map_err(|error| Error::transport(TransportKind::Config, error))?;
        let body = self.client.request(request.accept(accept)).await?;
        self.decoded(&body)
    }

    fn decoded(&self, body: &[u8]) -> Result<K, Error> {
        self.decode
            .decode(body)
            .map_err(|error| Error::decode("the object", error))
    }

    /// The path of the collection that objects of `namespace` are written to.
    fn collection_path(&self, namespace: Option<&str>) -> Result<String, Error> {
        if self.resource.namespaced && namespace.is_none() {
            let resource = self.resource.to_string();
            return Err(Error::transport(
                TransportKind::Config,
                Incomplete::Namespace(resource),
            ));
        }
        Ok(self.resource.path(namespace))
    }

    fn object_path(&self, namespace: Option<&str>, name: &str) -> Result<String, Error> {
        if name.is_empty() {
            // The path would be that of the whole collection.
            let resource = self.resource.to_string();
            return Err(Error::transport(
                TransportKind::Config,
                Incomplete::Name(resource),
            ));
        }
        let mut path = self.collection_path(namespace)?;
        path.push('/');
        encode(&mut path, name);
        Ok(path)
    }
}

impl<K> ObjectList<K> {
    fn add(&mut self, items: Vec<ListItem<K>>) {
        for item in items {
            match item {
                ListItem::Object(object) => self.items.push(object),
                ListItem::Undecodable(undecodable) => self.undecodable.push(*undecodable),
            }
        }
    }
}

/// The object as the server takes it.
fn to_json<T: Serialize>(object: &T) -> Result<Bytes, Error> {
    let body = serde_json::to_vec(object)
        .map_err(|error| Error::transport(TransportKind::Config, error))?;
    Ok(body.into())
}

fn is_status(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        kind: Option<std::borrow::Cow<'a, str>>,
    }
    serde_json::from_slice(body).is_ok_and(|body: Kind<'_>| body.kind.as_deref() == Some("Status"))
}

/// What a path lacks; names the resource.
#[derive(Debug)]
enum Incomplete {
    Namespace(String),
    Name(String),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(resource) => write!(f, "a namespace is needed for one of {resource}"),
            Self::Name(resource) => write!(f, "a name is needed for one of {resource}"),
        }
    }
}

impl std::error::Error for Incomplete {}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            decode: Arc::clone(&self.decode),
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("client", &self.client)
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
