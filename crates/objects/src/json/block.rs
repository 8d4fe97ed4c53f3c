//! Bit masks of the structural bytes in 64 bytes of JSON.
//!
//! The comparisons are vector instructions; what is left per block is a handful of word
//! operations, without a branch that depends on the text.

use wide::u8x64;

/// Bytes looked at in one step.
pub(super) const BLOCK: usize = 64;

/// Where quotes, backslashes and brackets stand in one block; bit 0 is its first byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    pub(super) opens: u64,
    pub(super) closes: u64,
}

impl Masks {
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let block = u8x64::new(*block);
        // `[` and `{`, `]` and `}` differ in bit 5 alone.
        let folded = block | u8x64::splat(0x20);
        let bits = |block: u8x64, byte| block.simd_eq(u8x64::splat(byte)).to_bitmask();
        Self {
            quotes: bits(block, b'"'),
            backslashes: bits(block, b'\\'),
            opens: bits(folded, b'{'),
            closes: bits(folded, b'}'),
        }
    }
}

/// For each bit: whether the number of quotes up to and with it is odd.
#[inline]
pub(super) fn inside(mut quotes: u64) -> u64 {
    quotes ^= quotes << 1;
    quotes ^= quotes << 2;
    quotes ^= quotes << 4;
    quotes ^= quotes << 8;
    quotes ^= quotes << 16;
    quotes ^ (quotes << 32)
}

/// The bytes that a backslash escapes; `carry` says whether the last byte of the block
/// before escapes the first of this one, and is left so for the next.
#[inline]
pub(super) fn escaped(backslashes: u64, carry: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let carried = u64::from(*carry);
    if backslashes == 0 {
        *carry = false;
        return carried;
    }
    // Within a run of backslashes every second one is itself escaped. Adding a run to
    // its own start carries through it, which tells where it ends and on which parity.
    let backslashes = backslashes & !carried;
    let follows = (backslashes << 1) | carried;
    let odd_starts = backslashes & !EVEN & !follows;
    let (sum, overflow) = odd_starts.overflowing_add(backslashes);
    *carry = overflow;
    (EVEN ^ (sum << 1)) & follows
}

#[cfg(test)]
mod tests;
