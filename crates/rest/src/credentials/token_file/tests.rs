//! Tests of token files.

use std::fs;
use std::time::Duration;

use super::TokenFile;

fn source(path: &std::path::Path) -> TokenFile {
    TokenFile::new(path.to_owned(), None, Duration::from_secs(10))
}

async fn token(source: &TokenFile, refused: Option<u64>) -> String {
    let credential = source.credential(refused).await.unwrap();
    credential
        .authorization
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

// B47
#[tokio::test]
async fn token_file_is_trimmed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    for text in ["abc\n", "abc\r\n\n", "\u{feff}abc", "  abc "] {
        fs::write(&path, text).unwrap();
        assert_eq!(token(&source(&path), None).await, "Bearer abc", "{text:?}");
    }
}

// B47
#[tokio::test]
async fn token_file_without_token_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    for (text, problem) in [(None, "cannot be read"), (Some(" \n"), "is empty")] {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let error = source(&path).credential(None).await.map(drop).unwrap_err();
        let text = crate::testing::text_of(&error);
        assert!(text.contains(problem) && text.contains("token"), "{text}");
    }
}

// B48
#[tokio::test]
async fn token_file_is_read_again_in_time_and_at_once_when_refused() {
    tokio::time::pause();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "one").unwrap();
    let source = source(&path);
    let first = source.credential(None).await.unwrap();
    fs::write(&path, "two").unwrap();
    assert_eq!(token(&source, None).await, "Bearer one");
    assert_eq!(token(&source, Some(first.generation)).await, "Bearer two");
    fs::write(&path, "three").unwrap();
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(token(&source, None).await, "Bearer three");
}

// B48
#[tokio::test]
async fn token_file_that_vanishes_leaves_the_last_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "one").unwrap();
    let source = source(&path);
    let first = source.credential(None).await.unwrap();
    for broken in [None, Some("")] {
        fs::remove_file(&path).unwrap();
        if let Some(text) = broken {
            fs::write(&path, text).unwrap();
        } else {
            fs::write(&path, "\n").unwrap();
        }
        assert_eq!(token(&source, Some(first.generation)).await, "Bearer one");
    }
}

#[cfg(unix)]
// B48
#[tokio::test]
async fn token_file_behind_a_swapped_symlink_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("v1"), "one").unwrap();
    fs::write(at("v2"), "two").unwrap();
    std::os::unix::fs::symlink(at("v1"), at("token")).unwrap();
    let source = source(&at("token"));
    let first = source.credential(None).await.unwrap();
    std::os::unix::fs::symlink(at("v2"), at("new")).unwrap();
    fs::rename(at("new"), at("token")).unwrap();
    assert_eq!(token(&source, Some(first.generation)).await, "Bearer two");
}
