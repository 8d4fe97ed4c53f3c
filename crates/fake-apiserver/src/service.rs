//! One request: its faults, then its answer.

mod scale;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use crate::admin;
use crate::body::{Body, Content};
use crate::connection::Control;
use crate::discovery;
use crate::encode::write_object;
use crate::fault::{Action, Struck, duration};
use crate::list::read_page;
use crate::object::{ObjectKey, Stored};
use crate::options::{ListOptions, Shape, expired_page};
use crate::request::{RequestRecord, Target, Verb, parse_query, verb_of};
use crate::resource::Resource;
use crate::server::Shared;
use crate::status::ApiError;
use crate::store::{Range, Take};
use crate::watch::{self, WatchRequest};

pub(crate) use self::scale::has_scale;

/// The largest request body, in bytes (etcd's limit for one request is half of it).
const MAX_BODY: usize = 3 * 1024 * 1024;
/// Answers from this size on are compressed where the client accepts it, in bytes, as upstream.
const GZIP_FROM: usize = 128 * 1024;

/// An answer before it becomes an HTTP response.
pub(crate) struct Answer {
    code: u16,
    content: Content,
    content_type: &'static str,
    /// Its size in bytes, where compressing depends on it.
    size: usize,
    retry_after: Option<u64>,
}

impl Answer {
    pub(crate) fn json(code: u16, value: &Value) -> Self {
        Self::bytes(code, value.to_string().into())
    }

    fn bytes(code: u16, bytes: Bytes) -> Self {
        let size = bytes.len();
        let content = Content::Whole(bytes);
        Self {
            code,
            content,
            content_type: "application/json",
            size,
            retry_after: None,
        }
    }

    fn text(text: &'static str) -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            ..Self::bytes(200, Bytes::from_static(text.as_bytes()))
        }
    }

    pub(crate) fn error(error: &ApiError) -> Self {
        let retry_after = error.retry_after().map(|r| r.as_secs());
        Self {
            retry_after,
            ..Self::json(error.code(), &error.to_status())
        }
    }

    fn object(code: u16, resource: &Resource, object: &Stored, shape: Shape) -> Self {
        let mut bytes = Vec::with_capacity(object.encoded_len() + 128);
        write_object(resource, object, shape, &mut bytes);
        Self::bytes(code, bytes.into())
    }
}

/// What the faults of a request leave to be done to its answer.
#[derive(Default)]
struct Effects {
    lag: u64,
    expired_continue: Option<bool>,
    without_end: bool,
    gzip: bool,
}

/// What is known of a request besides its body.
struct Call {
    shared: Arc<Shared>,
    control: Arc<Control>,
    record: RequestRecord,
    target: Option<Target>,
    headers: HeaderMap,
    struck: Vec<Struck>,
    effects: Effects,
}

/// Answers a request.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    control: Arc<Control>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let query = parse_query(parts.uri.query().unwrap_or_default());
    if path.starts_with("/_fake/") {
        let answer = match read_body(body).await {
            Ok(body) => admin::answer(&shared, parts.method.as_str(), &path, &body),
            Err(error) => Answer::error(&error),
        };
        return respond(answer, false);
    }
    let target = Target::parse(&path);
    let mut record = RequestRecord {
        index: 0,
        method: parts.method.as_str().to_owned(),
        verb: verb_of(parts.method.as_str(), target.as_ref(), &query),
        plural: target.as_ref().map(|t| t.plural.clone()),
        namespace: target.as_ref().and_then(|t| t.namespace.clone()),
        at: shared.started.elapsed(),
        status: None,
        user_agent: header(&parts.headers, &USER_AGENT).to_owned(),
        path,
        query,
    };
    record.index = shared.log.push(record.clone());
    let struck = shared.faults.meet(&record);
    let index = record.index;
    let mut call = Call {
        shared: Arc::clone(&shared),
        control,
        record,
        target,
        headers: parts.headers,
        struck,
        effects: Effects::default(),
    };
    let response = match call.suffer().await {
        Some(response) => response,
        None => call.answer(body).await,
    };
    shared.log.answered(index, response.status().as_u16());
    response
}

