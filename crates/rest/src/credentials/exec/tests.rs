//! Tests of exec plugins, with shell scripts as plugins.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use super::{ExecCluster, ExecConfig, ExecSource, V1, V1BETA1};
use crate::config::PemSource;
use crate::testing::text_of;

/// A plugin that logs its runs and prints what `answer` holds.
struct Plugin {
    directory: tempfile::TempDir,
    config: ExecConfig,
}

impl Plugin {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plugin = directory.path().join("plugin.sh");
        let at = directory.path().display();
        let script = format!(
            "#!/bin/sh\ncd '{at}'\necho run >> runs\nprintf %s \"$KUBERNETES_EXEC_INFO\" > info\n{script}\n"
        );
        fs::write(&plugin, script).unwrap();
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o700)).unwrap();
        let config = ExecConfig {
            api_version: V1BETA1.to_owned(),
            command: PathBuf::from("/bin/sh"),
            args: vec![plugin.display().to_string()],
            environment: Vec::new(),
            install_hint: None,
            interactive_mode: Some("Never".to_owned()),
            cluster: None,
        };
        Self { directory, config }
    }

    fn answering(status: &str) -> Self {
        let plugin = Self::new("cat answer");
        plugin.answer(V1BETA1, status);
        plugin
    }

    fn answer(&self, version: &str, status: &str) {
        let text =
            format!(r#"{{"kind":"ExecCredential","apiVersion":"{version}","status":{status}}}"#);
        fs::write(self.directory.path().join("answer"), text).unwrap();
    }

    fn source(&self) -> ExecSource {
        ExecSource::new(self.config.clone()).unwrap()
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.directory.path().join("runs"))
            .map_or(0, |text| text.lines().count())
    }

    fn info(&self) -> Value {
        let text = fs::read_to_string(self.directory.path().join("info")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    async fn error(&self) -> String {
        text_of(&self.source().credential(None).await.map(drop).unwrap_err())
    }
}

// B50
#[tokio::test]
async fn exec_answer_without_expiry_is_kept_until_refused() {
    let plugin = Plugin::answering(r#"{"token":"one"}"#);
    let source = plugin.source();
    let first = source.credential(None).await.unwrap();
    assert_eq!(first.authorization.as_ref().unwrap(), "Bearer one");
    source.credential(None).await.unwrap();
    assert_eq!(plugin.runs(), 1);
    plugin.answer(V1BETA1, r#"{"token":"two"}"#);
    let second = source.credential(Some(first.generation)).await.unwrap();
    assert_eq!(second.authorization.as_ref().unwrap(), "Bearer two");
    assert_ne!(second.generation, first.generation);
    // Another request that was refused with the first one finds the second.
    source.credential(Some(first.generation)).await.unwrap();
    assert_eq!(plugin.runs(), 2);
}

// B50
#[tokio::test]
async fn exec_answer_with_expiry_is_kept_until_then() {
    let plugin =
        Plugin::answering(r#"{"token":"one","expirationTimestamp":"2999-01-01T00:00:00Z"}"#);
    let source = plugin.source();
    for _ in 0..3 {
        source.credential(None).await.unwrap();
    }
    assert_eq!(plugin.runs(), 1);
}

// B51
#[tokio::test]
async fn exec_answer_that_has_expired_costs_one_run_a_request() {
    let plugin =
        Plugin::answering(r#"{"token":"one","expirationTimestamp":"2020-01-01T00:00:00+01:00"}"#);
    let source = plugin.source();
    let first = source.credential(None).await.unwrap();
    let second = source.credential(None).await.unwrap();
    assert_eq!(plugin.runs(), 2);
    // The same token again is the same credential: nothing is torn down.
    assert_eq!(first.generation, second.generation);
}

// B50
#[tokio::test]
async fn exec_runs_once_for_concurrent_requests() {
    let plugin = Plugin::answering(r#"{"token":"one"}"#);
    let source = plugin.source();
    let requests = (0..20).map(|_| source.credential(None));
    for credential in futures_util::future::join_all(requests).await {
        credential.unwrap();
    }
    assert_eq!(plugin.runs(), 1);
}

// B50
#[tokio::test]
async fn exec_answer_may_be_a_certificate() {
    let plugin =
        Plugin::answering(r#"{"clientCertificateData":"CERT","clientKeyData":"KEY","token":""}"#);
    let credential = plugin.source().credential(None).await.unwrap();
    assert!(credential.authorization.is_none());
    assert_eq!(&*credential.identity.unwrap().key, b"KEY");
}

// B49
#[tokio::test]
async fn exec_info_tells_version_and_cluster() {
    let mut plugin = Plugin::new("cat answer");
    plugin.answer(V1, r#"{"token":"one"}"#);
    plugin.config.api_version = V1.to_owned();
    plugin.config.cluster = Some(ExecCluster {
        server: "https://h".to_owned(),
        tls_server_name: Some("n".to_owned()),
        insecure_skip_tls_verify: false,
        certificate_authority: Some(PemSource::inline("PEM")),
        proxy_url: None,
        disable_compression: false,
        config: Some(serde_json::json!({"audience": "a"})),
    });
    plugin.source().credential(None).await.unwrap();
    let expected = serde_json::json!({
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": false,
            "cluster": {
                "server": "https://h",
                "tls-server-name": "n",
                "certificate-authority-data": "UEVN",
                "config": {"audience": "a"},
            },
        },
    });
    assert_eq!(plugin.info(), expected);
}

// B49
#[tokio::test]
async fn exec_failure_tells_status_and_stderr() {
    let text = Plugin::new("echo 'no ticket, run kinit' >&2; exit 3")
        .error()
        .await;
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(text.contains("no ticket, run kinit"), "{text}");
}

// B49
#[tokio::test]
async fn exec_command_that_is_missing_tells_the_install_hint() {
    let mut plugin = Plugin::answering("{}");
    plugin.config.command = PathBuf::from("/nonexistent/plugin");
    plugin.config.install_hint = Some("get it from the vendor\n".to_owned());
    let text = plugin.error().await;
    assert!(
        text.contains("/nonexistent/plugin cannot be started"),
        "{text}"
    );
    assert!(text.contains("get it from the vendor"), "{text}");
}

// B49
#[tokio::test]
async fn exec_answer_of_another_form_is_an_error_that_quotes_nothing() {
    for (answer, problem) in [
        (
            r#"{"kind":"ExecCredential","apiVersion":"x","status":{"token":"s3cret"}}"#,
            "apiVersion",
        ),
        (
            r#"{"kind":"Pod","apiVersion":"x","status":{"token":"s3cret"}}"#,
            "kind",
        ),
        (r#"{"token": "s3cret", "#, "is no ExecCredential"),
        ("s3cret", "is no ExecCredential"),
        ("", "is no ExecCredential"),
    ] {
        let plugin = Plugin::new("cat answer");
        fs::write(plugin.directory.path().join("answer"), answer).unwrap();
        let text = plugin.error().await;
        assert!(text.contains(problem), "{answer}: {text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
    for (status, problem) in [
        ("null", "has no status"),
        ("{}", "neither a token nor a certificate"),
        (r#"{"clientKeyData":"k"}"#, "key without a certificate"),
        (
            r#"{"token":"t","expirationTimestamp":"tomorrow"}"#,
            "expirationTimestamp",
        ),
    ] {
        let text = Plugin::answering(status).error().await;
        assert!(text.contains(problem), "{status}: {text}");
    }
}

// B49
#[tokio::test]
async fn exec_that_must_be_interactive_needs_a_terminal() {
    use std::io::IsTerminal as _;
    if std::io::stdin().is_terminal() {
        // Run by hand: the plugin would be given the terminal.
        return;
    }
    let mut plugin = Plugin::answering(r#"{"token":"one"}"#);
    plugin.config.interactive_mode = Some("Always".to_owned());
    let text = plugin.error().await;
    assert!(text.contains("standard input is no terminal"), "{text}");
    assert_eq!(plugin.runs(), 0);
}

#[tokio::test]
async fn exec_variables_are_added() {
    let mut plugin = Plugin::new(
        r#"printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"%s"}}' "$MY_TOKEN""#,
    );
    plugin.config.environment = vec![("MY_TOKEN".to_owned(), "of env".to_owned())];
    let credential = plugin.source().credential(None).await.unwrap();
    assert_eq!(credential.authorization.unwrap(), "Bearer of env");
}
