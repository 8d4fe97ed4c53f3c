//! Giving memory back: collections that grew in a burst shrink as they empty.
//!
//! A hash table or a ring never shrinks by itself, so a queue that once held a million
//! keys would keep room for them for ever. Both helpers are called after a removal and
//! cost a comparison when there is nothing to do; a shrink happens only after the
//! length fell to an eighth of the room, which keeps the cost per removal constant.

use std::collections::VecDeque;

use hashbrown::HashMap;

/// Room below this many entries is never given back: reallocating it would cost more
/// than it saves.
const KEPT_ENTRIES: usize = 64;

/// How many times larger than its content a collection may be before it shrinks.
const SLACK: usize = 8;

/// Shrinks `map` to about twice its content if most of its room is unused.
pub(crate) fn shrink_map<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>) {
    // `capacity` does not count slots that hold tombstones, the allocation does.
    let entry = size_of::<(K, V)>() + 1;
    let room = map.allocation_size() / entry;
    if room > KEPT_ENTRIES && map.len() * SLACK < room {
        map.shrink_to(map.len() * 2);
    }
}

/// Shrinks `ring` to about twice its content if most of its room is unused.
pub(crate) fn shrink_ring<T>(ring: &mut VecDeque<T>) {
    if ring.capacity() > KEPT_ENTRIES && ring.len() * SLACK < ring.capacity() {
        ring.shrink_to(ring.len() * 2);
    }
}
