//! Tests of the layer rule over tables and graphs written here.

use super::*;

const TABLE: &str = "\
# Architecture

| layer | crate folder | holds | may not know |
|---|---|---|---|
| 0 | `cache-core` | queues | `tokio`, clocks |
| 1 | `indexer` | the store | `tokio` |
| 1 | `processor` | handlers | where objects come from |
| 2 | `informers` | the facade | – |
| apart | `fake-apiserver` | a server | all of ours |
| top | `tests` | suites | – |
";

fn member<'a>(name: &'a str, folder: &str, dependencies: &[&'a str]) -> Member<'a> {
    let keys: Vec<String> = dependencies
        .iter()
        .map(|name| format!("{name}.workspace = true\n"))
        .collect();
    Member {
        name,
        folder: folder.to_owned(),
        dependencies: dependencies.to_vec(),
        manifest: format!(
            "[package]\nname = \"{name}\"\n[dependencies]\n{}",
            keys.concat()
        ),
    }
}

fn sound() -> Vec<Member<'static>> {
    vec![
        member("informers-cache-core", "crates/cache-core", &["hashbrown"]),
        member(
            "informers-indexer",
            "crates/indexer",
            &["informers-cache-core"],
        ),
        member(
            "informers-processor",
            "crates/processor",
            &["informers-cache-core", "tokio"],
        ),
        member(
            "informers",
            "crates/informers",
            &["informers-cache-core", "informers-indexer"],
        ),
        member(
            "informers-fake-apiserver",
            "crates/fake-apiserver",
            &["tokio"],
        ),
        member(
            "informers-tests",
            "tests",
            &["informers", "informers-fake-apiserver"],
        ),
    ]
}

fn printed(members: &[Member<'_>]) -> Vec<String> {
    check_document(TABLE, members)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn layers_with_downward_edges_are_accepted() {
    assert_eq!(printed(&sound()), Vec::<String>::new());
}

#[test]
fn edge_to_a_sibling_is_refused_at_its_line() {
    let mut members = sound();
    members[1] = member(
        "informers-indexer",
        "crates/indexer",
        &["informers-cache-core", "informers-processor"],
    );
    assert_eq!(
        printed(&members),
        [
            "crates/indexer/Cargo.toml:5: informers-indexer depends on informers-processor: \
          layer 1 sees layers below it, not layer 1"
        ]
    );
}

#[test]
fn edge_upwards_is_refused() {
    let mut members = sound();
    members[0] = member("informers-cache-core", "crates/cache-core", &["informers"]);
    assert_eq!(
        printed(&members),
        [
            "crates/cache-core/Cargo.toml:4: informers-cache-core depends on informers: \
          layer 0 sees layers below it, not layer 2"
        ]
    );
}

#[test]
fn package_in_backticks_of_the_last_column_is_forbidden() {
    let mut members = sound();
    members[1] = member("informers-indexer", "crates/indexer", &["tokio"]);
    assert_eq!(
        printed(&members),
        [
            "crates/indexer/Cargo.toml:4: informers-indexer depends on tokio: \
          may not know tokio (docs/architecture.md:6)"
        ]
    );
}

#[test]
fn crate_apart_imports_none_of_ours() {
    let mut members = sound();
    members[4] = member(
        "informers-fake-apiserver",
        "crates/fake-apiserver",
        &["informers-cache-core"],
    );
    assert_eq!(
        printed(&members),
        [
            "crates/fake-apiserver/Cargo.toml:4: informers-fake-apiserver depends on \
          informers-cache-core: it stands apart and imports none of ours"
        ]
    );
}

#[test]
fn layered_crate_sees_neither_what_stands_apart_nor_the_top() {
    for (dependency, reason) in [
        (
            "informers-fake-apiserver",
            "only tests use what stands apart",
        ),
        ("informers-tests", "nothing depends on the top"),
    ] {
        let mut members = sound();
        members[3] = member("informers", "crates/informers", &[dependency]);
        let printed = printed(&members);
        assert!(
            printed.len() == 1 && printed[0].ends_with(reason),
            "{printed:?}"
        );
    }
}

#[test]
fn member_without_a_row_and_row_without_a_member_are_named() {
    let mut members = sound();
    members[1] = member("informers-store", "crates/store", &[]);
    assert_eq!(
        printed(&members),
        [
            "docs/architecture.md:6: crates/indexer is not a member of the workspace",
            "docs/architecture.md:3: the layer table has no row for crates/store",
        ]
    );
}

#[test]
fn package_named_unlike_its_folder_is_refused() {
    let mut members = sound();
    members[2] = member("informers-handlers", "crates/processor", &[]);
    assert_eq!(
        printed(&members),
        ["crates/processor/Cargo.toml:2: the package of this folder is called informers-processor"]
    );
}

#[test]
fn folder_listed_twice_is_refused() {
    let document = format!("{TABLE}| 2 | `indexer` | the store | – |\n");
    let violations = check_document(&document, &sound());
    assert!(
        violations
            .iter()
            .any(|violation| violation.message == "crates/indexer stands in line 6 already"),
        "{violations:?}"
    );
}

#[test]
fn row_with_an_unknown_layer_is_refused() {
    let document = TABLE.replace("| 2 |", "| two |");
    let violations = check_document(&document, &sound());
    assert_eq!(
        violations[0],
        Violation::new(
            DOCUMENT,
            8,
            "`two` is neither a layer's number nor apart nor top"
        )
    );
}

#[test]
fn document_without_the_table_is_refused() {
    let violations = check_document("# Architecture\n", &sound());
    assert_eq!(violations.len(), 1);
    assert!(
        violations[0].message.starts_with("no table"),
        "{violations:?}"
    );
}
