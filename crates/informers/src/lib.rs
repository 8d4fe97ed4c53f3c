//! Kubernetes shared informers for Rust: one watch, an indexed cache, many handlers.
