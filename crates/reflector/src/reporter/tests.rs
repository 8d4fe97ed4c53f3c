//! What is logged of failures that repeat.

use super::*;

// B26
#[test]
fn identical_errors_are_logged_once_in_ten_minutes() {
    let mut log = RepeatLog::default();
    let start = Instant::now();
    assert_eq!(log.note("a".to_owned(), start), Some(0));
    for minute in 1..10 {
        let now = start + Duration::from_secs(60 * minute);
        assert_eq!(log.note("a".to_owned(), now), None);
    }
    let now = start + LOG_AGAIN_AFTER;
    assert_eq!(log.note("a".to_owned(), now), Some(9));
    assert_eq!(log.note("b".to_owned(), now), Some(0));
    assert_eq!(log.note("b".to_owned(), now), None);
    log.clear();
    assert_eq!(log.note("b".to_owned(), now), Some(0));
}

#[test]
fn chain_shows_each_cause_once() {
    let error = WatchError {
        operation: Operation::List,
        resource: "pods".into(),
        error: Error::decode("the list", "eof at 1:3"),
    };
    assert_eq!(
        Chain(&error).to_string(),
        "failed to list pods: cannot read the list of the API server: eof at 1:3"
    );
}
