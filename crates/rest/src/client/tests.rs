//! Tests of requests over real connections.

mod auth;
mod connections;
mod proxies;
mod requests;

use std::time::Duration;

use http::Response;

use super::Client;
use crate::body::Body;
use crate::config::{Config, Timeouts};
use crate::request::Request;
use crate::testing::Authority;

/// A client of a TLS server.
fn client(config: Config, authority: &Authority) -> Client {
    Client::new(config.with_certificate_authority(authority.bundle())).unwrap()
}

/// Sends a GET and reads the whole answer.
async fn get(client: &Client, path: &str) -> (u16, String) {
    let response = client.send(Request::get(path)).await.unwrap();
    read(response).await
}

async fn read(response: Response<Body>) -> (u16, String) {
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(piece) = body.next().await.unwrap() {
        text.extend_from_slice(&piece);
    }
    (status, String::from_utf8(text).unwrap())
}

/// Short limits, so that what never comes is known soon.
fn hasty() -> Timeouts {
    let short = Duration::from_millis(100);
    Timeouts {
        connect: short,
        tls_handshake: short,
        response: short,
        response_max: short,
        body_idle: short,
        ..Timeouts::default()
    }
}
