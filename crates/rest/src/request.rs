//! [`Request`]: one request to the API server, below the server's base path.

use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// One request: method, path, query, body.
///
/// # Examples
/// ```
/// use informers_rest::Request;
///
/// let request = Request::get("/api/v1/pods").query("limit", "500");
/// ```
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) kind: RequestKind,
}

/// How long a request may take, and what is done when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// One answer of bounded size; retried as the client's rules allow.
    Unary,
    /// A page of a list, for a reflector: failures are its own to retry.
    List,
    /// A watch: not limited in rate or length.
    Watch,
}

impl Request {
    /// A request with any method; `path` begins with a slash and is percent-encoded.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            target: path.into(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            kind: RequestKind::Unary,
        }
    }

    /// A GET.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Adds a query parameter, encoding both parts.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.push_query(name, value);
        self
    }

    pub(crate) fn push_query(&mut self, name: &str, value: &str) {
        let separator = if self.target.contains('?') { '&' } else { '?' };
        self.target.push(separator);
        encode(&mut self.target, name);
        self.target.push('=');
        encode(&mut self.target, value);
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets what to answer with; by default `application/json`.
    #[must_use]
    pub fn accept(self, media_types: HeaderValue) -> Self {
        self.header(ACCEPT, media_types)
    }

    /// Sets the body and its media type.
    #[must_use]
    pub fn body(self, media_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut request = self.header(CONTENT_TYPE, media_type);
        request.body = body.into();
        request
    }

    /// Not retried, no limit on its rate or length: for watches and other streams.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.kind = RequestKind::Watch;
        self
    }

    pub(crate) fn of_kind(mut self, kind: RequestKind) -> Self {
        self.kind = kind;
        self
    }

    /// Whether sending it twice is the same as sending it once.
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// The path, without the query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

// By hand: bodies may be Secrets, headers may be credentials.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({} bytes)",
            self.method,
            self.target,
            self.body.len()
        )
    }
}

/// Percent-encodes all but the unreserved characters.
pub(crate) fn encode(target: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push('%');
            target.push(char::from(HEX[usize::from(byte >> 4)]));
            target.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests;