impl Call {
    /// Lets the faults happen that strike before the answer; one of them may be the answer.
    async fn suffer(&mut self) -> Option<Response<Body>> {
        for struck in self.struck.clone() {
            let within_stream = self.record.is_watch() && struck.after_events.is_some();
            match struck.action {
                action if within_stream && action.strikes_streams() => {}
                Action::Delay { seconds }
                | Action::Hang {
                    seconds: Some(seconds),
                } => {
                    tokio::time::sleep(duration(seconds)).await;
                }
                Action::Hang { seconds: None } => std::future::pending().await,
                Action::Reset => {
                    self.control.reset();
                    std::future::pending::<()>().await;
                }
                Action::BlackHole => {
                    self.control.black_hole();
                    std::future::pending::<()>().await;
                }
                Action::GoAway => self.control.go_away(),
                Action::SlowReader { bytes_per_second } => {
                    self.control.slow_reads(bytes_per_second);
                }
                Action::SlowWriter { bytes_per_second } => {
                    self.control.slow_writes(bytes_per_second);
                }
                action @ (Action::Compact | Action::Rollback { .. }) => {
                    if let Err(error) = self.shared.change_state(&action) {
                        tracing::warn!(%error, "a fault could not change the state");
                    }
                }
                Action::Status(status) => {
                    let answer = Answer {
                        retry_after: status.retry_after,
                        ..Answer::json(status.code, &status.to_object())
                    };
                    return Some(respond(answer, false));
                }
                Action::Body {
                    code,
                    content_type,
                    body,
                } => {
                    let mut response = respond(Answer::bytes(code, body.into()), false);
                    if let Ok(value) = HeaderValue::from_str(&content_type) {
                        response.headers_mut().insert(CONTENT_TYPE, value);
                    }
                    return Some(response);
                }
                Action::TooLargeResourceVersion => {
                    let current = self.shared.store().revision();
                    let wanted = self
                        .record
                        .param("resourceVersion")
                        .and_then(|v| v.parse().ok());
                    let error = ApiError::too_large(wanted.unwrap_or(current + 1), current);
                    return Some(respond(Answer::error(&error), false));
                }
                Action::ReplicaLag { revisions } => self.effects.lag = revisions,
                Action::ExpiredContinue { inconsistent } => {
                    self.effects.expired_continue = Some(inconsistent);
                }
                Action::WatchListWithoutEnd => self.effects.without_end = true,
                Action::Gzip => self.effects.gzip = true,
                // These strike within the body, or within the watch.
                Action::Cut { .. }
                | Action::Stall { .. }
                | Action::ErrorEvent(_)
                | Action::Raw { .. }
                | Action::DropEvents { .. } => {}
            }
        }
        None
    }

    async fn answer(self, body: Incoming) -> Response<Body> {
        let mut answer = match self.dispatch(body).await {
            Ok(answer) => answer,
            Err(error) => Answer::error(&error),
        };
        let accepts_gzip = header(&self.headers, &ACCEPT_ENCODING).split(',').any(|e| {
            e.split(';')
                .next()
                .is_some_and(|name| name.trim() == "gzip")
        });
        let gzip = self.effects.gzip || (accepts_gzip && answer.size >= GZIP_FROM);
        if gzip {
            answer.content = answer.content.gzip();
        }
        answer.content = answer.content.with_byte_faults(&self.struck, &self.control);
        respond(answer, gzip)
    }

    async fn dispatch(&self, body: Incoming) -> Result<Answer, ApiError> {
        let path = &self.record.path;
        if discovery::is_health(path) {
            return Ok(Answer::text("ok"));
        }
        let Some(target) = &self.target else {
            if self.record.method != "GET" {
                return Err(ApiError::method_not_allowed());
            }
            let found = discovery::answer(self.shared.store().registry(), path);
            return found
                .map(|value| Answer::json(200, &value))
                .ok_or_else(ApiError::no_such_path);
        };
        let shape = Shape::negotiate(header(&self.headers, &ACCEPT))?;
        let resource = self.resource(target)?;
        match (
            self.record.verb,
            &target.name,
            target.subresource.as_deref(),
        ) {
            (Verb::List, None, None) => self.list(&resource, shape),
            (Verb::Watch | Verb::WatchList, _, None) => self.watch(&resource, target, shape),
            (Verb::Get, Some(name), None | Some("status")) => {
                self.get(&resource, target, name, shape)
            }
            (_, Some(_), Some("scale")) => self.scale(&resource, target, &read_body(body).await?),
            _ => self.write(&resource, target, shape, &read_body(body).await?),
        }
    }

