//! Tests of loading, merging and resolving kubeconfig files.

use std::fs;
use std::path::Path;

use super::{Kubeconfig, Overrides};
use crate::config::{Config, ConfigError, Environment, PemSource};
use crate::credentials::Credentials;

fn config(text: &str) -> Result<Config, ConfigError> {
    Kubeconfig::from_text(text)?.config(&Overrides::default())
}

fn with_user(user: &str) -> Result<Config, ConfigError> {
    config(&format!(
        r#"{{"current-context": "x",
            "clusters": [{{"name": "c", "cluster": {{"server": "https://h"}}}}],
            "contexts": [{{"name": "x", "context": {{"cluster": "c", "user": "u"}}}}],
            "users": [{{"name": "u", "user": {user}}}]}}"#
    ))
}

// B45
#[test]
fn kubeconfig_nulls_and_unknown_fields_are_ignored() {
    let config = config(
        "apiVersion: v1\nkind: Config\npreferences: null\nusers: null\nextensions: null\n\
         unknown: {a: [1]}\nclusters:\n- name: c\n  cluster:\n    server: http://h:1\n    \
         certificate-authority-data: null\n    extensions: null\n    novel-field: true\n\
         contexts:\n- name: x\n  context:\n    cluster: c\n    extensions: null\n  note: extra\n\
         current-context: x\n",
    )
    .unwrap();
    assert_eq!(config.server_url(), "http://h:1");
    assert_eq!(config.default_namespace(), "default");
}

// B45
#[test]
fn kubeconfig_broken_entries_of_other_contexts_do_not_matter() {
    let config = config(
        "clusters:\n- name: c\n  cluster: {server: 'https://h'}\n- name: broken\n  cluster: 5\n\
         users:\n- name: u\n  user: {}\n- name: bad\n  user: {client-key-data: '%%%', exec: 7}\n\
         - name: nothing\n  user: null\n- 3\n\
         contexts:\n- name: x\n  context: {cluster: c, user: u}\n- name: y\n  context: [1]\n\
         current-context: x\n",
    );
    assert!(config.is_ok(), "{config:?}");
}

// B45
#[test]
fn kubeconfig_absent_user_is_anonymous() {
    let config = config(
        "clusters:\n- {name: c, cluster: {server: 'https://h'}}\ncontexts:\n\
         - {name: x, context: {cluster: c, user: nobody}}\ncurrent-context: x\n",
    )
    .unwrap();
    assert!(matches!(config.credentials, Credentials::None));
}

// B45
#[test]
fn kubeconfig_null_exec_arguments_are_empty() {
    let config = with_user(
        r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "x",
            "args": null, "env": null}}"#,
    )
    .unwrap();
    let Credentials::Exec(exec) = &config.credentials else {
        panic!("{config:?}");
    };
    assert!(exec.args.is_empty() && exec.environment.is_empty());
}

// B45
#[test]
fn kubeconfig_empty_text_is_empty() {
    for text in ["", "\n", "---\n", "# nothing\n", "{}", "null"] {
        assert!(Kubeconfig::from_text(text).unwrap().is_empty(), "{text:?}");
    }
}

