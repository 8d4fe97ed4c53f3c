//! `cargo xtask`: one command for each thing.

fn main() {}
