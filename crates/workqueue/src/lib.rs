//! Typed, delaying and rate-limited work queue with client-go semantics.
