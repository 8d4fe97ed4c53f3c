//! What a failure on the way means: one [`TransportKind`] for each cause that hyper,
//! h2, rustls and the operating system may name.

use std::error::Error as StdError;
use std::io;

use informers_reflector::{Error, TransportKind};

type BoxError = Box<dyn StdError + Send + Sync>;

/// An [`Error`] of the kind that the causes show; `otherwise` if they show none.
pub(crate) fn classify(error: BoxError, otherwise: TransportKind) -> Error {
    let kind = kind_of(&*error).unwrap_or(otherwise);
    Error::transport(kind, error)
}

/// A failure before there was a connection. A proxy that refuses is not the API server
/// that refuses.
pub(crate) fn classify_connect(error: BoxError, through_proxy: bool) -> Error {
    let kind = match kind_of(&*error) {
        Some(TransportKind::Refused) if !through_proxy => TransportKind::Refused,
        Some(TransportKind::Timeout) => TransportKind::Timeout,
        Some(TransportKind::Tls) => TransportKind::Tls,
        _ => TransportKind::Connect,
    };
    Error::transport(kind, error)
}

/// A failure of a request or of a body.
pub(crate) fn classify_hyper(error: hyper::Error) -> Error {
    classify(error.into(), TransportKind::Protocol)
}

/// Whether the server certainly did not process the request: it said so (HTTP/2).
pub(crate) fn was_refused_unprocessed(error: &(dyn StdError + 'static)) -> bool {
    chain(error).any(|cause| {
        cause.downcast_ref::<h2::Error>().is_some_and(|error| {
            error.reason() == Some(h2::Reason::REFUSED_STREAM)
                || (error.is_go_away() && error.is_remote())
        })
    })
}

/// The first cause, from the outside in, that says what happened.
fn kind_of(error: &(dyn StdError + 'static)) -> Option<TransportKind> {
    let mut outer = None;
    for cause in chain(error) {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            if let Some(kind) = io_kind(error) {
                return Some(kind);
            }
        } else if cause.is::<rustls::Error>() {
            return Some(TransportKind::Tls);
        } else if let Some(error) = cause.downcast_ref::<h2::Error>() {
            // h2 does not show it as its cause.
            return match error.get_io() {
                Some(error) => io_kind(error),
                None => Some(h2_kind(error)),
            };
        } else if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            outer = outer.or_else(|| hyper_kind(error));
        }
    }
    outer
}

fn io_kind(error: &io::Error) -> Option<TransportKind> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(TransportKind::Refused),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected
        | io::ErrorKind::BrokenPipe => Some(TransportKind::Reset),
        io::ErrorKind::UnexpectedEof => Some(TransportKind::Eof),
        io::ErrorKind::TimedOut => Some(TransportKind::Timeout),
        _ => None,
    }
}

fn h2_kind(error: &h2::Error) -> TransportKind {
    match error.reason() {
        Some(h2::Reason::NO_ERROR) => TransportKind::Eof,
        Some(h2::Reason::PROTOCOL_ERROR | h2::Reason::FRAME_SIZE_ERROR) if error.is_library() => {
            TransportKind::Protocol
        }
        _ => TransportKind::Reset,
    }
}

fn hyper_kind(error: &hyper::Error) -> Option<TransportKind> {
    if error.is_incomplete_message() {
        Some(TransportKind::Eof)
    } else if error.is_timeout() {
        Some(TransportKind::Timeout)
    } else if error.is_closed() || error.is_canceled() {
        Some(TransportKind::Reset)
    } else if error.is_parse() {
        Some(TransportKind::Protocol)
    } else {
        None
    }
}

/// The error and its causes. What an [`io::Error`] wraps is one of them, though
/// `source` skips it.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}
