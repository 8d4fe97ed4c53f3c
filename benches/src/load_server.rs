//! The one question the load server is asked beside lists and watches.

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Asks for `count` MODIFIED events to every open watch. Over a connection of its own, so
/// that the client under test serves nothing but the informer.
pub(crate) async fn modify(server: &str, count: u64) -> Result<()> {
    let host = server.trim_start_matches("http://").trim_end_matches('/');
    let mut connection = TcpStream::connect(host)
        .await
        .with_context(|| format!("cannot connect to {host}"))?;
    let request = format!(
        "POST /bench/modify?count={count} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    ensure!(
        answer.starts_with("HTTP/1.1 200"),
        "the load server refused"
    );
    Ok(())
}
