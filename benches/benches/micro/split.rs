//! The frame splitter's core: finding the ends of list items while a body arrives.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use informers_benches::fixtures;
use informers_objects::json::ValueScanner;

const COUNT: usize = 256;
/// As much as one read from a connection brings.
const READ: usize = 16 << 10;

#[divan::bench]
fn items_of_a_list(bencher: Bencher<'_, '_>) {
    let pods = fixtures::pods(COUNT);
    let body = fixtures::list(&pods);
    let start = body.len() - pods.iter().map(|pod| pod.len() + 1).sum::<usize>() - 2;
    bencher
        .counter(BytesCount::new(body.len()))
        .counter(ItemsCount::new(COUNT))
        .bench_local(|| {
            let mut scanner = ValueScanner::new();
            let mut items = 0;
            for read in body[start..].chunks(READ) {
                let mut rest = read;
                while !rest.is_empty() {
                    if !scanner.started() && matches!(rest[0], b',' | b']' | b'}' | b'\n') {
                        rest = &rest[1..];
                        continue;
                    }
                    let Some(end) = scanner.scan(rest) else {
                        break;
                    };
                    scanner.reset();
                    items += 1;
                    rest = &rest[end..];
                }
            }
            assert_eq!(black_box(items), COUNT);
        });
}
