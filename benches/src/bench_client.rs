//! The informers side of the benchmark.

fn main() {}
