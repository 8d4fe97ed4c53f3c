//! [`Error`]: why a list or a watch failed, and the questions a caller may ask of it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers_cache_core::{StoreError, Undecodable};

use crate::status_error::StatusError;

type BoxError = Box<dyn StdError + Send + Sync>;

/// The reasons that say more than the code they come with.
///
/// # Upstream
/// `apierrors.knownReasons`.
const KNOWN_REASONS: [&str; 18] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
];

/// Why a list or a watch failed.
///
/// Opaque and one word wide; a clone is a reference count. Branch on the predicates,
/// which carry apimachinery's names. The text is one level in lower case and says
/// which party is at fault; what caused it is in [`source`](StdError::source).
///
/// # Upstream
/// `apierrors.APIStatus` and the predicates of `apierrors` and `utilnet`.
#[doc(alias = "APIStatus")]
#[derive(Clone)]
pub struct Error(Arc<Kind>);

enum Kind {
    /// The server answered with a failure.
    Status(StatusError),
    /// No answer, or half of one.
    Transport {
        kind: TransportKind,
        source: BoxError,
    },
    /// An answer that cannot be read.
    Decode { what: String, source: BoxError },
    /// One object that does not decode; the others are not affected.
    Undecodable(Arc<Undecodable>),
    /// The store did not take what was listed or watched.
    Store(StoreError),
    /// A rule of the list-and-watch contract that the server broke.
    Contract(ContractError),
}

/// What went wrong between here and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportKind {
    /// No connection: name resolution, routing, a proxy.
    Connect,
    /// The host is there and refuses connections: the server is down or restarting.
    Refused,
    /// An established connection was broken.
    Reset,
    /// No answer in time.
    Timeout,
    /// The connection ended in the middle of an answer.
    Eof,
    /// The TLS handshake failed.
    Tls,
    /// Credentials could not be obtained.
    Auth,
    /// The client cannot build the request from its configuration.
    Config,
    /// The answer is not HTTP as it should be.
    Protocol,
}

/// A rule of the list-and-watch contract that the server broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContractError {
    /// A list came without `metadata.resourceVersion`: it cannot be watched from.
    ListWithoutResourceVersion,
    /// A list ended without its metadata: it may lack items.
    TruncatedList,
    /// Pages of a list continue without end: a page named the very token that led
    /// to it.
    EndlessList,
    /// A watch that was asked for initial events did not end them in time.
    NoInitialEventsEnd,
    /// A watch of initial events was closed before their end, several times.
    InitialEventsCutShort,
}

impl Error {
    /// A failure that the server described by a `Status`.
    pub fn from_status(status: StatusError) -> Self {
        Self(Arc::new(Kind::Status(status)))
    }

    /// A failure by HTTP status alone: the body is no `Status`. `snippet` is the
    /// start of the body, cut to [`StatusError::MAX_SNIPPET`] bytes here;
    /// `retry_after` is the header of that name.
    pub fn http(code: u16, snippet: &str, retry_after: Option<Duration>) -> Self {
        Self::from_status(StatusError::from_http(code, snippet, retry_after))
    }

    /// No answer, or half of one.
    pub fn transport(kind: TransportKind, source: impl Into<BoxError>) -> Self {
        let source = source.into();
        Self(Arc::new(Kind::Transport { kind, source }))
    }

    /// An answer that cannot be read. `what` names the part: `the watch event`.
    pub fn decode(what: impl Into<String>, source: impl Into<BoxError>) -> Self {
        let (what, source) = (what.into(), source.into());
        Self(Arc::new(Kind::Decode { what, source }))
    }

    /// One object of an answer does not decode.
    pub fn undecodable(undecodable: Arc<Undecodable>) -> Self {
        Self(Arc::new(Kind::Undecodable(undecodable)))
    }

    /// The store did not take what was listed or watched.
    pub fn store(error: StoreError) -> Self {
        Self(Arc::new(Kind::Store(error)))
    }

    /// The server broke a rule of the contract.
    pub fn contract(error: ContractError) -> Self {
        Self(Arc::new(Kind::Contract(error)))
    }

    /// What the server said, if it said anything.
    pub fn status(&self) -> Option<&StatusError> {
        match &*self.0 {
            Kind::Status(status) => Some(status),
            _ => None,
        }
    }

