//! [`TokenProvider`]: bearer tokens from the user's own code.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use informers_reflector::{Error, TransportKind};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Credential;
use super::authenticator::bearer;
use crate::config::Secret;

/// A future of a token.
pub type ProvidedToken<'a> = Pin<
    Box<
        dyn Future<Output = Result<(Secret, Option<Duration>), Box<dyn StdError + Send + Sync>>>
            + Send
            + 'a,
    >,
>;

/// Gives bearer tokens: from a vault, a metadata server, a cloud SDK.
///
/// # Contract
/// Called by one request at a time; its answer is kept for the time it names, or until
/// the server answers 401.
pub trait TokenProvider: Send + Sync + 'static {
    /// A fresh token, and for how long it may be used if that is known.
    fn token(&self) -> ProvidedToken<'_>;
}

/// A provider and its last answer.
pub(super) struct ProviderSource {
    provider: Arc<dyn TokenProvider>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    credential: Option<Credential>,
    expires: Option<Instant>,
    generation: u64,
}

impl ProviderSource {
    pub(super) fn new(provider: Arc<dyn TokenProvider>) -> Self {
        Self {
            provider,
            state: Mutex::default(),
        }
    }

    /// The last answer while it lasts; `refused` is the generation that got a 401.
    pub(super) async fn credential(&self, refused: Option<u64>) -> Result<Credential, Error> {
        let mut state = self.state.lock().await;
        if let Some(credential) = &state.credential {
            let expired = state
                .expires
                .is_some_and(|expires| Instant::now() >= expires);
            if !expired && refused != Some(credential.generation) {
                return Ok(credential.clone());
            }
        }
        let (token, lifetime) = self
            .provider
            .token()
            .await
            .map_err(|error| Error::transport(TransportKind::Auth, error))?;
        state.generation += 1;
        let credential = Credential {
            authorization: Some(bearer(&token)?),
            identity: None,
            generation: state.generation,
        };
        state.expires = lifetime.map(|lifetime| Instant::now() + lifetime);
        state.credential = Some(credential.clone());
        Ok(credential)
    }
}
