//! What the integration suites share: a plain HTTP writer, a handler that checks what it
//! is told, and a proxy that breaks connections.

mod history;
mod proxy;
mod raw;
mod wait;

pub use history::{History, Told};
pub use proxy::TcpProxy;
pub use raw::{RawApi, Refused};
pub use wait::{until, until_ok};
