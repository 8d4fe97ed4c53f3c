//! [`Codec`]: the ways to make JSON small, and the buffers each thread does it with.

#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "zstd")]
mod zstd;

use std::cell::Cell;

/// How the JSON of [`Packed`](crate::Packed) objects is kept.
///
/// # Memory
/// Measured by `examples/decode_cost.rs` on pods of 7 kB; bytes include 210 for identity
/// and labels, times are per cent of what decoding the JSON to a `Pod` takes:
///
/// | | bytes a pod | time to pack |
/// |---|---|---|
/// | `Zstd` | 890 | 22 |
/// | `Lz4` | 1,490 | 38 |
/// | `Stored` | 7,400 | 8 |
///
/// Unpacking takes some 5 per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// Zstandard, level 1, with a trained dictionary. Needs the feature `zstd`, which is on
    /// by default and needs a C compiler.
    #[cfg(feature = "zstd")]
    Zstd,
    /// LZ4 with an object as dictionary, in pure Rust. Needs the feature `lz4`.
    #[cfg(feature = "lz4")]
    Lz4,
    /// Not compressed.
    Stored,
}

impl Default for Codec {
    /// The smallest that is compiled in.
    #[allow(
        unreachable_code,
        reason = "which line is the last depends on the features"
    )]
    fn default() -> Self {
        #[cfg(feature = "zstd")]
        return Self::Zstd;
        #[cfg(feature = "lz4")]
        return Self::Lz4;
        Self::Stored
    }
}

/// Compresses, with a dictionary or without.
pub(super) enum Encoder {
    #[cfg(feature = "zstd")]
    Zstd(zstd::Encoder),
    #[cfg(feature = "lz4")]
    Lz4(lz4::Encoder),
    Stored,
}

/// The other half of an [`Encoder`], which its objects keep.
pub(super) enum Dictionary {
    #[cfg(feature = "zstd")]
    Zstd(zstd::Dictionary),
    #[cfg(feature = "lz4")]
    Lz4(lz4::Dictionary),
    Stored,
}

impl Codec {
    /// Works without a dictionary.
    pub(super) fn start(self) -> (Encoder, Dictionary) {
        match self {
            #[cfg(feature = "zstd")]
            Self::Zstd => (
                Encoder::Zstd(zstd::Encoder::default()),
                Dictionary::Zstd(zstd::Dictionary::default()),
            ),
            #[cfg(feature = "lz4")]
            Self::Lz4 => (
                Encoder::Lz4(lz4::Encoder::default()),
                Dictionary::Lz4(lz4::Dictionary::default()),
            ),
            Self::Stored => (Encoder::Stored, Dictionary::Stored),
        }
    }

    /// Learns a dictionary from whole objects; `None` if they have nothing to teach.
    pub(super) fn train(self, samples: &[Box<[u8]>]) -> Option<(Encoder, Dictionary)> {
        match self {
            #[cfg(feature = "zstd")]
            Self::Zstd => {
                let (encoder, dictionary) = zstd::train(samples)?;
                Some((Encoder::Zstd(encoder), Dictionary::Zstd(dictionary)))
            }
            #[cfg(feature = "lz4")]
            Self::Lz4 => {
                let (encoder, dictionary) = lz4::train(samples)?;
                Some((Encoder::Lz4(encoder), Dictionary::Lz4(dictionary)))
            }
            Self::Stored => {
                let _ = samples;
                None
            }
        }
    }
}

impl Encoder {
    /// Leaves the compressed form of `json` in `out`, or nothing if it cannot.
    pub(super) fn compress(&self, json: &[u8], out: &mut Vec<u8>) {
        out.clear();
        match self {
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.compress(json, out),
            #[cfg(feature = "lz4")]
            Self::Lz4(encoder) => encoder.compress(json, out),
            Self::Stored => {
                let _ = json;
            }
        }
    }
}

impl Dictionary {
    /// Leaves the JSON of `length` bytes in `out`.
    ///
    /// # Errors
    /// With what is wrong with the compressed bytes.
    pub(super) fn decompress(
        &self,
        packed: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        out.clear();
        match self {
            #[cfg(feature = "zstd")]
            Self::Zstd(dictionary) => dictionary.decompress(packed, length, out),
            #[cfg(feature = "lz4")]
            Self::Lz4(dictionary) => dictionary.decompress(packed, length, out),
            Self::Stored => {
                let _ = (packed, length);
                Err("compressed bytes without a codec")
            }
        }
    }

    /// Bytes it holds.
    pub(super) fn size(&self) -> usize {
        match self {
            #[cfg(feature = "zstd")]
            Self::Zstd(dictionary) => dictionary.size(),
            #[cfg(feature = "lz4")]
            Self::Lz4(dictionary) => dictionary.size(),
            Self::Stored => 0,
        }
    }
}

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<[Vec<u8>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// A buffer grown beyond this for one large object is given back after it.
const KEPT: usize = 1 << 20;

/// Calls `work` with this thread's buffer. It is taken out meanwhile, so `work` may come
/// here again.
pub(super) fn with_scratch<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = SCRATCH.take();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        SCRATCH.set(buffer);
    }
    result
}

/// Calls `work` with two empty buffers of this thread.
pub(super) fn with_output<R>(work: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>) -> R) -> R {
    let [mut first, mut second] = OUTPUT.take();
    first.clear();
    second.clear();
    let result = work(&mut first, &mut second);
    if first.capacity() + second.capacity() <= KEPT {
        OUTPUT.set([first, second]);
    }
    result
}
