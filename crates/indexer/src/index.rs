//! [`Index`]: from values to slots, and back.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use crate::slot_table::SlotTable;

/// One index over the slots of a store.
///
/// # Invariants
/// 1. A slot's places name each of its values once, sorted by the value's text.
/// 2. `buckets[place.bucket].slots[place.position]` is the slot that has the place.
/// 3. A bucket has at least one slot: a value without objects leaves nothing.
///
/// # Memory
/// 16 bytes a slot, and 4 bytes (up to 8 while a bucket grows) for each value of an
/// object; a value itself takes about 70 bytes and its text.
pub(crate) struct Index {
    buckets: Vec<Option<Bucket>>,
    free: Vec<u32>,
    table: SlotTable,
    places: Vec<Places>,
    /// What the buckets point to.
    heap_bytes: usize,
}

struct Bucket {
    value: Arc<str>,
    slots: Slots,
}

/// The slots with a value. Most values of a high-cardinality index have one.
enum Slots {
    One(u32),
    Many(Vec<u32>),
}

/// Where a slot stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    bucket: u32,
    position: u32,
}

/// Where a slot stands for each of its values.
#[derive(Default)]
enum Places {
    #[default]
    None,
    One(Place),
    #[expect(clippy::box_collection, reason = "keeps the usual case at 16 bytes")]
    Many(Box<Vec<Place>>),
}

impl Index {
    /// An empty index for about `slots` slots.
    pub(crate) fn with_capacity(slots: usize) -> Self {
        Self {
            buckets: Vec::new(),
            free: Vec::new(),
            table: SlotTable::with_capacity(0),
            places: Vec::with_capacity(slots),
            heap_bytes: 0,
        }
    }

    /// Makes `values` (sorted, distinct) the values of `slot`.
    pub(crate) fn set(
        &mut self,
        slot: u32,
        values: &[impl AsRef<str>],
        hasher: &DefaultHashBuilder,
    ) {
        let index = slot as usize;
        if index >= self.places.len() {
            if values.is_empty() {
                return;
            }
            self.places.resize_with(index + 1, Places::default);
        }
        if self.has_exactly(index, values) {
            return;
        }
        let old = std::mem::take(&mut self.places[index]);
        let old = old.as_slice();
        // Join before leaving: an id that a value left may be another value's next.
        let mut join = |value: &str| match self.find_place(old, value) {
            Some(place) => place,
            None => self.join(slot, value, hasher),
        };
        let places = match values {
            [] => Places::None,
            [value] => Places::One(join(value.as_ref())),
            values => Places::Many(Box::new(
                values.iter().map(|value| join(value.as_ref())).collect(),
            )),
        };
        for place in old {
            let value = self.value(*place);
            if values
                .binary_search_by(|known| known.as_ref().cmp(value))
                .is_err()
            {
                self.leave(*place, hasher);
            }
        }
        self.heap_bytes = (self.heap_bytes + places.heap_bytes()).saturating_sub(heap_bytes(old));
        self.places[index] = places;
    }

    /// The slots with that value.
    pub(crate) fn slots(&self, value: &str, hasher: &DefaultHashBuilder) -> &[u32] {
        self.find(value, hasher)
            .map_or(&[], |id| self.bucket(id).slots.as_slice())
    }

