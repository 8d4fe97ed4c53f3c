//! Tests of the Markdown reader.

use super::*;

const DOCUMENT: &str = "\
# Title

Text with a [link](docs/a.md#part) and [another](https://example.org/).

```sh
cargo test
# not a heading
```

## Table

| a | b |
|---|:-:|
| `x`, `y` | 1 |
| z | 2 |

After.
";

#[test]
fn fences_carry_language_and_numbered_lines() {
    assert_eq!(
        fences(DOCUMENT),
        [Fence {
            language: "sh",
            lines: vec![(6, "cargo test"), (7, "# not a heading")],
        }]
    );
}

#[test]
fn headings_inside_fences_are_not_headings() {
    assert_eq!(headings(DOCUMENT), [(1, 1, "Title"), (10, 2, "Table")]);
}

#[test]
fn table_stops_at_the_first_line_without_pipes() {
    let (line, rows) = table(DOCUMENT, &["a", "b"]).expect("the table is there");
    assert_eq!(line, 12);
    assert_eq!(
        rows,
        [
            Row {
                line: 14,
                cells: vec!["`x`, `y`", "1"]
            },
            Row {
                line: 15,
                cells: vec!["z", "2"]
            },
        ]
    );
}

#[test]
fn table_with_another_header_is_not_found() {
    assert_eq!(table(DOCUMENT, &["a", "c"]), None);
}

#[test]
fn code_spans_are_the_names_in_backticks() {
    assert_eq!(code_spans("`x`, then `y`").collect::<Vec<_>>(), ["x", "y"]);
}

#[test]
fn links_are_found_with_their_line() {
    assert_eq!(
        links(DOCUMENT),
        [(3, "docs/a.md#part"), (3, "https://example.org/")]
    );
}
