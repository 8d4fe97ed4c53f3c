//! The few requests this command sends itself: HTTP/1.0 with the standard library's sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// Longer than any answer on loopback takes, shorter than a person's patience.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A server on loopback.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    /// `None` for plain HTTP.
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// Sent as a bearer token.
    pub(super) token: Option<String>,
}

/// What a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Endpoint {
    pub(super) fn get(&self, path: &str) -> Result<Response> {
        self.request(&format!("GET {path} HTTP/1.0\r\n"), "")
    }

    pub(super) fn post(&self, path: &str, json: &str) -> Result<Response> {
        let head = format!(
            "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            json.len()
        );
        self.request(&head, json)
    }

    fn request(&self, head: &str, body: &str) -> Result<Response> {
        let token = self.token.as_ref();
        let authorization = token
            .map(|token| format!("Authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        let message = format!("{head}Host: {}\r\n{authorization}\r\n{body}", self.address);
        let socket = TcpStream::connect_timeout(&self.address, TIMEOUT)
            .with_context(|| format!("cannot connect to {}", self.address))?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let answer = match &self.tls {
            None => exchange(socket, &message),
            Some(config) => {
                let name = self.address.ip().into();
                let connection = ClientConnection::new(Arc::clone(config), name)?;
                exchange(StreamOwned::new(connection, socket), &message)
            }
        };
        parse(&answer.with_context(|| format!("no answer from {}", self.address))?)
    }
}

fn exchange(mut stream: impl Read + Write, message: &str) -> Result<Vec<u8>> {
    stream.write_all(message.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => Ok(answer),
        // Closed without a goodbye; what is missing shows in the answer.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof && !answer.is_empty() => Ok(answer),
        Err(error) => Err(error.into()),
    }
}

fn parse(answer: &[u8]) -> Result<Response> {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        bail!("an answer without an end of its headers");
    };
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok(Response {
        status: status.context("an answer without a status")?,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn get_sends_the_token_and_returns_status_and_body() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            let length = socket.read(&mut request).expect("a request");
            socket
                .write_all(b"HTTP/1.0 503 Service Unavailable\r\nA: b\r\n\r\nnot yet")
                .expect("answered");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let endpoint = Endpoint {
            address,
            tls: None,
            token: Some("t".to_owned()),
        };
        let response = endpoint.get("/readyz").expect("an answer");
        assert_eq!(
            response,
            Response {
                status: 503,
                body: "not yet".to_owned()
            }
        );
        let request = server.join().expect("the server ends");
        assert!(request.starts_with("GET /readyz HTTP/1.0\r\n"), "{request}");
        assert!(
            request.contains("\r\nAuthorization: Bearer t\r\n"),
            "{request}"
        );
    }

    #[test]
    fn answer_that_is_cut_in_its_head_is_an_error() {
        assert!(parse(b"HTTP/1.0 200 OK\r\nA: b").is_err());
        assert!(parse(b"nonsense\r\n\r\n").is_err());
    }
}
