//! [`Heard`]: a stream that remembers when the peer was heard last.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use informers_reflector::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::connect::Transport;

/// A stream that notes the time of whatever comes from the peer, its end included.
pub(super) struct Heard {
    stream: Box<dyn Transport>,
    last: Arc<Mutex<Instant>>,
}

impl Heard {
    pub(super) fn new(stream: Box<dyn Transport>) -> (Self, Arc<Mutex<Instant>>) {
        let last = Arc::new(Mutex::new(Instant::now()));
        let heard = Self {
            stream,
            last: Arc::clone(&last),
        };
        (heard, last)
    }

    fn note(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// How long the peer has not been heard.
pub(super) fn silence(last: &Mutex<Instant>) -> Duration {
    last.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .elapsed()
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        self.note();
        Poll::Ready(read)
    }
}

impl AsyncWrite for Heard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf));
        if written.is_err() {
            // The system has heard of a reset, or will not hear any more.
            self.note();
        }
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs));
        if written.is_err() {
            self.note();
        }
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection whose peer is gone without a word.
#[derive(Debug)]
pub(super) struct NoPong {
    pub(super) limit: Duration,
    pub(super) error: Error,
}

impl fmt::Display for NoPong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "connection lost: no answer to PING within {:?}",
            self.limit
        )
    }
}

impl std::error::Error for NoPong {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
