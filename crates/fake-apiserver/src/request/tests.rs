//! Paths and queries.

use super::*;

fn show(path: &str) -> Option<String> {
    let t = Target::parse(path)?;
    let or = |v: &Option<String>| v.clone().unwrap_or_else(|| "-".to_owned());
    Some(format!(
        "{}/{} {} {} {} {}",
        t.group,
        t.version,
        t.plural,
        or(&t.namespace),
        or(&t.name),
        or(&t.subresource)
    ))
}

#[test]
fn target_every_form_of_path_is_understood() {
    let table = [
        ("/api/v1/pods", Some("/v1 pods - - -")),
        ("/api/v1/namespaces/a/pods", Some("/v1 pods a - -")),
        ("/api/v1/namespaces/a/pods/b", Some("/v1 pods a b -")),
        (
            "/api/v1/namespaces/a/pods/b/status",
            Some("/v1 pods a b status"),
        ),
        ("/api/v1/namespaces", Some("/v1 namespaces - - -")),
        ("/api/v1/namespaces/a", Some("/v1 namespaces - a -")),
        (
            "/api/v1/namespaces/a/status",
            Some("/v1 namespaces - a status"),
        ),
        ("/api/v1/nodes/n", Some("/v1 nodes - n -")),
        (
            "/apis/apps/v1/deployments",
            Some("apps/v1 deployments - - -"),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab",
            Some("rbac.authorization.k8s.io/v1 clusterroles - a:b -"),
        ),
        ("/api", None),
        ("/api/v1", None),
        ("/apis/apps/v1", None),
        ("/version", None),
    ];
    for (path, wanted) in table {
        assert_eq!(show(path).as_deref(), wanted, "{path}");
    }
}

#[test]
fn query_is_decoded_and_the_first_value_wins() {
    let query = parse_query("labelSelector=a%20in+%28b%2Cc%29&x=1&x=2&flag");
    assert_eq!(query["labelSelector"], "a in (b,c)");
    assert_eq!(query["x"], "1");
    assert_eq!(query["flag"], "");
}

#[test]
fn verb_follows_method_name_and_watch_parameters() {
    let verb = |method: &str, path: &str, query: &str| {
        verb_of(method, Target::parse(path).as_ref(), &parse_query(query))
    };
    assert_eq!(verb("GET", "/api/v1/pods", ""), Verb::List);
    assert_eq!(verb("GET", "/api/v1/pods", "watch=true"), Verb::Watch);
    assert_eq!(verb("GET", "/api/v1/pods", "watch=false"), Verb::List);
    assert_eq!(
        verb("GET", "/api/v1/pods", "watch=1&sendInitialEvents=true"),
        Verb::WatchList
    );
    assert_eq!(verb("GET", "/api/v1/nodes/n", ""), Verb::Get);
    assert_eq!(verb("DELETE", "/api/v1/nodes", ""), Verb::DeleteCollection);
    assert_eq!(verb("GET", "/version", ""), Verb::Other);
}
