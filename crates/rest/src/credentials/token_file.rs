//! [`TokenFile`]: a bearer token in a file that others rewrite.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use informers_reflector::{Error, TransportKind};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Credential;
use super::authenticator::bearer;
use crate::config::Secret;

/// A token file and the last good token in it.
///
/// # Upstream
/// `transport.NewCachedFileTokenSource`.
pub(super) struct TokenFile {
    path: PathBuf,
    fallback: Option<Secret>,
    check_every: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Secret>,
    credential: Option<Credential>,
    generation: u64,
    checked: Option<Instant>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf, fallback: Option<Secret>, check_every: Duration) -> Self {
        Self {
            path,
            fallback,
            check_every,
            state: Mutex::default(),
        }
    }

    /// The token, read again if it was not looked at for a while or was just refused.
    /// A file that is missing, unreadable or empty leaves the last good token.
    pub(super) async fn credential(&self, refused: Option<u64>) -> Result<Credential, Error> {
        let mut state = self.state.lock().await;
        let fresh = state
            .checked
            .is_some_and(|checked| checked.elapsed() < self.check_every);
        if let Some(credential) = &state.credential
            && fresh
            && refused != Some(credential.generation)
        {
            return Ok(credential.clone());
        }
        state.checked = Some(Instant::now());
        let token = match self.read().await {
            Ok(token) => token,
            Err(problem) => {
                if let Some(credential) = &state.credential {
                    tracing::warn!(
                        path = %self.path.display(),
                        %problem,
                        "token file is not usable, the last good token is kept"
                    );
                    return Ok(credential.clone());
                }
                match &self.fallback {
                    Some(token) => token.clone(),
                    None => return Err(Error::transport(TransportKind::Auth, problem)),
                }
            }
        };
        if state.token.as_ref() != Some(&token) {
            state.generation += 1;
            state.credential = Some(Credential {
                authorization: Some(bearer(&token)?),
                identity: None,
                generation: state.generation,
            });
            state.token = Some(token);
        }
        match &state.credential {
            Some(credential) => Ok(credential.clone()),
            None => Err(Error::transport(
                TransportKind::Auth,
                self.problem("is empty"),
            )),
        }
    }

    async fn read(&self) -> Result<Secret, TokenFileError> {
        let text = tokio::fs::read(&self.path)
            .await
            .map_err(|error| TokenFileError {
                source: Some(error),
                ..self.problem("cannot be read")
            })?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let Ok(text) = std::str::from_utf8(text) else {
            return Err(self.problem("is not text"));
        };
        match text.trim() {
            "" => Err(self.problem("is empty")),
            token => Ok(Secret::from(token)),
        }
    }

    fn problem(&self, problem: &'static str) -> TokenFileError {
        TokenFileError {
            path: self.path.clone(),
            problem,
            source: None,
        }
    }
}

/// Why there is no token.
#[derive(Debug)]
struct TokenFileError {
    path: PathBuf,
    problem: &'static str,
    source: Option<std::io::Error>,
}

impl fmt::Display for TokenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token file {} {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for TokenFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
