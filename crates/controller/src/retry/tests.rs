//! Retries under a paused clock.

use std::time::Duration;

use informers_reflector::{Error, StatusError};
use tokio::time::Instant;

use super::{ConflictBackoff, retry_on_conflict};

fn failure(code: u16, reason: &str) -> Error {
    Error::from_status(StatusError {
        code,
        reason: reason.to_owned(),
        ..StatusError::default()
    })
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_until_success() {
    let (start, mut calls) = (Instant::now(), 0);
    let outcome = retry_on_conflict(ConflictBackoff::BACKOFF, async || {
        calls += 1;
        if calls < 4 {
            Err(failure(409, "Conflict"))
        } else {
            Ok(calls)
        }
    });
    assert_eq!(outcome.await.unwrap(), 4);
    let elapsed = start.elapsed();
    // 10 + 50 + 250 ms, each up to a tenth longer, in the timer's milliseconds.
    assert!(elapsed >= Duration::from_millis(310), "{elapsed:?}");
    assert!(elapsed <= Duration::from_millis(344), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn last_conflict_is_returned_when_the_attempts_are_used_up() {
    let mut calls = 0;
    let outcome = retry_on_conflict(ConflictBackoff::RETRY, async || {
        calls += 1;
        Err::<(), _>(failure(409, "Conflict"))
    });
    let error = outcome.await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 409);
    assert_eq!(calls, 5);
}

#[tokio::test(start_paused = true)]
async fn other_errors_are_not_retried() {
    for error in [
        (409, "AlreadyExists"),
        (404, "NotFound"),
        (500, "InternalError"),
    ] {
        let mut calls = 0;
        let outcome = retry_on_conflict(ConflictBackoff::RETRY, async || {
            calls += 1;
            Err::<(), _>(failure(error.0, error.1))
        });
        outcome.await.unwrap_err();
        assert_eq!(calls, 1, "{error:?}");
    }
}
