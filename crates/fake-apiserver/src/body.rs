//! Response bodies, and the faults that strike within them.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::{self, BoxStream, StreamExt};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};

use crate::connection::Control;
use crate::fault::{Action, Cut, Struck, duration};

/// The body of every response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body before it is sent: known as a whole, or produced as it is read.
pub(crate) enum Content {
    /// All of it.
    Whole(Bytes),
    /// Piece by piece.
    Stream(BoxStream<'static, Bytes>),
}

impl Content {
    pub(crate) fn into_stream(self) -> BoxStream<'static, Bytes> {
        match self {
            Self::Whole(bytes) => stream::once(async move { bytes }).boxed(),
            Self::Stream(stream) => stream,
        }
    }

    pub(crate) fn into_body(self) -> Body {
        match self {
            Self::Whole(bytes) => Full::new(bytes).boxed_unsync(),
            Self::Stream(stream) => {
                StreamBody::new(stream.map(|bytes| Ok(Frame::data(bytes)))).boxed_unsync()
            }
        }
    }

    /// Compressed; each piece can be decompressed as soon as it arrives.
    pub(crate) fn gzip(self) -> Self {
        let state = (
            self.into_stream(),
            Some(GzEncoder::new(Vec::new(), Compression::fast())),
        );
        Self::Stream(
            stream::unfold(state, |(mut pieces, encoder)| async move {
                let mut encoder = encoder?;
                let Some(piece) = pieces.next().await else {
                    return Some((Bytes::from(written(encoder.finish())), (pieces, None)));
                };
                let flushed = encoder.write_all(&piece).and_then(|()| encoder.flush());
                debug_assert!(flushed.is_ok(), "writing to memory does not fail");
                let bytes = std::mem::take(encoder.get_mut());
                Some((Bytes::from(bytes), (pieces, Some(encoder))))
            })
            .boxed(),
        )
    }

    /// With the faults that strike at a number of bytes.
    pub(crate) fn with_byte_faults(self, struck: &[Struck], control: &Arc<Control>) -> Self {
        let fault = struck
            .iter()
            .filter(|s| s.after_events.is_none())
            .find_map(|s| match &s.action {
                Action::Cut { after_bytes, how } => Some((*after_bytes, ByteFault::Cut(*how))),
                Action::Stall {
                    after_bytes,
                    seconds,
                } => Some((*after_bytes, ByteFault::Stall(*seconds))),
                _ => None,
            });
        let Some((at, fault)) = fault else {
            return self;
        };
        let state = ByteFaults {
            pieces: self.into_stream(),
            left: at,
            rest: None,
            fault: Some(fault),
            control: Arc::clone(control),
        };
        Self::Stream(stream::unfold(state, ByteFaults::next).boxed())
    }
}

fn written(result: std::io::Result<Vec<u8>>) -> Vec<u8> {
    debug_assert!(result.is_ok(), "writing to memory does not fail");
    result.unwrap_or_default()
}

#[derive(Clone, Copy, Debug)]
enum ByteFault {
    Cut(Cut),
    Stall(Option<f64>),
}

struct ByteFaults {
    pieces: BoxStream<'static, Bytes>,
    /// Bytes that still pass before the fault strikes.
    left: u64,
    /// What was held back of the piece in which it strikes.
    rest: Option<Bytes>,
    fault: Option<ByteFault>,
    control: Arc<Control>,
}

impl ByteFaults {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let (0, Some(fault)) = (self.left, self.fault) {
            // What was sent so far is flushed while this waits.
            tokio::task::yield_now().await;
            self.fault = None;
            match fault {
                ByteFault::Cut(how) => cut(how, &self.control).await,
                ByteFault::Stall(Some(seconds)) => tokio::time::sleep(duration(seconds)).await,
                ByteFault::Stall(None) => std::future::pending().await,
            }
        }
        let mut piece = match self.rest.take() {
            Some(rest) => rest,
            None => self.pieces.next().await?,
        };
        if self.fault.is_none() {
            return Some((piece, self));
        }
        let length = piece.len() as u64;
        if length <= self.left {
            self.left -= length;
            return Some((piece, self));
        }
        let passing = usize::try_from(self.left).unwrap_or(usize::MAX);
        if let Some(ByteFault::Cut(Cut::MidChunk)) = self.fault {
            // The whole piece is given to HTTP, which announces its length; the socket lets
            // part of it through. The head of a chunk is its length in hex and a line end.
            tokio::task::yield_now().await;
            self.fault = None;
            self.control
                .close_after(format!("{length:x}\r\n").len() + passing);
            return Some((piece, self));
        }
        let first = piece.split_to(passing);
        self.rest = Some(piece);
        self.left = 0;
        if first.is_empty() {
            return Box::pin(self.next()).await;
        }
        Some((first, self))
    }
}

/// Ends the connection; never returns.
pub(crate) async fn cut(how: Cut, control: &Control) {
    match how {
        Cut::Fin | Cut::MidChunk => control.close(),
        Cut::Rst => control.reset(),
    }
    std::future::pending::<()>().await;
}
