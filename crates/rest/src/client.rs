//! [`Client`]: requests to one API server.

mod patience;
mod rate_limiter;

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use informers_reflector::{Error, TransportKind};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub(crate) use self::patience::Patience;
use self::rate_limiter::RateLimiter;
use crate::body::Body;
use crate::config::{Config, ConfigError, Environment, Server, Timeouts};
use crate::connect::TimedOut;
use crate::content::Content;
use crate::credentials::{Authenticator, Credential};
use crate::pool::{Lease, Pool};
use crate::request::{Request, RequestKind};
use crate::retry_after::retry_after;
use crate::status::failure;
use crate::tls::{Tls, TlsState};
use crate::warnings::{self, WarningHandler};

/// A request is sent at most so often because connections break.
const MAX_SENDS: u32 = 3;
/// A request is sent at most so often because the server asks to come back later
/// (client-go's).
const MAX_RETRIES: u32 = 10;
/// The longest that such retries may wait, together.
const RETRY_BUDGET: Duration = Duration::from_secs(30);

/// Sends requests to one API server; a clone shares connections and credentials.
///
/// Connections are kept and shared: HTTP/2 where the server speaks it, as many as it
/// takes for every request to have a stream of its own; else HTTP/1.1.
///
/// # Shutdown
/// Connections end when the last clone and the last answer are dropped.
/// [`close`](Self::close) waits for that.
///
/// # Upstream
/// `rest.RESTClient` with its `http.Transport`.
#[doc(alias = "RESTClient")]
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    server: Server,
    namespace: String,
    timeouts: Timeouts,
    gzip: bool,
    /// On every request.
    headers: HeaderMap,
    authenticator: Authenticator,
    tls: Option<Arc<TlsState>>,
    /// Begins to look at TLS files in between requests.
    file_watch: Once,
    /// Ends that: when the client is closed, or gone.
    stop: CancellationToken,
    _stop_when_gone: DropGuard,
    pool: Arc<Pool>,
    warnings: Arc<dyn WarningHandler>,
    rate_limiter: Option<RateLimiter>,
}

