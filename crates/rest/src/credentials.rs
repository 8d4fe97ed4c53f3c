//! [`Credentials`]: who the client is, and how what proves it is kept fresh.

mod authenticator;
mod exec;
mod impersonation;
mod oidc;
mod provider;
mod token_file;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use authenticator::{Authenticator, Credential};
pub use exec::{ExecCluster, ExecConfig};
pub use impersonation::Impersonation;
pub use oidc::OidcConfig;
pub use provider::{ProvidedToken, TokenProvider};

use crate::config::Secret;

/// How the client proves who it is. A client certificate is set by
/// [`Config::with_identity`](crate::Config::with_identity), beside any of these.
///
/// `Debug` shows no secrets.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Credentials {
    /// Not at all (or by client certificate alone).
    #[default]
    None,
    /// A bearer token that never changes.
    Token(Secret),
    /// A file that holds a bearer token, read again when it changes.
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Used while the file cannot be read.
        fallback: Option<Secret>,
    },
    /// User name and password.
    Basic {
        /// The user.
        username: String,
        /// Its password.
        password: Secret,
    },
    /// A program that prints credentials.
    Exec(Box<ExecConfig>),
    /// OIDC: an ID token, renewed with a refresh token.
    Oidc(Box<OidcConfig>),
    /// Code of the user's own.
    Provider(Arc<dyn TokenProvider>),
}

impl Credentials {
    /// A bearer token that never changes.
    pub fn token(token: impl Into<Secret>) -> Self {
        Self::Token(token.into())
    }

    /// A file that holds a bearer token, read again when it changes.
    pub fn token_file(path: impl Into<PathBuf>) -> Self {
        Self::TokenFile {
            path: path.into(),
            fallback: None,
        }
    }

    /// User name and password.
    pub fn basic(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self::Basic {
            username: username.into(),
            password: password.into(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(token) => f.debug_tuple("Token").field(token).finish(),
            Self::TokenFile { path, .. } => f.debug_tuple("TokenFile").field(path).finish(),
            Self::Basic { username, password } => f
                .debug_struct("Basic")
                .field("username", username)
                .field("password", password)
                .finish(),
            Self::Exec(exec) => exec.fmt(f),
            Self::Oidc(oidc) => oidc.fmt(f),
            Self::Provider(_) => f.write_str("Provider"),
        }
    }
}
