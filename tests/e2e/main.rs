//! The suite against a control plane, run by `cargo xtask e2e`.

fn main() {}