impl Client {
    /// A client for that configuration. Reads the files it names; connects to nothing.
    ///
    /// # Errors
    /// If a file cannot be read or understood, or the configuration contradicts itself.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let mut headers = config.headers.clone();
        headers.insert(USER_AGENT, config.user_agent.clone());
        headers.extend(config.impersonation.headers()?);
        let tls = if config.server.is_https() {
            Some(Arc::new(TlsState::new(&config)?))
        } else {
            None
        };
        let check_every = config.timeouts.file_check;
        let stop = CancellationToken::new();
        Ok(Self(Arc::new(Inner {
            authenticator: Authenticator::new(&config.credentials, check_every)?,
            pool: Arc::new(Pool::new(&config, &Environment::process())?),
            gzip: config.asks_gzip(),
            rate_limiter: config.rate_limit.map(RateLimiter::new).transpose()?,
            server: config.server,
            namespace: config.namespace,
            timeouts: config.timeouts,
            headers,
            tls,
            file_watch: Once::new(),
            _stop_when_gone: stop.clone().drop_guard(),
            stop,
            warnings: config.warnings,
        })))
    }

    /// The namespace to work in when the user names none.
    pub fn default_namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The server's URL.
    pub fn server_url(&self) -> String {
        self.0.server.to_string()
    }

    /// Sends a request and gives the answer as it is, failures of the server included.
    ///
    /// Waits and sends again while the server asks for it (429 and 5xx with
    /// `Retry-After`, at most ten times and 30 s), unless the request is
    /// [`streaming`](Request::streaming). A 401 makes it look for other credentials and
    /// send once more.
    ///
    /// # Errors
    /// If there is no answer.
    ///
    /// # Cancel safety
    /// Dropping the future ends the request; whether the server has acted on it is not
    /// known.
    pub async fn send(&self, request: Request) -> Result<Response<Body>, Error> {
        let limit = self.0.timeouts.response_max;
        if request.kind != RequestKind::Unary {
            return self.send_once(&request, limit).await;
        }
        let deadline = Instant::now() + RETRY_BUDGET;
        let mut retries = 0;
        loop {
            let response = self.send_once(&request, limit).await?;
            let Some(wait) = wished_wait(&response) else {
                return Ok(response);
            };
            if retries == MAX_RETRIES || Instant::now() + wait > deadline {
                return Ok(response);
            }
            retries += 1;
            tracing::debug!(
                ?wait,
                status = response.status().as_u16(),
                "the API server asks to wait"
            );
            drop(response);
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a request as [`send`](Self::send) does, and gives the whole body of the
    /// answer.
    ///
    /// # Errors
    /// If there is no answer, or it is a failure of the server:
    /// [`status`](Error::status) tells what it said.
    pub async fn request(&self, request: Request) -> Result<Bytes, Error> {
        let response = self.send(request).await?;
        if !response.status().is_success() {
            return Err(failure(response).await);
        }
        let mut content = Content::of(response)?;
        let limit = self.0.timeouts.body_idle;
        let mut body = BytesMut::new();
        loop {
            let piece = tokio::time::timeout(limit, content.next()).await;
            let Ok(piece) = piece else {
                let step = "the next part of the answer";
                let timed_out = TimedOut { step, limit };
                return Err(Error::transport(TransportKind::Timeout, timed_out));
            };
            match piece? {
                Some(piece) => body.extend_from_slice(&piece),
                None => return Ok(body.freeze()),
            }
        }
    }

    /// As [`request`](Self::request), with the answer as JSON; an empty one is `null`.
    pub async fn request_json(&self, request: Request) -> Result<serde_json::Value, Error> {
        let body = self.request(request).await?;
        if body.is_empty() {
            return Ok(serde_json::Value::Null);
        }
        serde_json::from_slice(&body).map_err(|error| Error::decode("the answer", error))
    }

    /// Lets go of all connections that are not in use, keeps none from now on, and waits
    /// until those in use have ended.
    ///
    /// # Cancel safety
    /// May be called again.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.0.pool.close();
        self.tasks().wait().await;
    }

    /// Whoever works for this client and is to be waited for when it is closed.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        self.0.pool.tasks()
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.0.timeouts
    }

    #[cfg(test)]
    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    /// Sends a request; once, but for broken connections and a 401.
    pub(crate) async fn send_once(
        &self,
        request: &Request,
        limit: Duration,
    ) -> Result<Response<Body>, Error> {
        if let Some(limiter) = &self.0.rate_limiter
            && request.kind != RequestKind::Watch
        {
            limiter.wait().await;
        }
        let credential = self.0.authenticator.credential().await?;
        let response = self.exchange(request, &credential, limit).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let files_changed = match &self.0.tls {
            Some(tls) => tls.check_files().await,
            None => false,
        };
        let another = match self.0.authenticator.another(&credential).await {
            Ok(Some(another)) => another,
            Ok(None) if files_changed => credential,
            Ok(None) => return Ok(response),
            Err(error) => {
                tracing::warn!(%error, "the credentials are refused, and there are no others");
                return Ok(response);
            }
        };
        drop(response);
        self.exchange(request, &another, limit).await
    }

    /// Sends a request with that credential; again if its connection was stale.
    async fn exchange(
        &self,
        request: &Request,
        credential: &Credential,
        limit: Duration,
    ) -> Result<Response<Body>, Error> {
        let started = Instant::now();
        let mut sends = 1;
        let answer = loop {
            let tls = self.tls(credential).await?;
            match self
                .attempt(request, credential, tls.as_ref(), limit, sends > 1)
                .await
            {
                Ok(response) => break Ok(response),
                Err(failure) if sends < MAX_SENDS && failure.may_retry => {
                    tracing::debug!(error = %failure.error, "connection was closed, using another");
                    sends += 1;
                }
                Err(failure) => break Err(failure.error),
            }
        };
        let status = answer.as_ref().map(|response| response.status().as_u16());
        tracing::debug!(
            method = %request.method,
            path = request.path(),
            status = status.ok(),
            elapsed = ?started.elapsed(),
            "request"
        );
        if let Ok(response) = &answer {
            warnings::report(response.headers(), &*self.0.warnings);
        }
        answer
    }

    async fn tls(&self, credential: &Credential) -> Result<Option<Tls>, Error> {
        let Some(state) = &self.0.tls else {
            return Ok(None);
        };
        if state.is_to_be_watched() {
            // Not in `new`: there may be no runtime yet.
            self.0.file_watch.call_once(|| {
                let watch = TlsState::watch_files(Arc::downgrade(state), self.0.stop.clone());
                self.tasks().spawn(watch);
            });
        }
        state
            .current(credential.identity.as_ref())
            .await
            .map(Some)
            .map_err(|error| Error::transport(TransportKind::Auth, error))
    }

    async fn attempt(
        &self,
        request: &Request,
        credential: &Credential,
        tls: Option<&Tls>,
        limit: Duration,
        fresh: bool,
    ) -> Result<Response<Body>, Failure> {
        let pool = &self.0.pool;
        let lease = pool.lease(tls, fresh).await.map_err(Failure::last)?;
        let reused = lease.is_reused();
        let request_of = |http2| self.http_request(request, credential, http2);
        let sent = match lease {
            Lease::Http1(mut connection) => {
                let message = request_of(false).map_err(Failure::last)?;
                let sent = tokio::time::timeout(limit, connection.send(message)).await;
                sent.map(|sent| {
                    sent.map(|response| {
                        response.map(|incoming| Body::http1(incoming, connection, Arc::clone(pool)))
                    })
                })
            }
            Lease::Http2(mut stream) => {
                let message = request_of(true).map_err(Failure::last)?;
                let sent = tokio::time::timeout(limit, stream.send(message)).await;
                if sent.is_err() {
                    stream.condemn();
                }
                sent.map(|sent| {
                    sent.map(|response| {
                        response.map(|incoming| Body::http2(incoming, stream, Arc::clone(pool)))
                    })
                })
            }
        };
        match sent {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(failure)) => Err(Failure {
                may_retry: failure.unprocessed || (reused && request.is_idempotent()),
                error: failure.error,
            }),
            Err(_) => {
                let step = "the head of the answer";
                let timed_out = TimedOut { step, limit };
                Err(Failure::last(Error::transport(
                    TransportKind::Timeout,
                    timed_out,
                )))
            }
        }
    }

    fn http_request(
        &self,
        request: &Request,
        credential: &Credential,
        http2: bool,
    ) -> Result<http::Request<Full<Bytes>>, Error> {
        let server = &self.0.server;
        let proxy = self.0.pool.forwarding_proxy();
        let path = format!("{}{}", server.base_path(), request.target);
        let absolute = http2 || proxy.is_some();
        let uri = if absolute {
            format!("{}://{}{path}", server.scheme(), server.authority())
        } else {
            path
        };
        let invalid = |error: http::Error| Error::transport(TransportKind::Config, error);
        let mut message = http::Request::builder()
            .method(request.method.clone())
            .uri(uri)
            .body(Full::new(request.body.clone()))
            .map_err(invalid)?;
        let headers = message.headers_mut();
        headers.extend(self.0.headers.clone());
        headers.extend(request.headers.clone());
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("application/json"));
        if self.0.gzip && request.kind != RequestKind::Watch {
            headers
                .entry(ACCEPT_ENCODING)
                .or_insert(HeaderValue::from_static("gzip"));
        }
        if !http2 {
            let host = HeaderValue::from_str(server.authority().as_str())
                .map_err(|error| invalid(error.into()))?;
            headers.insert(HOST, host);
        }
        if let Some(authorization) = &credential.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_ref()) {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        Ok(message)
    }
}

/// One attempt that failed.
struct Failure {
    error: Error,
    may_retry: bool,
}

impl Failure {
    fn last(error: Error) -> Self {
        Self {
            error,
            may_retry: false,
        }
    }
}

/// How long the server asks to wait before the request is sent again.
fn wished_wait(response: &Response<Body>) -> Option<Duration> {
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        retry_after(response.headers())
    } else {
        None
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.0.server)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
