//! Keys: round trips and odd input.

use std::collections::HashMap;

use super::ObjectName;

// Scenario: TestObjectNames, B77
#[test]
fn object_name_parse_round_trips() {
    for (text, namespace, name) in [
        ("default/a", Some("default"), "a"),
        ("node-1", None, "node-1"),
        ("/n1", None, "n1"),
        ("system:controller:x", None, "system:controller:x"),
    ] {
        let key: ObjectName = text.parse().unwrap();
        assert_eq!((key.namespace(), key.name()), (namespace, name));
        assert_eq!(key, ObjectName::new(namespace, name));
    }
    assert_eq!(ObjectName::new(None, "n1").as_str(), "n1");
    let error = "a/b/c".parse::<ObjectName>().unwrap_err();
    assert_eq!(error.to_string(), r#"unexpected key format: "a/b/c""#);
}

#[test]
fn object_name_is_found_by_str() {
    let map = HashMap::from([(ObjectName::new(Some("ns"), "a"), 1)]);
    assert_eq!(map.get("ns/a"), Some(&1));
    assert_eq!(map.get("a"), None);
}
