//! Random bytes as a list body: the pieces they come in must not matter.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| informers_rest::fuzzing::list_body(body));
