//! What a suite's runner prints, read.
//!
//! In:  the lines of `tests/test_helper.tcl`. Out: what became of each test, by unit and name.
//!
//! Invariants:
//! - A test that runs several times has failed if it failed once.
//! - What ends a unit before its end is a failure by itself: nobody knows what the tests after it would have said.

use super::servers::Port;
use super::unit::Suite;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// The name under which a unit that did not come to its end is listed.
pub(super) const ABORTED: &str = "(the unit ended early)";

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It passed.
    Passed,
    /// We did not let it run.
    Skipped,
    /// The suite did not, by a tag, and says why.
    Ignored(String),
    /// It failed, and says how.
    Failed(String),
}

/// What one suite found at one kind of port.
#[derive(Debug)]
pub(super) struct Report {
    /// `redis` or `valkey`.
    pub(super) suite: String,
    /// Its release.
    pub(super) version: String,
    pub(super) port: Port,
    pub(super) units: BTreeSet<String>,
    pub(super) tests: BTreeMap<(String, String), Outcome>,
}

/// How many of a unit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) left_out: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            left_out,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {left_out} left out")
    }
}

impl Report {
    pub(super) fn new(suite: &Suite, port: Port) -> Self {
        Self {
            suite: suite.name.clone(),
            version: suite.version.clone(),
            port,
            units: BTreeSet::new(),
            tests: BTreeMap::new(),
        }
    }

    /// Takes in what the runner printed about a unit.
    pub(super) fn add(&mut self, unit: &str, output: &str) -> Count {
        self.units.insert(unit.to_owned());
        for (test, outcome) in outcomes(output) {
            let known = self.tests.entry((unit.to_owned(), test));
            let known = known.or_insert_with(|| outcome.clone());
            // The order of the variants is the order of what counts.
            if outcome > *known {
                *known = outcome;
            }
        }
        self.count(unit)
    }

    /// Notes that a server ended during a unit.
    pub(super) fn ended(&mut self, unit: &str, log: &Path) {
        let why = format!("a server ended; the unit's output is {}", log.display());
        let key = (unit.to_owned(), ABORTED.to_owned());
        self.tests.insert(key, Outcome::Failed(why));
    }

    fn count(&self, unit: &str) -> Count {
        let mut count = Count::default();
        let of_it = self.tests.iter().filter(|((its, _), _)| its == unit);
        for (_, outcome) in of_it {
            match outcome {
                Outcome::Passed => count.passed += 1,
                Outcome::Failed(_) => count.failed += 1,
                Outcome::Skipped | Outcome::Ignored(_) => count.left_out += 1,
            }
        }
        count
    }
}

/// The tests that a unit's output tells of, in their order.
fn outcomes(output: &str) -> Vec<(String, Outcome)> {
    let mut found: Vec<(String, Outcome)> = Vec::new();
    let mut is_at_end = false;
    for line in output.lines() {
        let marked = line.strip_prefix('[').and_then(|it| it.split_once("]: "));
        let Some((mark, text)) = marked else {
            is_at_end |= line.trim() == "The End";
            // The lines after a failure are its details.
            if let Some((_, Outcome::Failed(details))) = found.last_mut()
                && !is_at_end
            {
                details.push('\n');
                details.push_str(line);
            }
            continue;
        };
        if is_at_end {
            break;
        }
        match mark {
            "ok" => {
                let name = text.rsplit_once(" (").map_or(text, |it| it.0);
                found.push((name.to_owned(), Outcome::Passed));
            }
            "skip" => found.push((text.to_owned(), Outcome::Skipped)),
            "ignore" => {
                // `Tag: slow denied` has a colon of its own; a block of tests has no name.
                // A block of tests has no name, and a reason such as `Tag: slow denied` a colon of its own.
                let named = text.split_once(": Tag: ");
                let named = named.or_else(|| text.rsplit_once(": "));
                let (name, why) = match named {
                    Some((name, why)) if name != "Tag" => (name.to_owned(), why),
                    _ => {
                        let why = text.strip_prefix("Tag: ").unwrap_or(text);
                        (format!("(block {})", found.len()), why)
                    }
                };
                found.push((name, Outcome::Ignored(why.to_owned())));
            }
            "err" => match text.rsplit_once(" in tests/") {
                Some((name, _)) => found.push((name.to_owned(), Outcome::Failed(String::new()))),
                None => found.push((ABORTED.to_owned(), Outcome::Failed(text.to_owned()))),
            },
            "exception" | "TIMEOUT" => {
                found.push((ABORTED.to_owned(), Outcome::Failed(text.to_owned())));
            }
            _ => {}
        }
    }
    if !is_at_end && !found.iter().any(|(name, _)| name == ABORTED) {
        let last = output.lines().next_back().unwrap_or("nothing was printed");
        let why = format!("it came to no end: {last}");
        found.push((ABORTED.to_owned(), Outcome::Failed(why)));
    }
    found
}

#[cfg(test)]
#[path = "output_test.rs"]
mod output_test;
