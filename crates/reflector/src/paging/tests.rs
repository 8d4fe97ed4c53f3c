//! Pages as data: tokens, versions, expired pages.

use super::*;

fn rv(text: &str) -> Option<ResourceVersion> {
    ResourceVersion::new(text)
}

fn meta(version: &str, token: &str) -> ListMeta {
    ListMeta {
        resource_version: rv(version),
        continue_token: (!token.is_empty()).then(|| token.to_owned()),
        remaining_item_count: None,
    }
}

fn from_zero() -> Paging {
    Paging::new(ListOptions {
        resource_version: rv("0"),
        limit: Some(500),
        ..ListOptions::default()
    })
}

fn page(token: &str) -> AfterPage {
    AfterPage::Next(ListOptions {
        limit: Some(500),
        continue_token: Some(token.to_owned()),
        ..ListOptions::default()
    })
}

// B80; Scenario: TestListPager_List (multiple pages)
#[test]
fn later_pages_carry_no_version_and_the_first_page_names_it() {
    let mut paging = from_zero();
    assert_eq!(paging.on_page(meta("11", "a+/=&")), page("a+/=&"));
    assert_eq!(paging.on_page(meta("12", "b")), page("b"));
    assert_eq!(
        paging.on_page(meta("13", "")),
        AfterPage::Done {
            resource_version: rv("11"),
            in_pages: true
        }
    );
}

#[test]
fn single_page_is_not_in_pages() {
    assert_eq!(
        from_zero().on_page(meta("11", "")),
        AfterPage::Done {
            resource_version: rv("11"),
            in_pages: false
        }
    );
}

#[test]
fn page_that_names_its_own_token_is_an_endless_list() {
    let mut paging = from_zero();
    paging.on_page(meta("11", "a"));
    assert_eq!(
        paging.on_page(meta("11", "a")),
        AfterPage::Broken(ContractError::EndlessList)
    );
}

// B80; Scenario: TestListPager_List (expired, FullListIfExpired)
#[test]
fn expired_later_page_becomes_one_full_list() {
    let mut paging = from_zero();
    let expired = Error::http(410, "", None);
    assert_eq!(paging.on_error(&expired), None);
    paging.on_page(meta("11", "a"));
    assert_eq!(paging.on_error(&Error::http(500, "", None)), None);
    let full = ListOptions {
        resource_version: rv("0"),
        ..ListOptions::default()
    };
    assert_eq!(paging.on_error(&expired), Some(full));
    // A server that pages an unlimited list, and lets it expire, gets no second one.
    paging.on_page(meta("15", "b"));
    assert_eq!(paging.on_error(&expired), None);
}
