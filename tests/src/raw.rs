//! [`RawApi`]: plain requests, to write what informers are to see and to learn the truth.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result};
use http::{HeaderValue, Method};
use informers::Client;
use informers_rest::Request;
use serde_json::Value;

/// Creates, patches, deletes and lists by plain requests: JSON in, JSON out.
///
/// Paths are those of the API, percent-encoded, with their query.
#[derive(Clone)]
pub struct RawApi {
    client: Client,
}

/// The server answered with a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub code: u16,
    /// The `reason` of the `Status`; empty where the answer is none.
    pub reason: String,
    /// Its `message`.
    pub message: String,
}

impl RawApi {
    /// By that client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The answer to a GET, as text.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn text(&self, path: &str) -> Result<String> {
        self.send(Request::get(path)).await
    }

    /// One object.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.json(Request::get(path)).await
    }

    /// A whole collection, as it is at this moment: without a resource version the server
    /// reads its database.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn list(&self, collection: &str) -> Result<Vec<Value>> {
        let mut list = self.json(Request::get(collection)).await?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            other => anyhow::bail!("{collection}: the items of the list are {other}"),
        }
    }

    /// Keys and resource versions of a collection, as [`list`](Self::list) finds them.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn versions(&self, collection: &str) -> Result<BTreeMap<String, String>> {
        let items = self.list(collection).await?;
        Ok(items.iter().map(key_and_version).collect())
    }

    /// Creates an object.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn create(&self, collection: &str, object: &Value) -> Result<Value> {
        self.write(Method::POST, collection, "application/json", object)
            .await
    }

    /// Applies a merge patch.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.write(Method::PATCH, path, "application/merge-patch+json", patch)
            .await
    }

    /// Deletes an object, or a whole collection.
    ///
    /// # Errors
    /// [`Refused`], or that there was no answer.
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.json(Request::new(Method::DELETE, path)).await
    }

    async fn write(
        &self,
        method: Method,
        path: &str,
        media_type: &'static str,
        body: &Value,
    ) -> Result<Value> {
        let body = serde_json::to_vec(body)?;
        let request = Request::new(method, path).body(HeaderValue::from_static(media_type), body);
        self.json(request).await
    }

    async fn json(&self, request: Request) -> Result<Value> {
        let what = format!("{request:?}");
        let text = self.send(request).await?;
        serde_json::from_str(&text).with_context(|| format!("{what}: the answer is no JSON"))
    }

    async fn send(&self, request: Request) -> Result<String> {
        let what = format!("{request:?}");
        let exchange = async {
            let response = self.client.send(request).await?;
            let status = response.status();
            let mut body = response.into_body();
            let mut bytes = Vec::new();
            while let Some(piece) = body.next().await? {
                bytes.extend_from_slice(&piece);
            }
            let text = String::from_utf8(bytes)?;
            if status.is_success() {
                Ok(text)
            } else {
                Err(anyhow::Error::new(Refused::read(status.as_u16(), &text)))
            }
        };
        exchange.await.context(what)
    }
}

impl Refused {
    fn read(code: u16, text: &str) -> Self {
        let status: Value = serde_json::from_str(text).unwrap_or_default();
        let field = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
        Self {
            code,
            reason: field("reason"),
            message: field("message"),
        }
    }

    /// The refusal in `error`, if that is what it is.
    pub fn of(error: &anyhow::Error) -> Option<&Self> {
        error.downcast_ref()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered {}", self.code)?;
        if !self.message.is_empty() {
            write!(f, " {}: {}", self.reason, self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// `namespace/name` and `metadata.resourceVersion`.
fn key_and_version(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let key = match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    };
    (key, text("resourceVersion").to_owned())
}
