//! Micro-benchmarks of the stages an object goes through.
//!
//! `cargo bench -p informers-benches` measures; `cargo test` runs each once, to see that it
//! works.

mod decode;
mod fan_out;
mod queue;
mod split;
mod store;
mod thing;
mod work_queue;

fn main() {
    divan::main();
}