    /// What went wrong on the way, if no answer arrived whole.
    pub fn transport_kind(&self) -> Option<TransportKind> {
        match &*self.0 {
            Kind::Transport { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// The object that does not decode, if this reports one.
    pub fn as_undecodable(&self) -> Option<&Arc<Undecodable>> {
        match &*self.0 {
            Kind::Undecodable(undecodable) => Some(undecodable),
            _ => None,
        }
    }

    /// The rule that the server broke, if that is what happened.
    pub fn as_contract(&self) -> Option<ContractError> {
        match &*self.0 {
            Kind::Contract(error) => Some(*error),
            _ => None,
        }
    }

    /// Whether the resource version or continue token is too old: 410, `Expired` or
    /// `Gone`.
    #[doc(alias = "IsResourceExpired")]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(StatusError::is_expired)
    }

    /// The same as [`is_expired`](Self::is_expired): servers use both reasons for it.
    #[doc(alias = "IsGone")]
    pub fn is_gone(&self) -> bool {
        self.is_expired()
    }

    /// Whether the resource version lies in the server's future, in any of the shapes
    /// that servers have used to say so.
    #[doc(alias = "IsTooLargeResourceVersionError")]
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status()
            .is_some_and(StatusError::is_too_large_resource_version)
    }

    /// Whether the resource (or its type) is not there: 404.
    #[doc(alias = "IsNotFound")]
    pub fn is_not_found(&self) -> bool {
        self.has_code(404, "NotFound")
    }

    /// Whether the credentials are known and not enough: 403.
    #[doc(alias = "IsForbidden")]
    pub fn is_forbidden(&self) -> bool {
        self.has_code(403, "Forbidden")
    }

    /// Whether the credentials are missing or no longer accepted: 401.
    #[doc(alias = "IsUnauthorized")]
    pub fn is_unauthorized(&self) -> bool {
        self.has_code(401, "Unauthorized")
    }

    /// Whether the server asks for fewer requests: 429.
    #[doc(alias = "IsTooManyRequests")]
    pub fn is_too_many_requests(&self) -> bool {
        self.has_code(429, "TooManyRequests")
    }

    /// Whether the server itself failed: 500 `InternalError`.
    #[doc(alias = "IsInternalError")]
    pub fn is_internal(&self) -> bool {
        self.has_code(500, "InternalError")
    }

    /// Whether the object sent is invalid, and the server says in which fields: 422.
    #[doc(alias = "IsInvalid")]
    pub fn is_invalid(&self) -> bool {
        self.has_reason("Invalid", 422)
    }

    /// Whether the server cannot make sense of the request: 400.
    #[doc(alias = "IsBadRequest")]
    pub fn is_bad_request(&self) -> bool {
        self.has_reason("BadRequest", 400)
    }

    /// Whether the object was changed since it was read: 409. Not
    /// [`is_already_exists`](Self::is_already_exists), which has the same code.
    #[doc(alias = "IsConflict")]
    pub fn is_conflict(&self) -> bool {
        self.has_reason("Conflict", 409)
    }

    /// Whether an object of that name is there: 409 `AlreadyExists`. The code alone does
    /// not say it.
    #[doc(alias = "IsAlreadyExists")]
    pub fn is_already_exists(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// Whether the resource does not know the verb: 405.
    #[doc(alias = "IsMethodNotSupported")]
    pub fn is_method_not_supported(&self) -> bool {
        self.has_reason("MethodNotAllowed", 405)
    }

    /// Whether the server has no representation that the client accepts: 406.
    #[doc(alias = "IsNotAcceptable")]
    pub fn is_not_acceptable(&self) -> bool {
        self.has_reason("NotAcceptable", 406)
    }

    /// Whether the server does not read what the client sent, such as a kind of patch:
    /// 415.
    #[doc(alias = "IsUnsupportedMediaType")]
    pub fn is_unsupported_media_type(&self) -> bool {
        self.has_reason("UnsupportedMediaType", 415)
    }

    /// Whether the request is larger than the server takes: 413.
    #[doc(alias = "IsRequestEntityTooLargeError")]
    pub fn is_request_entity_too_large(&self) -> bool {
        self.has_reason("RequestEntityTooLarge", 413)
    }

    /// Whether the server, or one that it needs, is not available: 503.
    #[doc(alias = "IsServiceUnavailable")]
    pub fn is_service_unavailable(&self) -> bool {
        self.has_reason("ServiceUnavailable", 503)
    }

    /// Whether the server could not act in time and asks to try again: `ServerTimeout`.
    #[doc(alias = "IsServerTimeout")]
    pub fn is_server_timeout(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "ServerTimeout")
    }

    /// Whether any of the causes is of that kind, such as `FieldValueInvalid` or
    /// `NamespaceTerminating`.
    #[doc(alias = "HasStatusCause")]
    pub fn has_status_cause(&self, reason: &str) -> bool {
        self.status()
            .is_some_and(|status| status.causes.iter().any(|cause| cause.reason == reason))
    }

    /// How long the server asks to wait.
    #[doc(alias = "SuggestsClientDelay")]
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after
    }

