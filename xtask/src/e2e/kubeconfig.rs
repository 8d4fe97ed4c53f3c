//! The kubeconfig of a control plane we started, as JSON, which every YAML reader reads.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

/// Writes a kubeconfig for `server` with the authority's file and two admins, one by token
/// and one by the client certificate beside that file.
pub(super) fn write(path: &Path, server: &str, authority: &Path, token: &str) -> Result<()> {
    let text = text(server, authority, token)?;
    create_private(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A file only its owner reads: it holds a token.
#[cfg(unix)]
pub(super) fn create_private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
pub(super) fn create_private(path: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

fn text(server: &str, authority: &Path, token: &str) -> Result<String> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "e2e",
            "cluster": { "server": server, "certificate-authority": authority },
        }],
        "users": [
            { "name": "admin", "user": { "token": token } },
            { "name": "certified", "user": {
                "client-certificate": authority.with_file_name("client.crt"),
                "client-key": authority.with_file_name("client.key"),
            } },
        ],
        "contexts": [{ "name": "e2e", "context": { "cluster": "e2e", "user": "admin" } }],
        "current-context": "e2e",
    });
    serde_json::to_string_pretty(&config).context("cannot write the kubeconfig as JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn kubeconfig_names_server_authority_and_token() {
        let text = text("https://127.0.0.1:1", Path::new("ca.crt"), "secret").expect("written");
        let config: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            config["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:1"
        );
        assert_eq!(
            config["clusters"][0]["cluster"]["certificate-authority"],
            "ca.crt"
        );
        assert_eq!(config["users"][0]["user"]["token"], "secret");
        assert_eq!(config["users"][1]["user"]["client-key"], "client.key");
        assert_eq!(config["current-context"], config["contexts"][0]["name"]);
    }

    #[cfg(unix)]
    #[test]
    fn kubeconfig_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("kubeconfig");
        write(&path, "https://127.0.0.1:1", Path::new("ca.crt"), "secret").expect("written");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
