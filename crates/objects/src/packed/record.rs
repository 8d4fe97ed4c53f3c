//! [`Record`]: identity and compressed JSON of one object in one allocation.

use super::codec::with_output;
use crate::MetaScan;
use crate::identity::{View, encode_scan, put_length, take_length};

/// The encoded identity; then as LEB128 the object's serial number and the length of its
/// JSON; then the JSON, compressed if that made it shorter.
#[derive(Clone)]
pub(super) struct Record(Box<[u8]>);

/// What follows the identity in a record.
pub(super) struct Payload<'a> {
    /// The object's number among those of its informer.
    pub(super) serial: u64,
    /// Bytes of the JSON.
    pub(super) json_length: usize,
    /// The JSON, compressed or not.
    pub(super) bytes: &'a [u8],
}

impl Payload<'_> {
    /// Whether the JSON is not compressed.
    pub(super) fn is_plain(&self) -> bool {
        self.bytes.len() == self.json_length
    }
}

impl Record {
    /// Of an object's JSON, of which `compress` leaves a shorter form in its second
    /// argument, or nothing.
    pub(super) fn new(
        json: &[u8],
        scan: &MetaScan<'_>,
        serial: u64,
        compress: impl FnOnce(&[u8], &mut Vec<u8>),
    ) -> Self {
        with_output(|record, packed| {
            compress(json, packed);
            encode_scan(record, scan);
            put_length(record, usize::try_from(serial).unwrap_or(usize::MAX));
            put_length(record, json.len());
            let shorter = !packed.is_empty() && packed.len() < json.len();
            record.extend_from_slice(if shorter { packed } else { json });
            Self(record.as_slice().into())
        })
    }

    pub(super) fn identity(&self) -> View<'_> {
        View::of(&self.0)
    }

    pub(super) fn payload(&self) -> Payload<'_> {
        let mut bytes = self.identity().behind();
        let serial = take_length(&mut bytes) as u64;
        let json_length = take_length(&mut bytes);
        Payload {
            serial,
            json_length,
            bytes,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}
