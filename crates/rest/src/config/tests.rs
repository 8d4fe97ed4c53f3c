//! Tests of what a configuration means.

use http::HeaderValue;

use super::{Compression, Config};

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