    /// The resource the path names, in a scope it has.
    fn resource(&self, target: &Target) -> Result<Arc<Resource>, ApiError> {
        let store = self.shared.store();
        let found = store
            .registry()
            .find(&target.group, &target.version, &target.plural);
        let resource = found.ok_or_else(ApiError::no_such_path)?;
        let scope_fits = match (resource.ty.namespaced, &target.namespace) {
            (true, Some(_)) | (false, None) => true,
            // All namespaces: collections only.
            (true, None) => target.name.is_none(),
            (false, Some(_)) => false,
        };
        let subresource_fits = match target.subresource.as_deref() {
            None => true,
            Some("status") => {
                resource.status_subresource || resource.origin == crate::resource::Origin::Builder
            }
            Some("scale") => has_scale(resource),
            Some("finalize") => resource.is("", "namespaces"),
            Some(_) => false,
        };
        if scope_fits && subresource_fits {
            Ok(Arc::clone(resource))
        } else {
            Err(ApiError::no_such_path())
        }
    }

    fn options(&self, resource: &Resource) -> Result<ListOptions, ApiError> {
        ListOptions::parse(resource, self.record.namespace.clone(), &self.record.query)
    }

    fn get(
        &self,
        resource: &Resource,
        target: &Target,
        name: &str,
        shape: Shape,
    ) -> Result<Answer, ApiError> {
        let key = ObjectKey::new(target.namespace.as_deref().unwrap_or_default(), name);
        let missing = || ApiError::not_found(&resource.ty.group, &resource.ty.plural, name);
        let store = self.shared.store();
        let lagging = store
            .revision()
            .saturating_sub(self.effects.lag)
            .max(store.floor(resource));
        let found = if lagging < store.revision() {
            let mut found = None;
            let range = Range {
                namespace: Some(&key.namespace),
                after: None,
            };
            store.read_at(resource, lagging, &range, |object| {
                if object.key != key {
                    return Take::More;
                }
                found = Some(Arc::clone(object));
                Take::Stop
            })?;
            found
        } else {
            store.get(resource, &key).cloned()
        };
        drop(store);
        Ok(Answer::object(
            200,
            resource,
            &*found.ok_or_else(missing)?,
            shape,
        ))
    }

    fn list(&self, resource: &Arc<Resource>, shape: Shape) -> Result<Answer, ApiError> {
        let options = self.options(resource)?;
        if let Some(inconsistent) = self.effects.expired_continue {
            let page = options.continue_from.as_ref().filter(|_| inconsistent);
            return Err(expired_page(page));
        }
        let page = read_page(&self.shared.store(), resource, &options, self.effects.lag)?;
        let size = page.size();
        let content = page.into_content(Arc::clone(resource), shape);
        Ok(Answer {
            code: 200,
            content,
            content_type: "application/json",
            size,
            retry_after: None,
        })
    }

    fn watch(
        &self,
        resource: &Arc<Resource>,
        target: &Target,
        shape: Shape,
    ) -> Result<Answer, ApiError> {
        let mut query: BTreeMap<String, String> = self.record.query.clone();
        if let Some(name) = &target.name {
            query.insert("fieldSelector".to_owned(), format!("metadata.name={name}"));
        }
        let options = ListOptions::parse(resource, self.record.namespace.clone(), &query)?;
        let request = WatchRequest {
            record: self.record.clone(),
            resource: Arc::clone(resource),
            options,
            shape,
            struck: self.struck.clone(),
            lag: self.effects.lag,
            without_end: self.effects.without_end,
        };
        let content = watch::start(&self.shared, &self.control, request)?;
        Ok(Answer {
            code: 200,
            content,
            content_type: "application/json",
            size: 0,
            retry_after: None,
        })
    }
}

fn respond(answer: Answer, gzip: bool) -> Response<Body> {
    let mut response = Response::new(answer.content.into_body());
    *response.status_mut() =
        StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Some(seconds) = answer.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn header<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> &'h str {
    headers
        .get(name)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
}

async fn read_body(body: Incoming) -> Result<Bytes, ApiError> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!("the limit is {MAX_BODY} bytes"),
        )),
        Err(error) => Err(ApiError::bad_request(format!(
            "the body could not be read: {error}"
        ))),
    }
}
