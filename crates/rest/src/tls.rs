//! TLS to the API server: whom to trust, what to show, and both again when the files
//! change.

mod der;
mod identity;
mod provider;
mod state;
mod verifier;

use std::fmt;
use std::sync::Arc;

pub(crate) use provider::crypto_provider;
pub(crate) use state::{Tls, TlsState};

/// A client certificate and its key as PEM text. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct IdentityPem {
    pub(crate) certificate: Arc<[u8]>,
    pub(crate) key: Arc<[u8]>,
}

impl fmt::Debug for IdentityPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityPem").finish_non_exhaustive()
    }
}
