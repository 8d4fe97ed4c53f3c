//! Tests of the server's address.

use super::Server;

fn parse(url: &str) -> Server {
    Server::parse(url, "https").unwrap()
}

// B39
#[test]
fn server_ipv6_keeps_brackets_in_authority_only() {
    let server = parse("https://[::1]:6443");
    assert_eq!(server.host(), "::1");
    assert_eq!(server.port(), 6443);
    assert_eq!(server.authority().as_str(), "[::1]:6443");
    assert!(server.is_loopback());
}

// B39
#[test]
fn in_cluster_ipv6_host_gets_brackets() {
    let server = Server::https("fd49:683:e486::1", "443").unwrap();
    assert_eq!(server.to_string(), "https://[fd49:683:e486::1]:443");
    assert_eq!(server.host(), "fd49:683:e486::1");
}

// B43
#[test]
fn server_base_path_loses_trailing_slash() {
    for url in ["https://h/k8s/clusters/c", "https://h/k8s/clusters/c/"] {
        assert_eq!(parse(url).base_path(), "/k8s/clusters/c");
    }
    assert_eq!(parse("https://h/").base_path(), "");
}

#[test]
fn server_without_scheme_or_port_takes_defaults() {
    let server = Server::parse("h:8080", "http").unwrap();
    assert_eq!((server.is_https(), server.port()), (false, 8080));
    assert_eq!(parse("https://h").port(), 443);
    assert_eq!(parse("http://h").port(), 80);
}

#[test]
fn server_that_is_no_address_names_the_problem() {
    for (url, problem) in [
        ("ftp://h", "should begin with https:// or http://"),
        ("https://", "is not a URL"),
        ("https://user:secret@h", "holds credentials"),
        ("https://h?x=1", "should have no query"),
        ("https://h:99999", "port"),
        ("https://h:", "port"),
    ] {
        let text = Server::parse(url, "https").unwrap_err().to_string();
        assert!(text.starts_with("server: "), "{url}: {text}");
        assert!(
            text.contains(problem) || text.contains("is not a URL"),
            "{url}: {text}"
        );
        assert!(!text.contains("secret"), "{text}");
    }
}
