//! [`PemSource`]: PEM text given in place, or a file that holds it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where certificates or a private key come from.
#[derive(Clone, PartialEq, Eq)]
pub enum PemSource {
    /// The PEM text itself.
    Inline(Arc<[u8]>),
    /// A file, read again when it changes.
    File(PathBuf),
}

impl PemSource {
    /// PEM text given in place.
    pub fn inline(pem: impl AsRef<[u8]>) -> Self {
        Self::Inline(pem.as_ref().into())
    }

    /// A file that holds PEM text.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self::File(path.as_ref().to_owned())
    }

    /// The file's path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Inline(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// The PEM text, read now.
    pub(crate) fn read(&self) -> std::io::Result<Arc<[u8]>> {
        match self {
            Self::Inline(pem) => Ok(Arc::clone(pem)),
            Self::File(path) => std::fs::read(path).map(Arc::from),
        }
    }
}

// By hand: the text may be a private key.
impl fmt::Debug for PemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(pem) => write!(f, "Inline({} bytes)", pem.len()),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