#[test]
fn kubeconfig_errors_name_field_and_problem() {
    for (user, field, problem) in [
        (r#"{"token": 5}"#, "users[u].token", "should be a string"),
        (
            r#"{"client-key-data": "%"}"#,
            "users[u].client-key-data",
            "base64",
        ),
        (
            r#"{"client-certificate": "/c"}"#,
            "users[u].client-key",
            "is not set",
        ),
        (
            r#"{"username": "a", "token": "b"}"#,
            "users[u].username",
            "together",
        ),
        (
            r#"{"auth-provider": {"name": "gcp"}}"#,
            "users[u].auth-provider.name",
            "not supported",
        ),
        (r#"{"as-groups": ["g"]}"#, "users[u].as", "is not set"),
        (
            r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}}"#,
            "users[u].exec.interactiveMode",
            "is not set",
        ),
        (
            r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}"#,
            "users[u].exec.apiVersion",
            "should be",
        ),
        (
            r#"{"exec": {"apiVersion": "x"}}"#,
            "users[u].exec.command",
            "is not set",
        ),
    ] {
        let error = with_user(user).unwrap_err();
        assert_eq!(error.field(), field, "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn kubeconfig_that_is_none_is_refused() {
    for (text, problem) in [
        ("kind: Pod\n", "kind"),
        ("apiVersion: v2\n", "apiVersion"),
        ("clusters: 5\n", "clusters"),
        ("just text", "should be a mapping"),
        ("a: [", "not valid YAML at line"),
        ("\u{0}", "YAML"),
    ] {
        let error = Kubeconfig::from_text(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text:?}: {error}");
    }
}

#[test]
fn kubeconfig_yaml_error_does_not_quote_the_text() {
    let error = Kubeconfig::from_text("users:\n- token: 's3cret\n  x: [").unwrap_err();
    assert!(
        !crate::testing::text_of(&error).contains("s3cret"),
        "{error}"
    );
}

#[test]
fn kubeconfig_credentials_are_dropped_for_http() {
    let text = |scheme| {
        format!(
            "clusters:\n- {{name: c, cluster: {{server: '{scheme}://h'}}}}\ncontexts:\n\
             - {{name: x, context: {{cluster: c, user: u}}}}\ncurrent-context: x\n\
             users:\n- {{name: u, user: {{token: t, as: jane}}}}\n"
        )
    };
    let plain = config(&text("http")).unwrap();
    assert!(matches!(plain.credentials, Credentials::None));
    assert!(plain.impersonation.user.is_empty());
    let tls = config(&text("https")).unwrap();
    assert!(matches!(tls.credentials, Credentials::Token(_)));
    assert_eq!(tls.impersonation.user, "jane");
}

#[test]
fn kubeconfig_context_is_chosen_and_overridden() {
    let kubeconfig = Kubeconfig::from_text(
        "current-context: a\nclusters:\n- {name: c1, cluster: {server: 'https://one'}}\n\
         - {name: c2, cluster: {server: 'https://two'}}\nusers:\n- {name: u, user: {token: t}}\n\
         contexts:\n- {name: a, context: {cluster: c1, namespace: shop}}\n\
         - {name: b, context: {cluster: c2}}\n",
    )
    .unwrap();
    let names: Vec<&str> = kubeconfig.context_names().collect();
    assert_eq!(names, ["a", "b"]);
    let default = kubeconfig.config(&Overrides::default()).unwrap();
    assert_eq!(default.server_url(), "https://one");
    assert_eq!(default.default_namespace(), "shop");
    let other = Overrides {
        context: Some("b".to_owned()),
        user: Some("u".to_owned()),
        namespace: Some("n".to_owned()),
        ..Overrides::default()
    };
    let other = kubeconfig.config(&other).unwrap();
    assert_eq!(other.server_url(), "https://two");
    assert_eq!(other.default_namespace(), "n");
    assert!(matches!(other.credentials, Credentials::Token(_)));

    for (overrides, problem) in [
        (
            Overrides {
                context: Some("z".to_owned()),
                ..Overrides::default()
            },
            "there are: a, b",
        ),
        (
            Overrides {
                cluster: Some("z".to_owned()),
                ..Overrides::default()
            },
            "clusters[z]: does not exist",
        ),
        (
            Overrides {
                user: Some("z".to_owned()),
                ..Overrides::default()
            },
            "users[z]: does not exist",
        ),
    ] {
        let error = kubeconfig.config(&overrides).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn kubeconfig_name_twice_in_one_file_is_refused_when_chosen() {
    let error = config(
        "current-context: x\nclusters:\n- {name: c, cluster: {server: 'https://one'}}\n\
         - {name: c, cluster: {server: 'https://two'}}\ncontexts:\n\
         - {name: x, context: {cluster: c}}\n",
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "clusters[c]: is there twice in one file");
}

// B46
#[test]
fn kubeconfig_list_merges_whole_entries_and_resolves_paths_per_file() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a"), directory.path().join("sub/b"));
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(
        &a,
        "current-context: x\nusers:\n- {name: red, user: {username: me}}\n\
         contexts:\n- {name: x, context: {cluster: c, user: red}}\n",
    )
    .unwrap();
    fs::write(
        &b,
        "current-context: y\nusers:\n- {name: red, user: {password: pw}}\nclusters:\n\
         - {name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}\n",
    )
    .unwrap();
    let missing = directory.path().join("missing");
    let list = format!("{}:{}::{}", a.display(), b.display(), missing.display());
    let environment = Environment::of(&[("KUBECONFIG", &list)]);
    let config = Config::infer_of(&environment, &Overrides::default()).unwrap();
    let Credentials::Basic { username, password } = &config.credentials else {
        panic!("{config:?}");
    };
    assert_eq!((username.as_str(), password.expose()), ("me", ""));
    let expected = PemSource::File(directory.path().join("sub/ca.crt"));
    assert_eq!(config.tls.certificate_authority, Some(expected));

    fs::write(&b, "clusters: [").unwrap();
    let error = Config::infer_of(&environment, &Overrides::default()).unwrap_err();
    assert!(error.to_string().contains("sub/b"), "{error}");
}

#[test]
fn infer_prefers_kubeconfig_then_home_then_cluster() {
    let home = tempfile::tempdir().unwrap();
    let mut environment = Environment::of(&[
        ("KUBERNETES_SERVICE_HOST", "fd49:683:e486::1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
    ]);
    environment.home = Some(home.path().to_owned());
    environment.service_account = home.path().join("sa");
    fs::create_dir(&environment.service_account).unwrap();
    fs::write(environment.service_account.join("token"), "t").unwrap();
    fs::write(environment.service_account.join("namespace"), "pods\n").unwrap();
    let infer = || Config::infer_of(&environment, &Overrides::default()).unwrap();

    // B39
    let in_cluster = infer();
    assert_eq!(in_cluster.server_url(), "https://[fd49:683:e486::1]:443");
    assert_eq!(in_cluster.default_namespace(), "pods");

    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::write(
        home.path().join(".kube/config"),
        "current-context: x\nclusters:\n- {name: c, cluster: {server: 'https://home'}}\n\
         contexts:\n- {name: x, context: {cluster: c}}\n",
    )
    .unwrap();
    assert_eq!(infer().server_url(), "https://home");
}

#[test]
fn infer_without_anything_says_what_it_looked_for() {
    let error = Config::infer_of(&Environment::of(&[]), &Overrides::default()).unwrap_err();
    assert!(error.is_nothing_configured());
    assert!(error.to_string().contains("KUBECONFIG"), "{error}");
    // A file that says nothing is no configuration, one without a context is a broken one.
    let unset = Kubeconfig::from_text("contexts: [{name: a, context: {}}]").unwrap();
    let error = unset.config(&Overrides::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "current-context: is not set; there are: a"
    );
}

#[test]
fn kubeconfig_read_requires_the_file() {
    let error = Kubeconfig::read(Path::new("/nonexistent/kubeconfig")).unwrap_err();
    assert!(
        error.to_string().contains("/nonexistent/kubeconfig"),
        "{error}"
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn kubeconfig_exec_relative_command_begins_at_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kc");
    let write = |command: &str| {
        let text = format!(
            "current-context: x\nclusters:\n- {{name: c, cluster: {{server: 'https://h'}}}}\n\
             contexts:\n- {{name: x, context: {{cluster: c, user: u}}}}\nusers:\n\
             - {{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1beta1, \
             command: {command}}}}}}}\n"
        );
        fs::write(&path, text).unwrap();
        let config = Kubeconfig::read(&path).unwrap();
        let config = config.config(&Overrides::default()).unwrap();
        match config.credentials {
            Credentials::Exec(exec) => exec.command,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(write("./bin/plugin"), directory.path().join("./bin/plugin"));
    assert_eq!(write("plugin"), Path::new("plugin"));
}

#[test]
fn debug_of_everything_hides_secrets() {
    let kubeconfig = r#"{"current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "https://h",
            "proxy-url": "http://me:s3cret@p:1"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": USER}]}"#;
    for user in [
        r#"{"token": "s3cret"}"#,
        r#"{"username": "me", "password": "s3cret"}"#,
        r#"{"token": "s3cret", "tokenFile": "/f"}"#,
        r#"{"client-certificate-data": "czNjcmV0", "client-key-data": "czNjcmV0"}"#,
        r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "x",
            "args": ["s3cret"], "env": [{"name": "A", "value": "s3cret"}],
            "provideClusterInfo": true}}"#,
        r#"{"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://i",
            "client-id": "id", "client-secret": "s3cret", "id-token": "s3cret",
            "refresh-token": "s3cret"}}}"#,
    ] {
        let kubeconfig = Kubeconfig::from_text(kubeconfig.replace("USER", user)).unwrap();
        let config = kubeconfig
            .config(&Overrides::default())
            .unwrap()
            .with_header(
                http::HeaderName::from_static("x-key"),
                http::HeaderValue::from_static("s3cret"),
            );
        let debug = format!("{kubeconfig:?} {config:?} {config:#?}");
        assert!(!debug.contains("s3cret"), "{debug}");
        assert!(!debug.contains("czNjcmV0"), "{debug}");
    }
}
