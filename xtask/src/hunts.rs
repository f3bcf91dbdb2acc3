//! The last column of docs/sabotage.md: which room's judges find which deliberate bug, after how many seeds.
//!
//! In:  the page, and what hunts print (`sabotage: BootStoredFirst sim 12 [...]`). Out: the page with those numbers.
//!
//! Invariants:
//! - What a room did not hunt for this time stays as it was.

use std::collections::BTreeMap;

/// How a hunt's line begins.
const START: &str = "sabotage: ";

/// A room's median number of seeds; `None`: most of its hunts found nothing.
type Found<'a> = BTreeMap<&'a str, Option<u64>>;

/// The page with what these lines say.
#[must_use]
pub fn update(page: &str, lines: &str) -> String {
    let news = parse(lines);
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        match bug_of(line).and_then(|bug| news.get(bug)) {
            Some(found) => out += &revise(line, found),
            None => out += line,
        }
        out.push('\n');
    }
    out
}

/// What was found of each bug, by room.
fn parse(lines: &str) -> BTreeMap<&str, Found<'_>> {
    let mut news: BTreeMap<&str, Found<'_>> = BTreeMap::new();
    for line in lines.lines() {
        // A test's name may stand before it.
        let Some((_, rest)) = line.split_once(START) else {
            continue;
        };
        let mut words = rest.split_whitespace();
        if let (Some(bug), Some(room), Some(median)) = (words.next(), words.next(), words.next()) {
            let median = median.trim_end_matches(':').parse().ok();
            news.entry(bug).or_default().insert(room, median);
        }
    }
    news
}

/// The bug that a line of the table is about.
fn bug_of(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
    Some(name)
}

/// A line of the table with another last column.
fn revise(line: &str, news: &Found<'_>) -> String {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let Some((last, others)) = cells.split_last() else {
        return line.to_owned();
    };
    let mut found: BTreeMap<&str, u64> = last
        .split(", ")
        .filter_map(|it| it.split_once(' '))
        .filter_map(|(room, seeds)| Some((room, seeds.parse().ok()?)))
        .collect();
    for (room, median) in news {
        match median {
            Some(median) => found.insert(room, *median),
            None => found.remove(room),
        };
    }
    let found: Vec<String> = found
        .iter()
        .map(|(room, median)| format!("{room} {median}"))
        .collect();
    format!("| {} | {} |", others.join(" | "), found.join(", "))
}

#[cfg(test)]
#[path = "hunts_test.rs"]
mod hunts_test;
