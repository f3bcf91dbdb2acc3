//! The tables of docs/sabotage.md: each bug, and which checks find it after how many seeds.
//!
//! In:  the page, the bugs, and what hunts report (`sabotage: BootStoredFirst sim 12 [...]`). Out: the page with both.
//!
//! Invariants:
//! - What a checker did not hunt for this time stays as it was.

use super::table::Bug;
use std::collections::BTreeMap;

/// How a hunt's line begins.
const START: &str = "sabotage: ";

/// The page's path.
pub(super) const PAGE: &str = "docs/sabotage.md";

const FOUND: &str = "| Bug | Rule | What is wrong | Where | Found by (seeds) |";
const UNFOUND: &str = "| Bug | Rule | What is wrong | Where | Why |";

/// A checker's median number of seeds; `None`: most of its hunts found nothing.
pub(super) type Found<'a> = BTreeMap<&'a str, Option<u64>>;

/// The page with these bugs, and with what these lines say of them.
pub(super) fn update(page: &str, bugs: &[Bug], lines: &str) -> String {
    let news = parse(lines);
    let olds: BTreeMap<&str, &str> = page.lines().filter_map(bug_and_last_cell).collect();
    let mut bugs: Vec<&Bug> = bugs.iter().collect();
    bugs.sort_by_key(|it| (it.rule.is_empty(), it.rule.as_str()));
    let (found, unfound): (Vec<&Bug>, Vec<&Bug>) =
        bugs.into_iter().partition(|it| it.unfound.is_empty());
    let mut out = String::with_capacity(page.len());
    let mut is_in_table = false;
    for line in page.lines() {
        if is_in_table && line.starts_with('|') {
            continue;
        }
        out += line;
        out.push('\n');
        is_in_table = line == FOUND || line == UNFOUND;
        if line == FOUND {
            out += "|---|---|---|---|---|\n";
            for bug in &found {
                let old = olds.get(bug.name.as_str()).copied().unwrap_or_default();
                out += &row(bug, &revise(bug, old, news.get(bug.name.as_str())));
            }
        } else if line == UNFOUND {
            out += "|---|---|---|---|---|\n";
            for bug in &unfound {
                out += &row(bug, &bug.unfound);
            }
        }
    }
    out
}

/// What was found of each bug, by checker.
pub(super) fn parse(lines: &str) -> BTreeMap<&str, Found<'_>> {
    let mut news: BTreeMap<&str, Found<'_>> = BTreeMap::new();
    for line in lines.lines() {
        let Some(rest) = line.strip_prefix(START) else {
            continue;
        };
        let mut words = rest.split_whitespace();
        if let (Some(bug), Some(checker), Some(median)) = (words.next(), words.next(), words.next())
        {
            let median = median.trim_end_matches(':').parse().ok();
            news.entry(bug).or_default().insert(checker, median);
        }
    }
    news
}

/// A row of the page.
fn bug_and_last_cell(line: &str) -> Option<(&str, &str)> {
    let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
    let (_, last) = line.strip_suffix('|')?.rsplit_once('|')?;
    Some((name, last.trim()))
}

fn row(bug: &Bug, last: &str) -> String {
    let (name, rule, wrong) = (&bug.name, &bug.rule, &bug.wrong);
    let mut files: Vec<String> = Vec::new();
    for place in bug.places.iter().filter(|it| !it.file.contains("_test")) {
        let file = place.file.trim_start_matches("crates/");
        let file = format!("`{}`", file.replace("/src/", "/"));
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files.sort();
    let files = files.join(", ");
    format!("| `{name}` | {rule} | {wrong} | {files} | {last} |\n")
}

/// What is known of a bug's checkers: those that it has, with what they found this time, or before.
fn revise(bug: &Bug, old: &str, news: Option<&Found<'_>>) -> String {
    let mut found: BTreeMap<&str, u64> = old
        .split(", ")
        .filter_map(|it| it.split_once(' '))
        .filter_map(|(checker, seeds)| Some((checker, seeds.parse().ok()?)))
        .collect();
    for (checker, median) in news.into_iter().flatten() {
        match median {
            Some(median) => found.insert(checker, *median),
            None => found.remove(checker),
        };
    }
    let found = found.iter();
    let found = found
        .filter(|it| bug.checkers().any(|checker| checker == *it.0))
        .map(|(checker, median)| format!("{checker} {median}"));
    let tests = bug.tests.iter().map(|it| match it.split_once('/') {
        Some((name, test)) => format!("`{test}` ({name})"),
        None => format!("tests of {it}"),
    });
    found.chain(tests).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
