//! LZ4 in pure Rust, with typical objects as its dictionary.

use std::sync::Arc;

use lz4_flex::block::{
    compress_into, compress_into_with_dict, decompress_into, decompress_into_with_dict,
    get_maximum_output_size,
};

/// Bytes of a dictionary. Each call hashes it anew, so a larger one costs time.
const DICTIONARY: usize = 12 << 10;

#[derive(Default)]
pub(in crate::packed) struct Encoder(Arc<[u8]>);

#[derive(Default)]
pub(in crate::packed) struct Dictionary(Arc<[u8]>);

/// The dictionary is the last samples, whole: the nearest end is what matches find first.
pub(super) fn train(samples: &[Box<[u8]>]) -> Option<(Encoder, Dictionary)> {
    let mut dictionary = Vec::with_capacity(DICTIONARY);
    for sample in samples.iter().rev() {
        let room = DICTIONARY - dictionary.len();
        dictionary.extend_from_slice(&sample[..sample.len().min(room)]);
    }
    if dictionary.is_empty() {
        return None;
    }
    let dictionary: Arc<[u8]> = dictionary.into();
    Some((Encoder(Arc::clone(&dictionary)), Dictionary(dictionary)))
}

impl Encoder {
    pub(super) fn compress(&self, json: &[u8], out: &mut Vec<u8>) {
        out.resize(get_maximum_output_size(json.len()), 0);
        let compressed = if self.0.is_empty() {
            compress_into(json, out)
        } else {
            compress_into_with_dict(json, out, &self.0)
        };
        out.truncate(compressed.unwrap_or(0));
    }
}

impl Dictionary {
    pub(super) fn decompress(
        &self,
        packed: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        out.resize(length, 0);
        let decompressed = if self.0.is_empty() {
            decompress_into(packed, out)
        } else {
            decompress_into_with_dict(packed, out, &self.0)
        };
        match decompressed {
            Ok(written) if written == length => Ok(()),
            _ => Err("the compressed bytes are damaged"),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}
