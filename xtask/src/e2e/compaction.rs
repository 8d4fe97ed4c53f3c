//! etcd compacted to its current revision, so that older watches expire.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::http::{Endpoint, Response};

#[derive(Deserialize)]
struct Answer {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
}

/// Forgets the history before the current revision, which is returned.
pub(super) fn compact(etcd: &Endpoint) -> Result<String> {
    // Any read tells the revision; the key is one zero byte, which nothing uses.
    let read = accepted(
        etcd.post("/v3/kv/range", r#"{"key":"AA=="}"#)?,
        "the revision",
    )?;
    let revision = revision(&read)?;
    let request = format!(r#"{{"revision":"{revision}","physical":true}}"#);
    accepted(etcd.post("/v3/kv/compaction", &request)?, "a compaction")?;
    Ok(revision)
}

fn accepted(response: Response, asked: &str) -> Result<String> {
    if response.status != 200 {
        bail!("etcd answered {} when asked for {asked}", response.status);
    }
    Ok(response.body)
}

fn revision(body: &str) -> Result<String> {
    let answer: Answer = serde_json::from_str(body).context("etcd answered without a revision")?;
    Ok(answer.header.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_is_read_from_the_header() {
        let body = r#"{"header":{"cluster_id":"1","revision":"42","raft_term":"2"}}"#;
        assert_eq!(revision(body).expect("a revision"), "42");
        assert!(revision("{}").is_err());
    }

    #[test]
    fn refusal_names_what_was_asked_for() {
        let response = Response {
            status: 400,
            body: String::new(),
        };
        let error = accepted(response, "a compaction").unwrap_err();
        assert_eq!(
            error.to_string(),
            "etcd answered 400 when asked for a compaction"
        );
    }
}
