//! Bit masks of the structural bytes in 64 bytes of JSON.
//!
//! The comparisons are written so that the compiler turns them into vector
//! instructions; what is left per block is a handful of word operations, without a
//! branch that depends on the text.

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
        Self {
            quotes: bits(block, |byte| byte == b'"'),
            backslashes: bits(block, |byte| byte == b'\\'),
            // `[` and `{`, `]` and `}` differ in bit 5 alone.
            opens: bits(block, |byte| byte | 0x20 == b'{'),
            closes: bits(block, |byte| byte | 0x20 == b'}'),
        }
    }
}

#[inline]
fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    // Moves bit 8k to bit 56 + k, for k in 0..8; no two products meet.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut flags = [0_u8; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(*byte));
    }
    let (words, _) = flags.as_chunks::<8>();
    let mut mask = 0;
    for (index, word) in words.iter().enumerate() {
        let gathered = u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56;
        mask |= gathered << (8 * index);
    }
    mask
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
