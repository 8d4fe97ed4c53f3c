//! As much of Markdown as the rules read: headings, fences, tables and links.
//!
//! Line numbers count from one.

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// The word after the opening backticks.
    pub(super) language: &'a str,
    /// Its lines, each with its number.
    pub(super) lines: Vec<(usize, &'a str)>,
}

/// A row of a table: its cells without the pipes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) line: usize,
    pub(super) cells: Vec<&'a str>,
}

/// All fenced blocks of a document.
pub(super) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for (line, content) in numbered(text) {
        let marker = content.trim_start().strip_prefix("```");
        match (open.take(), marker) {
            (None, Some(info)) => {
                open = Some(Fence {
                    language: info.split([',', ' ']).next().unwrap_or_default(),
                    lines: Vec::new(),
                });
            }
            (None, None) => {}
            (Some(fence), Some(_)) => fences.push(fence),
            (Some(mut fence), None) => {
                fence.lines.push((line, content));
                open = Some(fence);
            }
        }
    }
    fences
}

/// The lines outside fenced blocks.
pub(super) fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    numbered(text)
        .filter(|(_, content)| {
            let marker = content.trim_start().starts_with("```");
            fenced ^= marker;
            !fenced && !marker
        })
        .collect()
}

/// The text of the first heading with its number of `#`.
pub(super) fn headings(text: &str) -> Vec<(usize, usize, &str)> {
    prose(text)
        .into_iter()
        .filter_map(|(line, content)| {
            let title = content.trim_start_matches('#');
            let level = content.len() - title.len();
            (level > 0 && title.starts_with(' ')).then(|| (line, level, title.trim()))
        })
        .collect()
}

/// The rows below the header row whose cells are `header`; `None` where there is no such table.
pub(super) fn table<'a>(text: &'a str, header: &[&str]) -> Option<(usize, Vec<Row<'a>>)> {
    let lines = prose(text);
    let start = lines
        .iter()
        .position(|(_, content)| cells(content).is_some_and(|cells| cells == header))?;
    let rows = lines[start + 1..]
        .iter()
        .map_while(|(line, content)| {
            Some(Row {
                line: *line,
                cells: cells(content)?,
            })
        })
        .filter(|row| !row.cells.iter().all(|cell| is_rule(cell)))
        .collect();
    Some((lines[start].0, rows))
}

/// Names in backticks.
pub(super) fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Targets of inline links, each with its line.
pub(super) fn links(text: &str) -> Vec<(usize, &str)> {
    prose(text)
        .into_iter()
        .flat_map(|(line, content)| {
            content
                .split("](")
                .skip(1)
                .filter_map(move |rest| Some((line, rest.split_once(')')?.0)))
        })
        .collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'))
}

#[cfg(test)]
mod tests;
