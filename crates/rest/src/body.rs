//! [`Body`]: the body of an answer, together with the connection it comes over.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use informers_reflector::{Error, TransportKind};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::pool::{Http1, Pool, Stream as Http2Stream};
use crate::transport_error::classify_hyper;

/// The body of an answer: a stream of the pieces as they arrive.
///
/// Reading it to the end frees the connection for the next request; dropping it before
/// ends the request at once.
///
/// # Errors
/// Each kind of [`TransportKind`]; above all `Eof` for a body that ends before it is
/// complete, a TLS connection closed without notice included.
pub struct Body {
    incoming: Incoming,
    carrier: Carrier,
    pool: Arc<Pool>,
    /// Done when the connection's certificates are no longer those on disk.
    replaced: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// What the body comes over.
enum Carrier {
    /// Driven by polling the body.
    Http1(Box<Http1>),
    /// Held until the body ends.
    Http2(Http2Stream),
    /// Given back, or broken.
    None,
}

impl Body {
    pub(crate) fn http1(incoming: Incoming, connection: Http1, pool: Arc<Pool>) -> Self {
        let replaced = connection.replaced().cloned();
        Self {
            incoming,
            carrier: Carrier::Http1(Box::new(connection)),
            pool,
            replaced: replaced.map(|token| Box::pin(token.cancelled_owned())),
        }
    }

    pub(crate) fn http2(incoming: Incoming, stream: Http2Stream, pool: Arc<Pool>) -> Self {
        let replaced = stream.replaced().cloned();
        Self {
            incoming,
            carrier: Carrier::Http2(stream),
            pool,
            replaced: replaced.map(|token| Box::pin(token.cancelled_owned())),
        }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        std::future::poll_fn(|cx| self.poll_piece(cx))
            .await
            .transpose()
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let frame = match self.poll_incoming(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => return self.poll_replaced(cx).map(|error| Some(Err(error))),
            };
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    // Trailers.
                    Err(_) => {}
                },
                Some(Err(error)) => {
                    self.carrier = Carrier::None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    if let Carrier::Http1(connection) =
                        std::mem::replace(&mut self.carrier, Carrier::None)
                    {
                        self.pool.give_back(*connection);
                    }
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// Polls the body, and the connection when the body waits for it.
    fn poll_incoming(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let incoming = Pin::new(&mut self.incoming);
        if let Poll::Ready(frame) = incoming.poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| {
                frame.map_err(|error| match &self.carrier {
                    Carrier::Http2(stream) => stream.explain(classify_hyper(error)),
                    Carrier::Http1(_) | Carrier::None => classify_hyper(error),
                })
            }));
        }
        let Carrier::Http1(connection) = &mut self.carrier else {
            return Poll::Pending;
        };
        let over = connection.poll(cx);
        // What the connection has read just now is in the body's channel.
        match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(classify_hyper(error)))),
            Poll::Ready(None) => match over {
                Poll::Ready(Err(error)) => Poll::Ready(Some(Err(classify_hyper(error)))),
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(None),
            },
            Poll::Pending => match over {
                Poll::Ready(Err(error)) => Poll::Ready(Some(Err(classify_hyper(error)))),
                Poll::Ready(Ok(())) => Poll::Ready(Some(Err(cut_short()))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn poll_replaced(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        match &mut self.replaced {
            Some(replaced) => replaced
                .as_mut()
                .poll(cx)
                .map(|()| Error::transport(TransportKind::Eof, Ended("TLS files changed"))),
            None => Poll::Pending,
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_piece(cx)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

fn cut_short() -> Error {
    Error::transport(TransportKind::Eof, Ended("connection closed in the body"))
}

/// Why a body ended without hyper saying so.
#[derive(Debug)]
struct Ended(&'static str);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Ended {}
