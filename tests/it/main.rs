//! The in-process suite: our crates against the embedded API server over loopback HTTP.
