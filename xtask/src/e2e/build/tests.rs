//! Tests of the generated Go modules.

use super::*;

const UPSTREAM: &str = "\
module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	bitbucket.org/bertimus9/systemstat v0.5.0
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/apimachinery => ./staging/src/k8s.io/apimachinery
)
";

#[test]
fn staging_modules_are_replaced_by_their_published_versions() {
    assert_eq!(
        wrap_module(UPSTREAM, Kubernetes::NEWEST),
        "module informers.test/kube-apiserver\n\n\
         go 1.26.0\n\n\
         godebug default=go1.26\n\n\
         require k8s.io/kubernetes v1.37.2\n\n\
         replace (\n\
         \tk8s.io/api => k8s.io/api v0.37.2\n\
         \tk8s.io/apimachinery => k8s.io/apimachinery v0.37.2\n\
         )\n"
    );
}

#[test]
fn etcd_module_requires_the_server_and_calls_its_main() {
    let recipe = etcd_recipe();
    let text: String = recipe.files.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        text.contains(&format!("require go.etcd.io/etcd/server/v3 v{ETCD}")),
        "{text}"
    );
    assert!(text.contains("etcdmain.Main(os.Args)"), "{text}");
}

#[test]
fn package_lines_are_told_from_downloads_and_errors() {
    for (line, expected) in [
        ("k8s.io/apiserver/pkg/server", true),
        ("net", true),
        ("go: downloading k8s.io/api v0.37.2", false),
        ("# k8s.io/api/core/v1", false),
        ("main.go:3:1: undefined: x", false),
    ] {
        assert_eq!(is_package(line), expected, "{line}");
    }
}

#[test]
fn progress_keeps_complaints_for_the_error() {
    let mut progress = Progress::new("etcd");
    for line in ["net", "go: downloading a v1", "# a", "a.go:1:1: bad"] {
        progress.line(line);
    }
    assert_eq!(progress.packages, 1);
    assert_eq!(progress.complaints, ["# a", "a.go:1:1: bad"]);
}

#[test]
fn program_in_the_cache_is_not_built_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = format!("etcd{}", std::env::consts::EXE_SUFFIX);
    fs::write(folder.path().join(&name), "").expect("the file is written");
    let program = program(folder.path(), "etcd", || bail!("the recipe was asked for"));
    assert_eq!(program.expect("found"), folder.path().join(name));
}
