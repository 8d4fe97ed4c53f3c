//! [`Http1`]: a connection that serves one request at a time and is driven by whoever
//! waits for the answer.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use informers_reflector::Error;
use tokio_util::sync::CancellationToken;

use crate::connect::BoxStream;
use crate::send_error::SendError;
use crate::transport_error::classify_hyper;

/// Room for one read; more lets a large list arrive in fewer pieces.
const READ_BUFFER: usize = 256 * 1024;

type Driver = Pin<Box<http1::Connection<BoxStream, Full<Bytes>>>>;

/// An HTTP/1.1 connection.
///
/// # Invariants
/// There is no task: nothing is read or written unless [`send`](Self::send) or
/// [`poll`](Self::poll) is polled.
pub(crate) struct Http1 {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Option<Driver>,
    epoch: u64,
    replaced: Option<CancellationToken>,
    reused: bool,
}

impl Http1 {
    pub(super) async fn new(
        stream: BoxStream,
        epoch: u64,
        replaced: Option<CancellationToken>,
    ) -> Result<Self, Error> {
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(READ_BUFFER)
            .handshake(stream)
            .await
            .map_err(classify_hyper)?;
        Ok(Self {
            sender,
            driver: Some(Box::pin(driver)),
            epoch,
            replaced,
            reused: false,
        })
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn is_reused(&self) -> bool {
        self.reused
    }

    pub(super) fn mark_reused(&mut self) {
        self.reused = true;
    }

    pub(crate) fn replaced(&self) -> Option<&CancellationToken> {
        self.replaced.as_ref()
    }

    /// Whether another request may be sent: the peer has not closed it, as far as can be
    /// seen without waiting.
    pub(super) fn is_usable(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        if self.poll(&mut cx).is_ready() {
            return false;
        }
        matches!(self.sender.poll_ready(&mut cx), Poll::Ready(Ok(())))
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendError> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        std::future::poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            // When the connection is over, hyper fails the answer: that says why.
            let _over = poll_driver(driver, cx);
            answer.as_mut().poll(cx)
        })
        .await
        .map_err(SendError::of)
    }

    /// Reads and writes what there is; ready when the connection is over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        poll_driver(&mut self.driver, cx)
    }
}

fn poll_driver(
    driver: &mut Option<Driver>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), hyper::Error>> {
    let Some(connection) = driver else {
        return Poll::Ready(Ok(()));
    };
    let over = connection.as_mut().poll(cx);
    if over.is_ready() {
        *driver = None;
    }
    over
}
