//! [`Children`]: how many objects and arrays stand in each array, in one pass.

use super::block::{BLOCK, Masks, escaped, inside};

/// For each array of a JSON value, in the order of their opening brackets: how many objects
/// and arrays stand directly in it. Numbers and texts are not counted: that would mean to
/// look at each comma.
///
/// Its buffers are there to be reused.
#[derive(Debug, Default)]
pub(crate) struct Children {
    counts: Vec<u32>,
    /// For each bracket that is open: which count is its own.
    open: Vec<u32>,
}

/// In [`Children::open`]: an object, which has no count.
const OBJECT: u32 = u32::MAX;

impl Children {
    /// Counts anew. Of malformed JSON the counts mean nothing.
    pub(crate) fn count(&mut self, json: &[u8]) {
        self.counts.clear();
        self.open.clear();
        let (mut escape, mut in_string) = (false, false);
        let (blocks, tail) = json.as_chunks::<BLOCK>();
        for block in blocks {
            self.count_block(block, &mut escape, &mut in_string);
        }
        let mut last = [b' '; BLOCK];
        last[..tail.len()].copy_from_slice(tail);
        self.count_block(&last, &mut escape, &mut in_string);
    }

    /// The counts, in order.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Bytes of its buffers.
    pub(crate) fn capacity(&self) -> usize {
        4 * (self.counts.capacity() + self.open.capacity())
    }

    #[inline]
    fn count_block(&mut self, block: &[u8; BLOCK], escape: &mut bool, in_string: &mut bool) {
        let masks = Masks::of(block);
        let quotes = masks.quotes & !escaped(masks.backslashes, escape);
        let text = inside(quotes) ^ if *in_string { u64::MAX } else { 0 };
        *in_string = text >> (BLOCK - 1) == 1;
        let opens = masks.opens & !text;
        let mut brackets = opens | (masks.closes & !text);
        while brackets != 0 {
            let bit = brackets.trailing_zeros();
            brackets &= brackets - 1;
            if opens >> bit & 1 == 0 {
                self.open.pop();
                continue;
            }
            if let Some(parent) = self.open.last()
                && let Some(count) = self.counts.get_mut(*parent as usize)
            {
                *count += 1;
            }
            if block[bit as usize] == b'[' {
                let own = u32::try_from(self.counts.len()).unwrap_or(OBJECT);
                self.open.push(own);
                self.counts.push(0);
            } else {
                self.open.push(OBJECT);
            }
        }
    }
}

#[cfg(test)]
mod tests;
