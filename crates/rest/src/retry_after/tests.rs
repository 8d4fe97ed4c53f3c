//! Tests of `Retry-After`.

use std::time::{Duration, SystemTime};

use super::parse;

// B30
#[test]
fn retry_after_takes_seconds_and_dates_and_ignores_the_rest() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let seconds = |text| parse(text, now).map(|wait| wait.as_secs());
    assert_eq!(seconds("3"), Some(3));
    assert_eq!(seconds(" 0 "), Some(0));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:27 GMT"), Some(0));
    for garbage in ["", "soon", "-1", "1.5", "99999999999999999999"] {
        assert_eq!(seconds(garbage), None, "{garbage:?}");
    }
}
