//! The server over HTTP, as clients see it.

#![allow(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test"
)]

mod client;
mod crud;
mod faults;
mod list;
mod tls;
mod watch;
