//! The pager against a scripted server.

use informers_cache_core::Object;

use super::*;
use crate::testing::{FakeServer, Obj, rv};

fn server(answers: &'static [&'static str]) -> Arc<FakeServer> {
    Arc::new(FakeServer::new(move |_, n| answers[n].to_owned()))
}

fn names(items: &[ListItem<Obj>]) -> Vec<&str> {
    let names = items.iter().map(|item| match item {
        ListItem::Object(obj) => obj.name(),
        ListItem::Undecodable(undecodable) => undecodable.name.as_str(),
    });
    names.collect()
}

// Scenario: TestListPager_List (one page, multiple pages)
#[tokio::test(start_paused = true)]
async fn list_holds_all_pages_at_the_first_one_s_version() {
    let server = server(&[
        "rv=10 continue=x a@1 b@2",
        "rv=11 continue=y bad@3",
        "rv=12 d@4",
    ]);
    let (items, meta) = Pager::new(Arc::clone(&server) as _).list().await.unwrap();
    assert_eq!(names(&items), ["a", "b", "bad", "d"]);
    assert_eq!(meta.resource_version, Some(rv("10")));
    assert_eq!(
        server.requests(),
        [
            "LIST limit=500",
            "LIST limit=500 continue=x",
            "LIST limit=500 continue=y"
        ]
    );
}

// Scenario: TestListPager_List (expired page), B80
#[tokio::test(start_paused = true)]
async fn expired_page_is_replaced_by_one_full_list() {
    let server = server(&["rv=10 continue=x old@1", "error 410", "rv=20 new@15"]);
    let first = ListOptions {
        resource_version: Some(rv("5")),
        limit: Some(2),
        ..ListOptions::default()
    };
    let pager = Pager::new(Arc::clone(&server) as _).with_options(first);
    let (items, meta) = pager.list().await.unwrap();
    assert_eq!(names(&items), ["new"]);
    assert_eq!(meta.resource_version, Some(rv("20")));
    assert_eq!(
        server.requests(),
        ["LIST rv=5 limit=2", "LIST limit=2 continue=x", "LIST rv=5"]
    );
}

// Scenario: TestListPager_EachListItem (errors)
#[tokio::test(start_paused = true)]
async fn stream_gives_what_came_and_ends_with_the_error() {
    let server = server(&["rv=10 continue=x a@1", "error 410"]);
    let pager = Pager::new(Arc::clone(&server) as _);
    let parts: Vec<_> = pager.stream().collect().await;
    assert_eq!(parts.len(), 2);
    assert!(matches!(&parts[0], Ok(ListPart::Items(items)) if names(items) == ["a"]));
    assert!(parts[1].as_ref().is_err_and(Error::is_expired));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stream_ends_with_the_metadata() {
    let server = server(&["rv=10 continue=x a@1", "rv=11 b@2"]);
    let pager = Pager::new(Arc::clone(&server) as _);
    let parts: Vec<_> = pager.stream().collect().await;
    assert_eq!(parts.len(), 3);
    assert!(
        matches!(&parts[2], Ok(ListPart::End(meta)) if meta.resource_version == Some(rv("10")))
    );
}

// Scenario: TestListPager_List (error on a page)
#[tokio::test(start_paused = true)]
async fn other_errors_fail_the_list() {
    for (answers, code) in [
        (&["error 500"] as &'static [&'static str], Some(500)),
        (&["error 410"], Some(410)),
        (&["rv=10 continue=x", "error 500"], Some(500)),
        (&["a@1 cut"], None),
        (&["continue=x", "continue=x"], None),
    ] {
        let error = Pager::new(server(answers) as _).list().await.unwrap_err();
        assert_eq!(error.status().map(|status| status.code), code);
        assert_eq!(error.as_contract().is_some(), code.is_none());
    }
}
