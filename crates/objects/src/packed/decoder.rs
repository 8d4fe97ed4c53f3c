//! [`PackedDecoder`]: packs objects, and learns how to do it better.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::codec::Encoder;
use super::learner::Learner;
use super::record::Record;
use super::{Cache, Codec, Packed, Shared};
use crate::{Decode, DecodeError, MetaScan};

/// Choices for [`Packed`] objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedOptions {
    /// How the JSON is kept. Default: the smallest compiled in.
    pub codec: Codec,
    /// How many objects [`Packed::decode_shared`] keeps decoded. Default: 32, which for pods
    /// is 1 to 2 MB at worst; 0 keeps none.
    pub decoded_cache: usize,
}

impl Default for PackedOptions {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            decoded_cache: 32,
        }
    }
}

/// What a [`PackedDecoder`] did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackedStats {
    /// Objects packed.
    pub objects: u64,
    /// Bytes of their JSON.
    pub json_bytes: u64,
    /// Bytes they were packed into, identity and labels included.
    pub packed_bytes: u64,
    /// Dictionaries learnt and taken into use.
    pub dictionaries: u64,
    /// Bytes of the present dictionary.
    pub dictionary_bytes: usize,
}

/// Makes [`Packed`] objects of one resource.
///
/// It learns as it goes: every now and then a call of `decode` trains a dictionary from
/// objects seen before, which takes that call some 20 ms; after the first few thousand
/// objects that happens only when they have changed in kind. A dictionary that does not pack
/// its own samples better than the one before is dropped.
///
/// To leave managed fields out of what is packed, wrap it in
/// [`StripManagedFields`](crate::StripManagedFields).
///
/// # Memory
/// While it samples: up to 1 MiB of objects. For compression 64 kB besides the dictionary
/// that the objects hold. Each thread that packs or unpacks keeps its tables and buffers,
/// about 1 MB.
///
/// # Locks
/// One for the present dictionary, one for the samples; held for a few instructions, or the
/// copy of one object. Training holds neither.
pub struct PackedDecoder<K> {
    options: PackedOptions,
    present: RwLock<Arc<Present<K>>>,
    learner: Mutex<Learner>,
    cache: Arc<Cache<K>>,
    /// The number of objects packed, and the serial number of the next.
    objects: AtomicU64,
    json_bytes: AtomicU64,
    packed_bytes: AtomicU64,
    dictionaries: AtomicUsize,
}

/// The dictionary in use, both halves.
struct Present<K> {
    encoder: Encoder,
    shared: Arc<Shared<K>>,
}

/// Samples that a new dictionary is judged by.
const JUDGED: usize = 24;

impl<K> PackedDecoder<K> {
    /// One that has learnt nothing yet.
    pub fn new(options: PackedOptions) -> Self {
        let (encoder, dictionary) = options.codec.start();
        let cache = Arc::new(Cache::new(options.decoded_cache));
        let shared = Arc::new(Shared {
            dictionary,
            cache: Arc::clone(&cache),
        });
        Self {
            options,
            present: RwLock::new(Arc::new(Present { encoder, shared })),
            learner: Mutex::new(Learner::new()),
            cache,
            objects: AtomicU64::new(0),
            json_bytes: AtomicU64::new(0),
            packed_bytes: AtomicU64::new(0),
            dictionaries: AtomicUsize::new(0),
        }
    }

    /// What it did so far.
    pub fn stats(&self) -> PackedStats {
        PackedStats {
            objects: self.objects.load(Ordering::Relaxed),
            json_bytes: self.json_bytes.load(Ordering::Relaxed),
            packed_bytes: self.packed_bytes.load(Ordering::Relaxed),
            dictionaries: self.dictionaries.load(Ordering::Relaxed) as u64,
            dictionary_bytes: self.present().shared.dictionary.size(),
        }
    }

    fn present(&self) -> Arc<Present<K>> {
        Arc::clone(&self.present.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn learner(&self) -> std::sync::MutexGuard<'_, Learner> {
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Packs one object.
    fn pack(&self, json: &[u8], scan: &MetaScan<'_>) -> Packed<K> {
        let serial = self.objects.fetch_add(1, Ordering::Relaxed);
        let present = self.present();
        let record = Record::new(json, scan, serial, |json, out| {
            present.encoder.compress(json, out);
        });
        let (before, after) = (json.len(), record.size());
        self.json_bytes.fetch_add(before as u64, Ordering::Relaxed);
        self.packed_bytes.fetch_add(after as u64, Ordering::Relaxed);
        let shared = Arc::clone(&present.shared);
        if self.options.codec != Codec::Stored {
            // Each object holds it once, besides the present and this call.
            let live = || Arc::strong_count(&shared).saturating_sub(2);
            let samples = self.learner().observe(json, after, live);
            if let Some(samples) = samples {
                self.learn(&samples, &present);
            }
        }
        Packed { record, shared }
    }

    /// Trains a dictionary, and takes it into use if it is a better one.
    fn learn(&self, samples: &[Box<[u8]>], present: &Present<K>) {
        if let Some((encoder, dictionary)) = self.options.codec.train(samples) {
            let judged = samples.iter().step_by((samples.len() / JUDGED).max(1));
            let (mut old, mut new, mut out) = (0, 0, Vec::new());
            for sample in judged {
                present.encoder.compress(sample, &mut out);
                old += out.len();
                encoder.compress(sample, &mut out);
                new += out.len();
            }
            if new < old - old / 32 {
                tracing::debug!(
                    samples = samples.len(),
                    before = old,
                    after = new,
                    "learnt a dictionary from packed objects"
                );
                let shared = Arc::new(Shared {
                    dictionary,
                    cache: Arc::clone(&self.cache),
                });
                let next = Arc::new(Present { encoder, shared });
                *self.present.write().unwrap_or_else(PoisonError::into_inner) = next;
                self.dictionaries.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.learner().trained();
    }
}

impl<K: Send + Sync + 'static> Decode<Packed<K>> for PackedDecoder<K> {
    /// One thread keeps up with the network, and one thread's memory is enough.
    fn is_expensive(&self) -> bool {
        false
    }

    /// # Errors
    /// If the object's name cannot be read. Whether the object fits `K` is not looked at.
    fn decode(&self, json: &[u8]) -> Result<Packed<K>, DecodeError> {
        let scan = MetaScan::of(json);
        if !scan.is_complete() {
            return Err(DecodeError::new(
                json,
                "metadata",
                &"no metadata that can be read",
            ));
        }
        if scan.name().is_none() {
            return Err(DecodeError::new(
                json,
                "metadata.name",
                &"no name that can be read",
            ));
        }
        Ok(self.pack(json, &scan))
    }
}
