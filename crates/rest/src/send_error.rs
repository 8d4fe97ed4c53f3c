//! [`SendError`]: a request without an answer, and whether it may be sent again.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::TrySendError;
use informers_reflector::Error;

use crate::transport_error::{classify_hyper, was_refused_unprocessed};

/// A request that got no answer.
pub(crate) struct SendError {
    pub(crate) error: Error,
    /// Whether the server certainly has not acted on it.
    pub(crate) unprocessed: bool,
}

impl SendError {
    pub(crate) fn of(mut error: TrySendError<Request<Full<Bytes>>>) -> Self {
        let unsent = error.take_message().is_some();
        let error = error.into_error();
        Self {
            unprocessed: unsent || was_refused_unprocessed(&error),
            error: classify_hyper(error),
        }
    }
}
