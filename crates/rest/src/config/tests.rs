//! Tests of what a configuration means.

use http::HeaderValue;

use super::{Compression, Config, Environment, Overrides, Timeouts};

#[test]
fn user_agent_names_version_and_platform() {
    let config = Config::new("https://h").unwrap();
    let text = config.user_agent.to_str().unwrap();
    assert!(text.starts_with("informers/0.1.0 ("), "{text}");
    let config = config.with_user_agent("mine/1").unwrap();
    assert_eq!(config.user_agent, HeaderValue::from_static("mine/1"));
    assert!(config.with_user_agent("a\nb").is_err());
}

#[test]
fn compression_auto_is_for_https_to_other_machines() {
    let asks = |url: &str| Config::new(url).unwrap().asks_gzip();
    assert!(asks("https://10.0.0.1:6443"));
    assert!(!asks("https://127.0.0.1:6443"));
    assert!(!asks("https://[::1]:6443"));
    assert!(!asks("http://10.0.0.1"));
    let always = Config::new("http://h").unwrap();
    assert!(always.with_compression(Compression::Always).asks_gzip());
}

/// The configuration of a pod with these variables besides.
fn inferred(variables: &[(&str, &str)]) -> Config {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("token"), "t").unwrap();
    let pod = [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
    ];
    let mut environment = Environment::of(&[&pod, variables].concat());
    environment.service_account = directory.path().to_owned();
    Config::infer_of(&environment, &Overrides::default()).unwrap()
}

#[test]
fn http2_variables_of_client_go_count_where_the_configuration_is_inferred() {
    let defaults = Timeouts::default();
    for (interval, timeout, expected) in [
        ("7", "3", (7, 3)),
        ("", "", (30, 15)),
        // Off.
        ("0", "3", (0, 3)),
        // Go takes zero for the default.
        ("7", "0", (7, 15)),
        // Warned of, and ignored.
        ("7s", "-1", (30, 15)),
        ("many", "3", (30, 3)),
    ] {
        let config = inferred(&[
            ("HTTP2_READ_IDLE_TIMEOUT_SECONDS", interval),
            ("HTTP2_PING_TIMEOUT_SECONDS", timeout),
        ]);
        let seconds = (
            config.timeouts.ping_interval.as_secs(),
            config.timeouts.ping_timeout.as_secs(),
        );
        assert_eq!(seconds, expected, "{interval:?} {timeout:?}");
        assert!(config.http2);
        // The code has the last word.
        assert_eq!(config.with_timeouts(defaults.clone()).timeouts, defaults);
    }
    assert!(!inferred(&[("DISABLE_HTTP2", "1")]).http2);
}
