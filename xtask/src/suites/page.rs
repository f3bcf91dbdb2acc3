//! What is known of the suites: the tables of docs/suites.md.
//!
//! In:  what runs have found, the list of differences. Out: a row for each suite at each kind of port, a row for each
//! difference, a row for each unit that is not run; the page with them.
//!
//! Invariants:
//! - What is said of suites that were not run this time stays.

use super::differences::{Difference, Differences, LeftOut};
use super::output::{Outcome, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// The page's path.
pub(super) const PAGE: &str = "docs/suites.md";

const FIGURES: &str = "| Suite | Port | Units | Passed | Failed as listed | Not run as listed | Left out by the suite itself |";
const DIFFERENCES: &str = "| Unit | Tests | Where | Why |";
const UNITS: &str = "| Units | Where | Why they are not run |";

/// A row of the first table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Figures(String);

impl Figures {
    /// Counts.
    pub(super) fn of(report: &Report, differences: &Differences) -> Self {
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        let mut ignored: BTreeMap<&str, usize> = BTreeMap::new();
        for ((unit, test), outcome) in &report.tests {
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Skipped => skipped += 1,
                Outcome::Ignored(why) => *ignored.entry(why).or_default() += 1,
                Outcome::Failed(_) => {
                    failed += usize::from(differences.why(report, unit, test).is_some());
                }
            }
        }
        let ignored: Vec<String> = ignored
            .iter()
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        Self(format!(
            "| {} {} | {} | {} | {passed} | {failed} | {skipped} | {} |",
            capitalized(&report.suite),
            report.version,
            report.port.name(),
            report.units.len(),
            ignored.join("; ")
        ))
    }

    /// Which suite and port it is of.
    fn key(row: &str) -> Vec<&str> {
        row.split('|').take(3).collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The page, with these figures and this list.
pub(super) fn update(page: &str, figures: &[Figures], differences: &Differences) -> String {
    let mut out = String::with_capacity(page.len());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        if ![FIGURES, DIFFERENCES, UNITS].contains(&line) {
            continue;
        }
        let _ = writeln!(out, "|{}", "---|".repeat(line.matches('|').count() - 1));
        let mut old = Vec::new();
        while let Some(row) = lines.next_if(|it| it.starts_with('|')) {
            old.push(row);
        }
        let rows = match line {
            FIGURES => figure_rows(old.get(1..).unwrap_or_default(), figures),
            DIFFERENCES => differences.list.iter().map(difference_row).collect(),
            _ => unit_rows(differences),
        };
        for row in rows {
            let _ = writeln!(out, "{row}");
        }
    }
    out
}

fn figure_rows(old: &[&str], new: &[Figures]) -> Vec<String> {
    let is_replaced = |row: &&&str| {
        new.iter()
            .any(|it| Figures::key(&it.0) == Figures::key(row))
    };
    let kept = old
        .iter()
        .filter(|row| !is_replaced(row))
        .map(|row| (*row).to_owned());
    let rows: BTreeSet<String> = kept.chain(new.iter().map(|it| it.0.clone())).collect();
    rows.into_iter().collect()
}

fn difference_row(it: &Difference) -> String {
    let escaped = |test: &String| test.replace('|', "\\|");
    let tests: Vec<String> = it.tests.iter().map(escaped).collect();
    let mut places = Vec::new();
    places.extend(it.suites.iter().map(|name| capitalized(name)));
    places.extend(it.ports.iter().map(|name| format!("{name} port")));
    if it.is_skipped {
        places.push("not run".to_owned());
    }
    let unit = it.unit.trim_start_matches("unit/");
    format!(
        "| {unit} | {} | {} | {} |",
        tests.join("<br>"),
        places.join(", "),
        it.why
    )
}

fn unit_rows(differences: &Differences) -> Vec<String> {
    let row = |it: &LeftOut| {
        let units: Vec<&str> = it
            .units
            .iter()
            .map(|unit| unit.trim_start_matches("unit/"))
            .collect();
        let ports: Vec<String> = it.ports.iter().map(|name| format!("{name} port")).collect();
        format!(
            "| {} | {} | {} |",
            units.join(", "),
            ports.join(", "),
            it.why
        )
    };
    differences.units.iter().map(row).collect()
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
