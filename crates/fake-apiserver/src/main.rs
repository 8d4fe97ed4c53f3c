//! `fake-apiserver`: the embedded API server as a program.

fn main() {}