    /// Every value that some slot has.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<str>> {
        self.buckets.iter().flatten().map(|bucket| &bucket.value)
    }

    /// The values of a slot, sorted.
    pub(crate) fn values_of(&self, slot: u32) -> impl Iterator<Item = &Arc<str>> {
        let places = self.places.get(slot as usize);
        let places = places.map_or(&[][..], Places::as_slice);
        places.iter().map(|place| &self.bucket(place.bucket).value)
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len() - self.free.len()
    }

    /// A larger table, where `additional` values would rehash this one for long.
    pub(crate) fn grown(
        &self,
        additional: usize,
        hasher: &DefaultHashBuilder,
    ) -> Option<SlotTable> {
        self.table
            .grown(additional, |id| hasher.hash_one(&*self.bucket(id).value))
    }

    /// Exchanges the table for one that [`grown`](Self::grown) made just before.
    pub(crate) fn exchange_table(&mut self, table: &mut SlotTable) {
        std::mem::swap(&mut self.table, table);
    }

    /// Whether most of the memory for values is empty.
    pub(crate) fn is_sparse(&self) -> bool {
        crate::is_sparse(self.len(), self.buckets.len())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Option<Bucket>>()
            + self.free.capacity() * size_of::<u32>()
            + self.table.bytes()
            + self.places.capacity() * size_of::<Places>()
            + self.heap_bytes
    }

    /// The fast path: nothing changes for most updates of an object.
    fn has_exactly(&self, index: usize, values: &[impl AsRef<str>]) -> bool {
        let places = self.places[index].as_slice();
        places.len() == values.len()
            && places
                .iter()
                .zip(values)
                .all(|(place, value)| self.value(*place) == value.as_ref())
    }

    fn find_place(&self, places: &[Place], value: &str) -> Option<Place> {
        let at = places.binary_search_by(|place| self.value(*place).cmp(value));
        at.ok().map(|at| places[at])
    }

    fn find(&self, value: &str, hasher: &DefaultHashBuilder) -> Option<u32> {
        self.table.find(hasher.hash_one(value), |id| {
            &*self.bucket(id).value == value
        })
    }

    fn value(&self, place: Place) -> &str {
        &self.bucket(place.bucket).value
    }

    fn bucket(&self, id: u32) -> &Bucket {
        self.buckets[id as usize]
            .as_ref()
            .expect("an id in use has a bucket")
    }

    fn bucket_mut(&mut self, id: u32) -> &mut Bucket {
        self.buckets[id as usize]
            .as_mut()
            .expect("an id in use has a bucket")
    }

    /// Adds `slot` to the bucket of `value`.
    fn join(&mut self, slot: u32, value: &str, hasher: &DefaultHashBuilder) -> Place {
        if let Some(id) = self.find(value, hasher) {
            let slots = &mut self.bucket_mut(id).slots;
            let before = slots.heap_bytes();
            let position = slots.push(slot);
            let grown = slots.heap_bytes() - before;
            self.heap_bytes += grown;
            return Place {
                bucket: id,
                position,
            };
        }
        let bucket = Bucket {
            value: value.into(),
            slots: Slots::One(slot),
        };
        self.heap_bytes += bucket.heap_bytes();
        let id = self.free.pop().unwrap_or_else(|| {
            self.buckets.push(None);
            u32::try_from(self.buckets.len() - 1).expect("an index has less than 2^32 values")
        });
        self.buckets[id as usize] = Some(bucket);
        let buckets = &self.buckets;
        self.table.insert(hasher.hash_one(value), id, |id| {
            let bucket = buckets[id as usize].as_ref();
            hasher.hash_one(&*bucket.expect("an id in use has a bucket").value)
        });
        Place {
            bucket: id,
            position: 0,
        }
    }

    /// Takes the slot at `place` out of its bucket, and an empty bucket out of the index.
    fn leave(&mut self, place: Place, hasher: &DefaultHashBuilder) {
        let slots = &mut self.bucket_mut(place.bucket).slots;
        let before = slots.heap_bytes();
        let left = slots.swap_remove(place.position);
        let freed = before.saturating_sub(slots.heap_bytes());
        self.heap_bytes = self.heap_bytes.saturating_sub(freed);
        match left {
            Left::Nothing => {
                let bucket = self.buckets[place.bucket as usize].take();
                let bucket = bucket.expect("an id in use has a bucket");
                let hash = hasher.hash_one(&*bucket.value);
                self.table.remove(hash, place.bucket);
                self.free.push(place.bucket);
                self.heap_bytes = self.heap_bytes.saturating_sub(bucket.heap_bytes());
            }
            Left::Moved(moved) => {
                let places = self.places[moved as usize].as_mut_slice();
                let moved = places.iter_mut().find(|known| known.bucket == place.bucket);
                moved.expect("a slot in a bucket has its place").position = place.position;
            }
            Left::Unmoved => {}
        }
    }
}

/// What is left of a bucket that a slot left.
enum Left {
    Nothing,
    /// The last slot of the bucket took the place.
    Moved(u32),
    Unmoved,
}

impl Slots {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Many(slots) => slots,
        }
    }

    fn push(&mut self, slot: u32) -> u32 {
        match self {
            Self::One(first) => {
                *self = Self::Many(vec![*first, slot]);
                1
            }
            Self::Many(slots) => {
                slots.push(slot);
                u32::try_from(slots.len() - 1).expect("slots are distinct u32")
            }
        }
    }

    fn swap_remove(&mut self, position: u32) -> Left {
        let Self::Many(slots) = self else {
            return Left::Nothing;
        };
        let position = position as usize;
        slots.swap_remove(position);
        let left = slots
            .get(position)
            .map_or(Left::Unmoved, |slot| Left::Moved(*slot));
        if let [slot] = **slots {
            *self = Self::One(slot);
        } else if slots.len() < slots.capacity() / 4 {
            slots.shrink_to(slots.len() * 2);
        }
        left
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(slots) => slots.capacity() * size_of::<u32>(),
        }
    }
}

impl Bucket {
    fn heap_bytes(&self) -> usize {
        crate::shared_text_bytes(&self.value) + self.slots.heap_bytes()
    }
}

impl Places {
    fn as_slice(&self) -> &[Place] {
        match self {
            Self::None => &[],
            Self::One(place) => std::slice::from_ref(place),
            Self::Many(places) => places,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Place] {
        match self {
            Self::None => &mut [],
            Self::One(place) => std::slice::from_mut(place),
            Self::Many(places) => places,
        }
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(self.as_slice())
    }
}

fn heap_bytes(places: &[Place]) -> usize {
    match places {
        [] | [_] => 0,
        places => size_of::<Vec<Place>>() + size_of_val(places),
    }
}

#[cfg(test)]
mod tests;
