//! [`ListWatch`]: the list and watch requests of one resource, decoded while they
//! arrive.

mod decoders;
mod list;
mod watch;

use std::fmt;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use futures_util::stream;
use http::header::HeaderValue;
use http::{Response, StatusCode};
use informers_cache_core::{Object, ResourceVersion};
use informers_objects::{ApiResource, Decode, FromWire, Resource};
use informers_reflector::{
    Error, ListOptions, ListStream, ListerWatcher, TransportKind, VersionMatch, WatchOptions,
    WatchStart,
};
use tokio::time::Instant;

use self::list::ListReader;
use self::watch::WatchReader;
use crate::body::Body;
use crate::client::{Client, Patience};
use crate::framing::Limits;
use crate::request::{Request, RequestKind};
use crate::status::failure;

/// Lists and watches one resource: in one namespace or all, whole or selected.
///
/// Objects are decoded one by one from the bytes as they arrive; a body is never held.
///
/// # Memory
/// One network read, one object's JSON, and a batch of at most 256 decoded objects. If
/// decoding [is expensive](Decode::is_expensive): for each core, and no more than four,
/// batches of 64 objects or 256 KiB of JSON, or of one object, instead.
///
/// # Threads
/// Objects that come in numbers and are expensive to decode are decoded on tokio's threads
/// for blocking work, and handed over in their order; others in the task that reads.
///
/// # Examples
/// ```no_run
/// # use informers_rest::{Client, Config, ListWatch};
/// # use k8s_openapi::api::core::v1::Pod;
/// let client = Client::new(Config::infer()?)?;
/// let pods = ListWatch::<Pod>::of(client)
///     .in_namespace("shop")
///     .with_label_selector("app=web");
/// # Ok::<(), informers_rest::ConfigError>(())
/// ```
///
/// # Upstream
/// `cache.ListWatch`, `cache.NewFilteredListWatchFromClient`.
#[doc(alias = "NewListWatchFromClient")]
#[doc(alias = "NewFilteredListWatchFromClient")]
pub struct ListWatch<T> {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    parameters: Vec<(String, String)>,
    decode: Arc<dyn Decode<T>>,
    watch_list: bool,
    limits: Limits,
    patience: Arc<Patience>,
}

impl<T: FromWire + Resource> ListWatch<T> {
    /// All objects of the type.
    pub fn of(client: Client) -> Self {
        Self::new(client, T::api_resource(), T::decoder())
    }
}

impl<T: 'static> ListWatch<T> {
    /// All objects of `resource`, decoded by `decode`.
    pub fn new(client: Client, resource: ApiResource, decode: Arc<dyn Decode<T>>) -> Self {
        Self {
            client,
            resource,
            namespace: None,
            parameters: Vec::new(),
            decode,
            watch_list: true,
            limits: Limits::default(),
            patience: Arc::default(),
        }
    }

    /// Those of one namespace only. Without meaning for cluster-scoped resources.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Those whose labels match, in the server's syntax: `app in (a,b),!old`.
    #[must_use]
    pub fn with_label_selector(self, selector: impl Into<String>) -> Self {
        self.with_parameter("labelSelector", selector)
    }

    /// Those whose fields match, in the server's syntax: `spec.nodeName=n1`.
    #[must_use]
    pub fn with_field_selector(self, selector: impl Into<String>) -> Self {
        self.with_parameter("fieldSelector", selector)
    }

    /// Another query parameter, on every request. An empty value sets nothing.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.parameters.retain(|(present, _)| *present != name);
        if !value.is_empty() {
            self.parameters.push((name, value));
        }
        self
    }

    /// Never asks for initial events by a watch.
    #[must_use]
    pub fn without_watch_list(mut self) -> Self {
        self.watch_list = false;
        self
    }

    /// Refuses objects whose JSON is longer than so many bytes; 128 MiB by default.
    #[must_use]
    pub fn with_max_object_size(mut self, bytes: usize) -> Self {
        self.limits.max_item = bytes;
        self
    }

    /// What is listed.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace it is confined to.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn request(&self, kind: RequestKind, accept: &str) -> Result<Request, Error> {
        let accept = HeaderValue::from_str(accept)
            .map_err(|error| Error::transport(TransportKind::Config, error))?;
        let path = self.resource.path(self.namespace.as_deref());
        let mut request = Request::get(path).accept(accept).of_kind(kind);
        for (name, value) in &self.parameters {
            request.push_query(name, value);
        }
        Ok(request)
    }

    fn list_request(&self, options: &ListOptions) -> Result<Request, Error> {
        let mut request = self.request(RequestKind::List, self.decode.accept_list())?;
        add_version(
            &mut request,
            options.resource_version.as_ref(),
            options.version_match,
        );
        if let Some(limit) = options.limit {
            request.push_query("limit", &limit.to_string());
        }
        if let Some(token) = &options.continue_token {
            request.push_query("continue", token);
        }
        Ok(request)
    }

    fn watch_request(&self, options: &WatchOptions) -> Result<Request, Error> {
        let mut request = self.request(RequestKind::Watch, self.decode.accept())?;
        request.push_query("watch", "true");
        add_version(
            &mut request,
            options.resource_version.as_ref(),
            options.version_match,
        );
        if options.allow_bookmarks {
            request.push_query("allowWatchBookmarks", "true");
        }
        if options.send_initial_events {
            request.push_query("sendInitialEvents", "true");
        }
        let seconds = options.timeout.as_secs().max(1);
        request.push_query("timeoutSeconds", &seconds.to_string());
        Ok(request)
    }
}

