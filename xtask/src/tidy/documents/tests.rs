//! Tests of the rules for README, changelog and links.

use super::*;

fn catalog() -> Catalog {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Catalog {
        packages: names(&["informers", "informers-fake-apiserver"]),
        examples: names(&["quickstart"]),
        binaries: names(&["fake-apiserver"]),
        tasks: names(&["ci", "tidy"]),
        ci: "set -e\n./check-something --all\n".to_owned(),
    }
}

#[test]
fn commands_that_exist_are_accepted() {
    let text = "```sh\n\
                # a comment\n\
                cargo run --example quickstart   # no cluster needed\n\
                $ cargo test --workspace\n\
                cargo run -p informers-fake-apiserver --bin fake-apiserver\n\
                cargo xtask tidy\n\
                ./check-something --all\n\
                .ci/run\n\
                ```\n";
    assert_eq!(check_commands("README.md", text, &catalog()), []);
}

#[test]
fn commands_that_do_not_exist_are_refused_at_their_line() {
    let text = "```sh\n\
                cargo run --example slowstart\n\
                cargo xtask release\n\
                cargo test -p informers-nothing\n\
                make\n\
                ```\n\
                ```text\nmake\n```\n";
    let printed: Vec<String> = check_commands("README.md", text, &catalog())
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        printed,
        [
            "README.md:2: there is no example slowstart",
            "README.md:3: cargo xtask has no command release",
            "README.md:4: there is no package informers-nothing",
            "README.md:5: `make` is neither a cargo command nor in .ci/run",
        ]
    );
}

#[test]
fn crate_map_names_a_crate_in_backticks_or_by_link() {
    let crates = [
        ("informers".to_owned(), "crates/informers".to_owned()),
        ("informers-rest".to_owned(), "crates/rest".to_owned()),
        ("informers-indexer".to_owned(), "crates/indexer".to_owned()),
    ];
    let readme = "`informers` and [the client](crates/rest)\n";
    assert_eq!(
        check_crate_map(readme, &crates),
        [Violation::new(
            "README.md",
            1,
            "the crate map lacks `informers-indexer`"
        )]
    );
}

#[test]
fn changelog_needs_the_version_or_unreleased() {
    assert_eq!(
        check_changelog(Some("# Changelog\n## [Unreleased]\n"), "0.1.0"),
        None
    );
    assert_eq!(
        check_changelog(Some("# Changelog\n## 0.1.0 - 2026\n"), "0.1.0"),
        None
    );
    assert!(check_changelog(Some("# Changelog\n## 0.0.9\n"), "0.1.0").is_some());
    assert!(check_changelog(None, "0.1.0").is_some());
}

#[test]
fn link_to_a_missing_file_is_refused_and_others_are_left_alone() {
    let text =
        "[a](b.md) [c](../README.md#x) [d](https://example.org) [e](#here) [f](../gone.md)\n";
    let exists = |target: &str| ["docs/b.md", "README.md"].contains(&target);
    assert_eq!(
        check_links("docs/a.md", text, exists),
        [Violation::new("docs/a.md", 1, "gone.md does not exist")]
    );
}
