//! What always holds for an index.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::{Index, Place, Slots};

impl Index {
    /// Checks the invariants against one another.
    pub(crate) fn assert_invariants(&self, hasher: &DefaultHashBuilder) {
        let mut standing = 0;
        for (slot, places) in self.places.iter().enumerate() {
            let values: Vec<&str> = places.as_slice().iter().map(|p| self.value(*p)).collect();
            assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
            for Place { bucket, position } in places.as_slice() {
                let slots = self.bucket(*bucket).slots.as_slice();
                assert_eq!(slots[*position as usize] as usize, slot);
                standing += 1;
            }
        }
        let (mut held, mut bytes) = (0, 0);
        for (id, bucket) in (0..).zip(&self.buckets) {
            match bucket {
                Some(bucket) => {
                    let hash = hasher.hash_one(&*bucket.value);
                    assert_eq!(self.table.find(hash, |known| known == id), Some(id));
                    assert!(!bucket.slots.as_slice().is_empty());
                    held += bucket.slots.as_slice().len();
                    bytes += bucket.heap_bytes();
                }
                None => assert!(self.free.contains(&id)),
            }
        }
        bytes += self
            .places
            .iter()
            .map(super::Places::heap_bytes)
            .sum::<usize>();
        assert_eq!((standing, self.heap_bytes), (held, bytes));
    }

    fn slots_of(&self, value: &str, hasher: &DefaultHashBuilder) -> Vec<u32> {
        let mut slots = self.slots(value, hasher).to_vec();
        slots.sort_unstable();
        slots
    }
}

#[test]
fn place_sizes_are_as_documented() {
    assert_eq!(size_of::<super::Places>(), 16);
    assert_eq!(size_of::<Option<super::Bucket>>(), 40);
    assert_eq!(size_of::<Slots>(), 24);
}

#[test]
fn bucket_of_many_slots_shrinks_with_them() {
    let hasher = DefaultHashBuilder::default();
    let mut index = Index::with_capacity(0);
    for slot in 0..1000 {
        index.set(slot, &["all"], &hasher);
    }
    let full = index.heap_bytes;
    // From the middle, so that other slots move.
    for slot in (1..1000).rev() {
        index.set((slot * 7) % 1000, &[""; 0], &hasher);
        index.assert_invariants(&hasher);
    }
    assert_eq!(index.slots_of("all", &hasher), [0]);
    assert!(
        index.heap_bytes < full / 50,
        "{} of {full}",
        index.heap_bytes
    );
}

#[test]
fn value_that_nobody_has_frees_its_id() {
    let hasher = DefaultHashBuilder::default();
    let mut index = Index::with_capacity(0);
    for round in 0..100 {
        index.set(0, &[format!("value-{round}")], &hasher);
        index.assert_invariants(&hasher);
    }
    assert_eq!((index.len(), index.buckets.len()), (1, 2));
    assert_eq!(index.slots_of("value-99", &hasher), [0]);
    assert!(index.slots_of("value-98", &hasher).is_empty());
}

#[test]
fn table_that_grew_beside_finds_every_value() {
    let hasher = DefaultHashBuilder::default();
    let mut index = Index::with_capacity(0);
    for slot in 0..2000 {
        index.set(slot, &[slot.to_string()], &hasher);
    }
    let mut table = index
        .grown(2000, &hasher)
        .expect("it is larger than a small one");
    index.exchange_table(&mut table);
    index.assert_invariants(&hasher);
    assert_eq!(index.slots_of("1234", &hasher), [1234]);
    assert!(index.grown(1000, &hasher).is_none(), "it has room now");
}
