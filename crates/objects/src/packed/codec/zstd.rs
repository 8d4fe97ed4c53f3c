//! Zstandard with a trained dictionary.

use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CDict, DCtx, DDict, compress_bound, train_from_buffer};

/// Higher levels save 6 % of the bytes for 70 % more time, and a dictionary of six times the
/// size (measured on pods of 7 kB).
const LEVEL: i32 = 1;

/// Bytes of a dictionary. 32 and 64 kB save nothing more on pods of 7 kB.
const DICTIONARY: usize = 16 << 10;

/// Fewer samples than this train no dictionary, says the library.
const FEWEST_SAMPLES: usize = 8;

thread_local! {
    /// Their tables are large and set up once a thread.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

#[derive(Default)]
pub(in crate::packed) struct Encoder(Option<CDict<'static>>);

#[derive(Default)]
pub(in crate::packed) struct Dictionary(Option<DDict<'static>>);

/// About 20 ms for a hundred samples of 7 kB.
pub(super) fn train(samples: &[Box<[u8]>]) -> Option<(Encoder, Dictionary)> {
    if samples.len() < FEWEST_SAMPLES {
        return None;
    }
    let lengths: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
    let mut dictionary = Vec::with_capacity(DICTIONARY);
    train_from_buffer(&mut dictionary, &samples.concat(), &lengths).ok()?;
    Some((
        Encoder(CDict::try_create(&dictionary, LEVEL)),
        Dictionary(DDict::try_create(&dictionary)),
    ))
}

impl Encoder {
    pub(super) fn compress(&self, json: &[u8], out: &mut Vec<u8>) {
        out.reserve(compress_bound(json.len()));
        let compressed = COMPRESSOR.with_borrow_mut(|compressor| match &self.0 {
            Some(dictionary) => compressor.compress_using_cdict(out, json, dictionary),
            None => compressor.compress(out, json, LEVEL),
        });
        // It has all the room it may need, so this is a lack of memory.
        if compressed.is_err() {
            out.clear();
        }
    }
}

impl Dictionary {
    pub(super) fn decompress(
        &self,
        packed: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        out.reserve(length);
        let decompressed = DECOMPRESSOR.with_borrow_mut(|decompressor| match &self.0 {
            Some(dictionary) => decompressor.decompress_using_ddict(out, packed, dictionary),
            None => decompressor.decompress(out, packed),
        });
        match decompressed {
            Ok(written) if written == length => Ok(()),
            _ => Err("the compressed bytes are damaged"),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.0.as_ref().map_or(0, DDict::sizeof)
    }
}
