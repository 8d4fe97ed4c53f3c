//! Bar plots, as SVG without a library.

use std::fmt::Write as _;

use super::clients::{Client, Peer};
use super::result::{Measured, Metric};

const WIDTH: f64 = 860.0;
const LABELS: f64 = 290.0;
const VALUES: f64 = 70.0;
const BAR: f64 = 18.0;
const STEP: f64 = 24.0;
const TOP: f64 = 44.0;

/// One plot a metric: the file's name and its text.
pub(super) fn all(results: &[(Client, Measured)]) -> Vec<(String, String)> {
    Metric::ALL
        .into_iter()
        .map(|metric| (format!("{}.svg", metric.key()), plot(metric, results)))
        .collect()
}

fn colour(peer: Peer) -> &'static str {
    match peer {
        Peer::ClientGo => "#5b8db8",
        Peer::KubeRs => "#b8865b",
        Peer::Ours => "#3f9e6b",
    }
}

fn plot(metric: Metric, results: &[(Client, Measured)]) -> String {
    let most = results
        .iter()
        .map(|(_, measured)| measured.get(metric))
        .fold(0.0, f64::max);
    let height = TOP + STEP * results.len() as f64 + 12.0;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{} ({}, lower is better)</text>",
        metric.title(),
        metric.unit(),
    );
    for (index, (client, measured)) in results.iter().enumerate() {
        let value = measured.get(metric);
        let top = TOP + STEP * index as f64;
        let text = top + BAR - 5.0;
        let length = (WIDTH - LABELS - VALUES) * value / most.max(f64::MIN_POSITIVE);
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{text:.0}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABELS:.0}\" y=\"{top:.0}\" width=\"{length:.1}\" height=\"{BAR:.0}\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{text:.0}\">{}</text>",
            LABELS - 8.0,
            client.name,
            colour(client.peer),
            LABELS + length + 6.0,
            metric.show(value),
        );
    }
    svg.push_str("</svg>\n");
    svg
}
