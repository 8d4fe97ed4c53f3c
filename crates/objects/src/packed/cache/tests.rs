//! The bound, and whose object is whose.

use std::sync::Arc;

use super::Cache;

#[test]
fn cache_holds_no_more_than_its_places() {
    let cache = Cache::new(2);
    let objects: Vec<Arc<u8>> = (0..5).map(Arc::new).collect();
    for (serial, object) in (0..).zip(&objects) {
        cache.put(serial, object);
    }
    let held = objects
        .iter()
        .filter(|object| Arc::strong_count(object) > 1)
        .count();
    assert_eq!(held, 2);
    assert_eq!(cache.get(4).as_deref(), Some(&4));
    assert_eq!(cache.get(3).as_deref(), Some(&3));
    assert_eq!(cache.get(2), None);
}

#[test]
fn cache_without_places_holds_nothing() {
    let cache = Cache::new(0);
    let object = Arc::new(());
    cache.put(7, &object);
    assert_eq!(cache.get(7), None);
    assert_eq!(Arc::strong_count(&object), 1);
}