    /// Whether no answer came in time, by our clock or by the server's.
    #[doc(alias = "IsTimeout")]
    pub fn is_timeout(&self) -> bool {
        self.transport_kind() == Some(TransportKind::Timeout)
            || self.has_code(504, "Timeout")
            || self.has_code(504, "ServerTimeout")
    }

    /// Whether nobody listens at the server's address.
    #[doc(alias = "IsConnectionRefused")]
    pub fn is_connection_refused(&self) -> bool {
        self.transport_kind() == Some(TransportKind::Refused)
    }

    /// Whether a connection ended in the middle of an answer.
    #[doc(alias = "IsProbableEOF")]
    pub fn is_unexpected_eof(&self) -> bool {
        self.transport_kind() == Some(TransportKind::Eof)
    }

    /// Whether an answer, or one object in it, cannot be read.
    pub fn is_decode(&self) -> bool {
        matches!(&*self.0, Kind::Decode { .. } | Kind::Undecodable(_))
    }

    /// Whether the store refused what was listed or watched.
    pub fn is_store(&self) -> bool {
        matches!(&*self.0, Kind::Store(_))
    }

    /// As apimachinery decides: a reason that it knows is believed before the code.
    fn has_reason(&self, reason: &str, code: u16) -> bool {
        self.status().is_some_and(|status| {
            status.reason == reason
                || (status.code == code && !KNOWN_REASONS.contains(&status.reason.as_str()))
        })
    }

    fn has_code(&self, code: u16, reason: &str) -> bool {
        self.status()
            .is_some_and(|status| status.code == code || status.reason == reason)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::store(error)
    }
}

impl From<ContractError> for Error {
    fn from(error: ContractError) -> Self {
        Self::contract(error)
    }
}

impl TransportKind {
    fn text(self) -> &'static str {
        match self {
            Self::Connect => "cannot connect to the API server",
            Self::Refused => "the API server refuses connections",
            Self::Reset => "the connection to the API server broke",
            Self::Timeout => "the API server did not answer in time",
            Self::Eof => "the API server's answer ended in the middle",
            Self::Tls => "cannot agree on TLS with the API server",
            Self::Auth => "cannot obtain credentials for the API server",
            Self::Config => "the client configuration does not make a request",
            Self::Protocol => "the API server's answer is not valid HTTP",
        }
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListWithoutResourceVersion => {
                "the API server answered with a list without a resource version"
            }
            Self::TruncatedList => "the API server's list ended before its metadata",
            Self::EndlessList => "the API server's list continues at the page just given",
            Self::NoInitialEventsEnd => {
                "the API server sends no bookmark that ends the initial events of a watch"
            }
            Self::InitialEventsCutShort => {
                "the API server closed the watch before the end of the initial events"
            }
        })
    }
}

impl StdError for ContractError {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Status(status) => status.fmt(f),
            Kind::Transport { kind, .. } => f.write_str(kind.text()),
            Kind::Decode { what, .. } => write!(f, "cannot read {what} of the API server"),
            Kind::Undecodable(undecodable) => undecodable.fmt(f),
            Kind::Store(error) => error.fmt(f),
            Kind::Contract(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Status(status) => status.fmt(f),
            Kind::Transport { kind, source } => f
                .debug_struct("Transport")
                .field("kind", kind)
                .field("source", source)
                .finish(),
            Kind::Decode { what, source } => f
                .debug_struct("Decode")
                .field("what", what)
                .field("source", source)
                .finish(),
            Kind::Undecodable(undecodable) => undecodable.fmt(f),
            Kind::Store(error) => error.fmt(f),
            Kind::Contract(error) => error.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Transport { source, .. } | Kind::Decode { source, .. } => Some(&**source),
            Kind::Store(error) => error.source(),
            Kind::Status(_) | Kind::Undecodable(_) | Kind::Contract(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
