//! Lines in, medians out.

use super::{Measured, Metric};

fn line(sync: f64, objects: u32) -> Measured {
    let line = format!(
        r#"{{"peer":"x","objects":{objects},"sync_s":{sync},"events_s":2.0,"steady_mib":3.0,"peak_mib":4.0}}"#
    );
    Measured::of(&line).unwrap()
}

#[test]
fn median_of_three_runs_is_the_middle_one_of_each_number() {
    let median = Measured::median(&[line(9.5, 7), line(1.5, 7), line(2.5, 7)]).unwrap();
    assert!((median.get(Metric::Sync) - 2.5).abs() < 1e-9);
    assert_eq!(median.number("objects"), Some(7.0));
    assert!(
        median.to_line("name").starts_with(r#"{"client":"name","#)
            || median.to_line("name").contains(r#""client":"name""#)
    );
}

#[test]
fn line_without_a_metric_is_no_result() {
    assert!(Measured::of(r#"{"sync_s":1.0}"#).is_err());
    assert!(Measured::of("panic").is_err());
    assert!(Measured::median(&[]).is_none());
}
