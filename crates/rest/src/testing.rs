//! What the tests talk to: real servers and proxies on loopback, with real TLS.

mod pki;
mod proxy;
mod server;

use std::error::Error as StdError;

pub(crate) use pki::{Authority, Leaf};
pub(crate) use proxy::{ProxyOptions, TestProxy};
pub(crate) use server::{Answer, Seen, ServerOptions, TestServer, raw_server};

/// The error and all its causes, as a user would be shown them.
pub(crate) fn text_of(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
