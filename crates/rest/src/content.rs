//! [`Content`]: a body without its encoding.

use std::fmt;
use std::future::{Future as _, poll_fn};
use std::io::Write as _;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::Response;
use http::header::CONTENT_ENCODING;
use informers_reflector::{Error, TransportKind};

use crate::body::Body;

/// A body, decompressed as it arrives.
pub(crate) struct Content {
    body: Body,
    gzip: Option<MultiGzDecoder<Vec<u8>>>,
    ended: bool,
}

impl Content {
    /// # Errors
    /// If the body is encoded in another way than was asked for.
    pub(crate) fn of(response: Response<Body>) -> Result<Self, Error> {
        let gzip = match response.headers().get(CONTENT_ENCODING) {
            None => false,
            Some(encoding) if encoding.as_bytes().eq_ignore_ascii_case(b"gzip") => true,
            Some(encoding) if encoding.as_bytes().eq_ignore_ascii_case(b"identity") => false,
            Some(encoding) => {
                let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
                return Err(Error::transport(
                    TransportKind::Protocol,
                    UnknownEncoding(encoding),
                ));
            }
        };
        Ok(Self {
            body: response.into_body(),
            gzip: gzip.then(|| MultiGzDecoder::new(Vec::new())),
            ended: false,
        })
    }

    /// The next piece if it is there already; `None` if it would have to be waited for. Who
    /// got `None` is woken when it comes.
    pub(crate) async fn next_if_there(&mut self) -> Option<Result<Option<Bytes>, Error>> {
        let mut next = pin!(self.next());
        poll_fn(|cx| match next.as_mut().poll(cx) {
            Poll::Ready(piece) => Poll::Ready(Some(piece)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// The next piece, as soon as it is there; `None` at the end.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while !self.ended {
            let piece = self.body.next().await?;
            let Some(decoder) = &mut self.gzip else {
                return Ok(piece);
            };
            let broken = |error| Error::transport(TransportKind::Protocol, BadGzip(error));
            if let Some(piece) = piece {
                decoder.write_all(&piece).map_err(broken)?;
                // What can be decompressed is wanted now: it may be an event.
                decoder.flush().map_err(broken)?;
            } else {
                self.ended = true;
                decoder.try_finish().map_err(truncated)?;
            }
            let plain = std::mem::take(decoder.get_mut());
            if !plain.is_empty() {
                return Ok(Some(plain.into()));
            }
        }
        Ok(None)
    }
}

/// The body ended before its gzip trailer.
fn truncated(error: std::io::Error) -> Error {
    Error::transport(TransportKind::Eof, BadGzip(error))
}

/// A gzip body that cannot be decompressed.
#[derive(Debug)]
struct BadGzip(std::io::Error);

impl fmt::Display for BadGzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gzip body cannot be decompressed")
    }
}

impl std::error::Error for BadGzip {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// An encoding that was not asked for.
#[derive(Debug)]
struct UnknownEncoding(String);

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "body has the encoding {:?}, which was not asked for",
            self.0
        )
    }
}

impl std::error::Error for UnknownEncoding {}
