//! Tests of the servers' arguments and of waiting for them, without a control plane.

use super::*;

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn texts(arguments: Vec<OsString>) -> Vec<String> {
    arguments
        .into_iter()
        .map(|argument| argument.into_string().expect("UTF-8"))
        .collect()
}

#[test]
fn servers_listen_on_loopback_only() {
    let folder = Path::new("run");
    let etcd = texts(etcd_arguments(folder, address(1), address(2)));
    let apiserver = texts(apiserver_arguments(folder, address(1), address(3), false));
    assert!(etcd.contains(&"--listen-client-urls=http://127.0.0.1:1".to_owned()));
    assert!(etcd.contains(&"--listen-peer-urls=http://127.0.0.1:2".to_owned()));
    assert!(apiserver.contains(&"--bind-address=127.0.0.1".to_owned()));
    assert!(apiserver.contains(&"--etcd-servers=http://127.0.0.1:1".to_owned()));
    assert!(apiserver.contains(&"--secure-port=3".to_owned()));
}

#[test]
fn audit_log_is_written_only_when_asked_for() {
    let audited = |audit| {
        texts(apiserver_arguments(
            Path::new("run"),
            address(1),
            address(3),
            audit,
        ))
        .iter()
        .any(|argument| argument.starts_with("--audit-log-path="))
    };
    assert!(!audited(false));
    assert!(audited(true));
}

#[test]
fn free_addresses_differ() {
    let [a, b, c] = free_addresses().expect("free ports");
    assert!(a != b && b != c && a != c);
}

#[cfg(unix)]
#[test]
fn server_that_ends_early_is_named_with_its_log() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut member = Member::new(
        "etcd",
        "sh".into(),
        vec!["-c".into(), "echo no space; exit 1".into()],
        folder.path().join("log"),
    );
    member.start().expect("sh starts");
    let [address, ..] = free_addresses().expect("free ports");
    let endpoint = Endpoint {
        address,
        tls: None,
        token: None,
    };
    let error = wait_for(&mut member, &endpoint, "/health", &Interrupt::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("etcd ended with exit status: 1"), "{text}");
    assert!(text.ends_with("no space"), "{text}");
}

#[cfg(unix)]
#[test]
fn wait_for_a_server_ends_when_interrupted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut member = Member::new(
        "etcd",
        "sh".into(),
        vec!["-c".into(), "while true; do sleep 0.01; done".into()],
        folder.path().join("log"),
    );
    member.start().expect("sh starts");
    let [address, ..] = free_addresses().expect("free ports");
    let endpoint = Endpoint {
        address,
        tls: None,
        token: None,
    };
    let interrupt = Interrupt::default();
    interrupt.raise();
    let error = wait_for(&mut member, &endpoint, "/health", &interrupt).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
}
