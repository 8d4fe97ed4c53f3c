//! Tests of the rules that hold manifests and READMEs together.

use super::*;

fn package(name: &str, version: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: version.to_owned(),
        rust_version: Some("1.89".to_owned()),
        manifest_path: "Cargo.toml".into(),
        dependencies: Vec::new(),
        targets: Vec::new(),
    }
}

#[test]
fn readme_that_starts_with_the_package_name_is_accepted() {
    let text = "# informers-indexer\n\nA store.\n";
    assert_eq!(
        check_readme("crates/indexer", "informers-indexer", Some(text)),
        None
    );
}

#[test]
fn readme_with_another_title_is_refused() {
    let violation = check_readme("crates/indexer", "informers-indexer", Some("\n# Indexer\n"));
    assert_eq!(violation.expect("a violation").line, 2);
}

#[test]
fn missing_readme_is_refused() {
    assert!(check_readme("crates/indexer", "informers-indexer", None).is_some());
    assert!(check_readme("crates/indexer", "informers-indexer", Some("text\n")).is_some());
}

#[test]
fn manifest_names_each_key_it_lacks() {
    let manifest = "description = \"A\"\nlicense.workspace = true\nreadme = \"README.md\"\n";
    let messages: Vec<String> = check_keys("crates/a", manifest)
        .into_iter()
        .map(|violation| violation.message)
        .collect();
    assert_eq!(
        messages,
        [
            "the manifest lacks rust-version",
            "the manifest lacks documentation"
        ]
    );
}

#[test]
fn member_and_requirement_of_another_version_are_refused() {
    let root = "a = { path = \"crates/a\", version = \"0.1.0\" }\n\
                b = { path = \"crates/b\", version = \"0.0.9\" }\n";
    let packages = [package("a", "0.1.0"), package("b", "0.2.0")];
    assert_eq!(
        check_versions(root, &packages),
        [
            Violation::new("Cargo.toml", 1, "b has version 0.2.0, not 0.1.0"),
            Violation::new(
                "Cargo.toml",
                2,
                "a dependency on a member asks for version 0.1.0"
            ),
        ]
    );
}

#[test]
fn document_that_names_another_version_is_refused() {
    let text = "```toml\ninformers = \"0.1\"\ninformers-rest = { version = \"0.3\" }\n```\n";
    assert_eq!(
        check_mentions("README.md", text, &package("informers", "0.1.0")),
        [Violation::new(
            "README.md",
            3,
            "the version is 0.1.0, not 0.3"
        )]
    );
}

#[test]
fn readme_that_names_another_oldest_rust_is_refused() {
    let text = "Needs Rust 1.89 or newer.\nBuilt with Rust 1.70.\n";
    assert_eq!(
        check_mentions("README.md", text, &package("informers", "0.1.0")),
        [Violation::new(
            "README.md",
            2,
            "the oldest Rust is 1.89, not 1.70"
        )]
    );
}