impl<T: Object> ListerWatcher<T> for ListWatch<T> {
    fn list(&self, options: ListOptions) -> ListStream<T> {
        let request = self.list_request(&options);
        let client = self.client.clone();
        let patience = Arc::clone(&self.patience);
        let decode = Arc::clone(&self.decode);
        let limits = self.limits;
        let open = async move {
            let response = open(&client, &request?, &patience).await?;
            let reader = ListReader::new(
                response,
                decode,
                limits,
                client.timeouts().body_idle,
                client.tasks().clone(),
            )?;
            Ok::<_, Error>(stream::try_unfold(reader, |mut reader| async move {
                let part = reader.next().await?;
                Ok(part.map(|part| (part, reader)))
            }))
        };
        Box::pin(stream::once(open).try_flatten())
    }

    fn watch(&self, options: WatchOptions) -> WatchStart<T> {
        let request = self.watch_request(&options);
        let client = self.client.clone();
        let patience = Arc::clone(&self.patience);
        let decode = Arc::clone(&self.decode);
        let limits = self.limits;
        Box::pin(async move {
            let response = open(&client, &request?, &patience).await?;
            let deadline = Instant::now() + options.timeout + client.timeouts().watch_margin;
            let reader =
                WatchReader::new(response, decode, limits, deadline, client.tasks().clone())?;
            let stream = stream::try_unfold(reader, |mut reader| async move {
                let events = reader.next().await?;
                Ok(events.map(|events| (events, reader)))
            });
            Ok(Box::pin(stream) as _)
        })
    }

    fn supports_watch_list(&self) -> bool {
        self.watch_list
    }

    fn description(&self) -> String {
        match &self.namespace {
            Some(namespace) if self.resource.namespaced => {
                format!("{} in namespace {namespace}", self.resource)
            }
            _ => self.resource.to_string(),
        }
    }
}

/// Sends the request; what the server refuses is an error.
async fn open(
    client: &Client,
    request: &Request,
    patience: &Patience,
) -> Result<Response<Body>, Error> {
    let timeouts = client.timeouts();
    let started = Instant::now();
    let answer = client.send_once(request, patience.limit(timeouts)).await;
    match &answer {
        Ok(_) => patience.answered(timeouts, started.elapsed()),
        Err(error) if error.transport_kind() == Some(TransportKind::Timeout) => {
            patience.timed_out(timeouts);
        }
        Err(_) => {}
    }
    let response = answer?;
    if response.status() == StatusCode::OK {
        Ok(response)
    } else {
        Err(failure(response).await)
    }
}

fn add_version(
    request: &mut Request,
    version: Option<&ResourceVersion>,
    version_match: Option<VersionMatch>,
) {
    if let Some(version) = version {
        request.push_query("resourceVersion", version.as_str());
    }
    if let Some(version_match) = version_match {
        request.push_query("resourceVersionMatch", version_match.as_str());
    }
}

// By hand: a decoder need not be `Debug`.
impl<T> fmt::Debug for ListWatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListWatch")
            .field("client", &self.client)
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
