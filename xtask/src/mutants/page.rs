//! What is known of mutants: the tables of docs/mutants.md.
//!
//! In:  mutants, what became of them, reasons. Out: a row for each crate, a row for each that survived; the page with them.
//!
//! Invariants:
//! - What is said of crates that were not tried this time stays.

use super::find::Mutant;
use super::trial::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The page's path.
pub(super) const PAGE: &str = "docs/mutants.md";

const CRATES: &str = "| Crate | Sample | Tried | Caught by its own tests | By others | By hanging | Survived | of these equivalent | Noticed |";
const SURVIVORS: &str = "| Where | Change | Why |";

/// Rows, by crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    crates: BTreeMap<String, String>,
    survivors: Vec<(String, String)>,
}

/// How many of a crate.
#[derive(Clone, Copy, Default)]
struct Counts {
    tried: usize,
    own: usize,
    others: usize,
    hung: usize,
    survived: usize,
    equivalent: usize,
}

impl Report {
    /// Counts.
    pub(super) fn of(
        mutants: &[Mutant],
        outcomes: &[Outcome],
        reasons: &BTreeMap<String, String>,
        samples: &BTreeMap<&str, String>,
    ) -> Self {
        let mut report = Self::default();
        let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
        for (mutant, outcome) in mutants.iter().zip(outcomes) {
            let krate = mutant.krate();
            let it = counts.entry(krate).or_default();
            it.tried += usize::from(*outcome != Outcome::LeftOut);
            match outcome {
                Outcome::LeftOut => {}
                Outcome::Caught(by) if by == krate => it.own += 1,
                Outcome::Caught(_) => it.others += 1,
                Outcome::TimedOut(_) => it.hung += 1,
                Outcome::Survived => {
                    it.survived += 1;
                    let why = reasons.get(&mutant.name);
                    it.equivalent += usize::from(why.is_some());
                    let file = mutant.file.trim_start_matches("crates/");
                    let row = format!(
                        "| `{}:{}` `{}` | {} | {} |",
                        file.replace("/src/", "/"),
                        mutant.line,
                        mutant.name,
                        mutant.change().replace('|', "\\|"),
                        why.map_or("open", String::as_str)
                    );
                    report.survivors.push((krate.to_owned(), row));
                }
            }
        }
        for (krate, it) in counts {
            // An equivalent one is no mutant that anybody could notice.
            let real = it.tried - it.equivalent;
            let noticed = (it.tried - it.survived) * 1000 / real.max(1);
            let row = format!(
                "| {krate} | {} | {} | {} | {} | {} | {} | {} | {}.{} % |",
                samples.get(krate).map_or("", String::as_str),
                it.tried,
                it.own,
                it.others,
                it.hung,
                it.survived,
                it.equivalent,
                noticed / 10,
                noticed % 10
            );
            report.crates.insert(krate.to_owned(), row);
        }
        report
    }

    /// Both tables.
    pub(super) fn table(&self) -> String {
        let mut out = format!("{CRATES}\n");
        for row in self.crates.values() {
            let _ = writeln!(out, "{row}");
        }
        let _ = writeln!(out, "\n{SURVIVORS}");
        for (_, row) in &self.survivors {
            let _ = writeln!(out, "{row}");
        }
        out
    }

    /// The page, with what is known now of the crates of this report.
    pub(super) fn update(&self, page: &str) -> String {
        let names: BTreeSet<&str> = self.crates.keys().map(String::as_str).collect();
        let mut rows: BTreeSet<&str> = self.crates.values().map(String::as_str).collect();
        let survivors = self.survivors.iter().map(|it| it.1.as_str());
        let mut others: Vec<&str> = survivors.collect();
        let mut out = String::with_capacity(page.len());
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            let _ = writeln!(out, "{line}");
            if line != CRATES && line != SURVIVORS {
                continue;
            }
            let columns = line.matches('|').count() - 1;
            let _ = writeln!(out, "|{}", "---|".repeat(columns));
            while let Some(row) = lines.next_if(|it| it.starts_with('|')) {
                let is_old = crate_of(row).is_none_or(|name| names.contains(name));
                if !is_old && line == CRATES {
                    rows.insert(row);
                } else if !is_old {
                    others.push(row);
                }
            }
            if line == CRATES {
                rows.iter().for_each(|row| out += &format!("{row}\n"));
            } else {
                others.sort_by_key(|row| crate_of(row));
                others.iter().for_each(|row| out += &format!("{row}\n"));
            }
        }
        out
    }
}

/// The crate that a row is of.
fn crate_of(row: &str) -> Option<&str> {
    let cell = row.strip_prefix("| ")?.trim_start_matches('`');
    let end = cell.find(|it: char| !it.is_ascii_lowercase())?;
    Some(&cell[..end]).filter(|it| !it.is_empty())
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
