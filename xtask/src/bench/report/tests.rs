//! The page around the figures stays; the figures are ratios.

use std::path::PathBuf;

use super::super::build::Programs;
use super::super::clients;
use super::super::result::Measured;
use super::{Conditions, EMPTY_PAGE, block, with_block};

fn results() -> Vec<(clients::Client, Measured)> {
    let none = PathBuf::new();
    let programs = Programs {
        server: none.clone(),
        client_go: none.clone(),
        kube_rs: none.clone(),
        ours: none,
    };
    let value = |peer| match peer {
        clients::Peer::ClientGo => 10.0,
        clients::Peer::KubeRs => 20.0,
        clients::Peer::Ours => 3.2,
    };
    clients::all(&programs)
        .into_iter()
        .map(|client| {
            let value = value(client.peer);
            let line = format!(
                r#"{{"sync_s":{value},"events_s":{value},"steady_mib":{value},"peak_mib":{value}}}"#
            );
            (client, Measured::of(&line).unwrap())
        })
        .collect()
}

#[test]
fn block_tells_ratios_and_marks_what_is_missed() {
    let conditions = Conditions {
        machine: vec![("processor".to_owned(), "one".to_owned())],
        command: "cargo xtask bench".to_owned(),
        data: "ready pods=1".to_owned(),
        rounds: 3,
    };
    let block = block(&conditions, &results());
    assert!(block.contains("| packed list | 3.20 (0.32) |"), "{block}");
    assert!(
        block.contains(
            "| initial sync | 0.32 (≤ 0.30) ✗ | 0.32 (≤ 0.60) | 0.32 (≤ 0.25) ✗ | 0.32 (≤ 0.65) |"
        ),
        "{block}"
    );
    assert!(block.contains("medians of 3 runs"));
    assert!(block.contains("| load | pods=1 |"));
}

#[test]
fn page_keeps_what_stands_around_the_figures() {
    let page = format!("{EMPTY_PAGE}\nprose\n");
    let once = with_block(&page, "old").unwrap();
    let twice = with_block(&once, "new").unwrap();
    assert!(twice.contains("new") && !twice.contains("old"));
    assert!(twice.starts_with("# Performance") && twice.ends_with("\nprose\n"));
    assert!(with_block("nothing", "new").is_err());
}
