//! Order of versions, where there is one.

use std::cmp::Ordering;

use super::ResourceVersion;

fn rv(text: &str) -> ResourceVersion {
    ResourceVersion::new(text).unwrap()
}

// B10
#[test]
fn compare_integers_by_value_and_refuses_others() {
    assert_eq!(rv("9").compare(&rv("10")), Ok(Ordering::Less));
    assert_eq!(rv("100").compare(&rv("99")), Ok(Ordering::Greater));
    assert_eq!(rv("a1f-7").compare(&rv("a1f-7")), Ok(Ordering::Equal));
    assert!(rv("a1f-7").compare(&rv("3")).is_err());
    assert!(rv("3").compare(&rv("03")).is_err());
    // Wider than any machine integer.
    let wide = "9".repeat(60);
    assert_eq!(rv(&wide).compare(&rv("1")), Ok(Ordering::Greater));
}
