//! Tests of which proxy is used.

use super::{Proxy, ProxyChoice, ProxyKind};
use crate::config::{Environment, Server};

fn chosen(server: &str, variables: &[(&str, &str)]) -> Option<String> {
    let server = Server::parse(server, "https").unwrap();
    ProxyChoice::FromEnvironment
        .for_server(&server, &Environment::of(variables))
        .unwrap()
        .map(|proxy| proxy.uri.to_string())
}

// B44
#[test]
fn proxy_of_environment_goes_by_scheme_and_case() {
    let both = [
        ("HTTPS_PROXY", "http://up:1"),
        ("https_proxy", "http://low:1"),
    ];
    assert_eq!(chosen("https://h", &both).as_deref(), Some("http://up:1/"));
    assert_eq!(
        chosen("https://h", &both[1..]).as_deref(),
        Some("http://low:1/")
    );
    assert_eq!(chosen("http://h", &both), None);
    let http = [("http_proxy", "p:3128")];
    assert_eq!(chosen("http://h", &http).as_deref(), Some("http://p:3128/"));
    // As in Go: not for CGI, and no ALL_PROXY.
    let cgi = [("http_proxy", "p:3128"), ("REQUEST_METHOD", "GET")];
    assert_eq!(chosen("http://h", &cgi), None);
    assert_eq!(chosen("https://h", &[("ALL_PROXY", "http://p:1")]), None);
}

// B44
#[test]
fn no_proxy_knows_ranges_suffixes_ports_and_ipv6() {
    let excepted = |server: &str, list: &str| {
        chosen(server, &[("https_proxy", "http://p:1"), ("NO_PROXY", list)]).is_none()
    };
    let list = "10.0.0.0/8,.svc,fd00::/8,2001:db8::1,example.com,*.internal,h:6443";
    for server in [
        "https://10.2.3.4",
        "https://kubernetes.default.svc",
        "https://[fd00::1]:6443",
        "https://[2001:db8::1]",
        "https://example.com",
        "https://api.example.com",
        "https://API.Example.com",
        "https://api.internal",
        "https://h:6443",
    ] {
        assert!(excepted(server, list), "{server}");
    }
    for server in [
        "https://11.2.3.4",
        "https://svc.other",
        "https://[2001:db8::2]",
        "https://notexample.com",
        "https://h:443",
    ] {
        assert!(!excepted(server, list), "{server}");
    }
    assert!(excepted("https://anything", "*"));
    assert!(!excepted("https://anything", ""));
}

// B44
#[test]
fn proxy_of_environment_never_serves_loopback() {
    let variables = [("https_proxy", "http://p:1")];
    for server in [
        "https://localhost:6443",
        "https://127.0.0.1",
        "https://[::1]",
    ] {
        assert_eq!(chosen(server, &variables), None, "{server}");
    }
}

#[test]
fn proxy_url_is_taken_apart() {
    let proxy = Proxy::parse("http://us%20er:p%40w@proxy").unwrap();
    assert_eq!(proxy.kind, ProxyKind::Http);
    assert_eq!(proxy.uri, "http://proxy:80/");
    assert_eq!(proxy.authorization.unwrap(), "Basic dXMgZXI6cEB3");
    let proxy = Proxy::parse("socks5://u:p@[::1]").unwrap();
    assert_eq!(proxy.kind, ProxyKind::Socks5);
    assert_eq!(proxy.uri, "socks5://[::1]:1080/");
    assert_eq!(proxy.user, Some(("u".to_owned(), "p".to_owned())));
    assert_eq!(
        Proxy::parse("https://proxy").unwrap().uri,
        "https://proxy:443/"
    );
}

// B44
#[test]
fn proxy_of_unknown_scheme_is_refused_without_its_password() {
    for url in [
        "socks4://u:s3cret@p",
        "ftp://u:s3cret@p",
        "u:s3cret@p:1",
        "http://",
    ] {
        let error = Proxy::parse(url).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
    let error = Proxy::parse("socks4://p").unwrap_err().to_string();
    assert!(
        error.contains("http, https and socks5 are supported"),
        "{error}"
    );
}
