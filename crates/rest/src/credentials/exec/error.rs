//! [`ExecError`]: why a plugin gave no credential.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why an exec plugin gave no credential.
#[derive(Debug)]
pub(super) enum ExecError {
    /// It needs a terminal, and there is none.
    NoTerminal,
    /// It could not be started.
    Start {
        command: PathBuf,
        install_hint: Option<String>,
        source: io::Error,
    },
    /// It failed; with the end of what it said on stderr.
    Failed {
        command: PathBuf,
        status: ExitStatus,
        stderr: String,
    },
    /// It printed something else than a credential.
    BadAnswer(String),
    /// The cluster's CA, which it is to be told, cannot be read.
    CertificateAuthority(io::Error),
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => f.write_str(
                "exec plugin must talk to the user (interactiveMode: Always), \
                 but standard input is no terminal",
            ),
            Self::Start {
                command,
                install_hint,
                ..
            } => {
                write!(f, "exec plugin {} cannot be started", command.display())?;
                match install_hint {
                    Some(hint) => write!(f, "; {}", hint.trim()),
                    None => Ok(()),
                }
            }
            Self::Failed {
                command,
                status,
                stderr,
            } => {
                write!(f, "exec plugin {} failed, {status}", command.display())?;
                match stderr.trim() {
                    "" => Ok(()),
                    stderr => write!(f, ": {stderr}"),
                }
            }
            Self::BadAnswer(problem) => write!(f, "exec plugin's answer {problem}"),
            Self::CertificateAuthority(_) => {
                f.write_str("certificate-authority for the exec plugin cannot be read")
            }
        }
    }
}

impl StdError for ExecError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Start { source, .. } | Self::CertificateAuthority(source) => Some(source),
            Self::NoTerminal | Self::Failed { .. } | Self::BadAnswer(_) => None,
        }
    }
}
