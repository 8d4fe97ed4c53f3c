//! Masks against a plain comparison of each byte.

use proptest::prelude::*;

use super::{BLOCK, Masks};

proptest! {
    #[test]
    fn masks_are_those_of_the_bytes(bytes in proptest::collection::vec(
        prop_oneof![proptest::sample::select(br#"\"{}[]"#.to_vec()), any::<u8>()], BLOCK,
    )) {
        let block: [u8; BLOCK] = bytes.try_into().unwrap();
        let bits = |is: &dyn Fn(u8) -> bool| {
            (0..BLOCK).map(|at| u64::from(is(block[at])) << at).sum::<u64>()
        };
        let expected = Masks {
            quotes: bits(&|byte| byte == b'"'),
            backslashes: bits(&|byte| byte == b'\\'),
            opens: bits(&|byte| byte == b'{' || byte == b'['),
            closes: bits(&|byte| byte == b'}' || byte == b']'),
        };
        prop_assert_eq!(Masks::of(&block), expected);
    }
}
