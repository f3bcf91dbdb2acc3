//! What fails, or is not run, and why: xtask/suites.toml.
//!
//! In:  the file; what runs have found. Out: findings: failures without a reason, reasons of tests that pass or are gone.

use super::output::{Outcome, Report};
use super::servers::Port;
use crate::{finding::Finding, tree::Tree};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The file's path.
pub(super) const LIST: &str = "xtask/suites.toml";

/// Tests that fail for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) unit: String,
    pub(super) tests: Vec<String>,
    pub(super) why: String,
    /// In these suites alone; none: in all.
    pub(super) suites: Vec<String>,
    /// At these kinds of port alone; none: at all.
    pub(super) ports: Vec<String>,
    /// They are not run: they would end the unit, or wait for long.
    pub(super) is_skipped: bool,
}

impl Difference {
    fn is_about(&self, report: &Report) -> bool {
        let has =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|it| it == name);
        has(&self.suites, &report.suite) && has(&self.ports, report.port.name())
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences {
    pub(super) list: Vec<Difference>,
    /// Units that are not run.
    pub(super) units: Vec<LeftOut>,
}

/// Units that are not run for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) units: Vec<String>,
    pub(super) why: String,
    /// At these kinds of port alone; none: at all.
    pub(super) ports: Vec<String>,
}

impl Differences {
    /// Reads them.
    pub(super) fn read(tree: &Tree, findings: &mut Vec<Finding>) -> Self {
        let table = match tree.text(LIST).unwrap_or_default().parse::<Table>() {
            Ok(table) => table,
            Err(error) => {
                findings.push(Finding::new(LIST, 0, error.to_string()));
                return Self::default();
            }
        };
        let mut read = Self::default();
        let entries = |name: &str| table.get(name).and_then(Value::as_array);
        for entry in entries("left-out").into_iter().flatten() {
            read.units.push(LeftOut {
                units: words(entry, "units"),
                why: word(entry, "why"),
                ports: words(entry, "ports"),
            });
        }
        for entry in entries("difference").into_iter().flatten() {
            read.list.push(Difference {
                unit: word(entry, "unit"),
                tests: words(entry, "tests"),
                why: word(entry, "why"),
                suites: words(entry, "suites"),
                ports: words(entry, "ports"),
                is_skipped: entry.get("skip").and_then(Value::as_bool) == Some(true),
            });
        }
        for it in &read.list {
            if it.why.is_empty() || it.unit.is_empty() || it.tests.is_empty() {
                let what = format!(
                    "an entry needs `unit`, `tests` and `why`: {} {:?}",
                    it.unit, it.tests
                );
                findings.push(Finding::new(LIST, 0, what));
            }
        }
        for it in &read.units {
            if it.why.is_empty() || it.units.is_empty() {
                let what = format!(
                    "units that are left out need `units` and `why`: {:?}",
                    it.units
                );
                findings.push(Finding::new(LIST, 0, what));
            }
        }
        read
    }

    /// Whether a unit is not run.
    pub(super) fn leaves_out(&self, unit: &str, port: Port) -> bool {
        let is_there = |it: &LeftOut| has(&it.ports, port.name());
        let mut all = self.units.iter();
        all.any(|it| is_there(it) && it.units.iter().any(|name| name == unit))
    }

    /// Tests of a unit that are not run.
    pub(super) fn skipped(&self, report: &Report, unit: &str) -> BTreeSet<String> {
        let of_it = |it: &&Difference| it.is_skipped && it.unit == unit && it.is_about(report);
        let list = self.list.iter().filter(of_it);
        list.flat_map(|it| it.tests.iter().cloned()).collect()
    }

    /// Why a test fails, if that is known.
    pub(super) fn why(&self, report: &Report, unit: &str, test: &str) -> Option<&Difference> {
        let is_it = |it: &&Difference| {
            it.unit == unit && it.tests.iter().any(|name| name == test) && it.is_about(report)
        };
        self.list.iter().find(is_it)
    }

    /// Failures that are in no entry.
    pub(super) fn unlisted(&self, report: &Report) -> Vec<Finding> {
        let mut findings = Vec::new();
        for ((unit, test), outcome) in &report.tests {
            if let Outcome::Failed(details) = outcome
                && self.why(report, unit, test).is_none()
            {
                let Report {
                    suite,
                    version,
                    port,
                    ..
                } = report;
                let what = format!(
                    "{suite} {version}, {} port: {unit}: {test} fails: mend it, or say why in {LIST}\n{}",
                    port.name(),
                    details.trim()
                );
                findings.push(Finding::new(LIST, 0, what));
            }
        }
        findings
    }

    /// Entries whose tests pass, or are not there any more, wherever they were run.
    pub(super) fn outdated(&self, runs: &[Report]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for it in &self.list {
            let about: Vec<&Report> = runs.iter().filter(|run| it.is_about(run)).collect();
            for test in &it.tests {
                let key = (it.unit.clone(), test.clone());
                let found: Vec<(&Report, &Outcome)> = about
                    .iter()
                    .filter_map(|run| Some((*run, run.tests.get(&key)?)))
                    .collect();
                if let Some((run, _)) = found.iter().find(|(_, it)| **it == Outcome::Passed) {
                    let what = format!(
                        "{} {}, {} port: {}: {test} passes: take it out of {LIST}",
                        run.suite,
                        run.version,
                        run.port.name(),
                        it.unit
                    );
                    findings.push(Finding::new(LIST, 0, what));
                }
            }
        }
        findings
    }
}

/// Whether a name is one of those that are given, or none are.
fn has(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|it| it == name)
}

fn word(entry: &Value, name: &str) -> String {
    let word = entry.get(name).and_then(Value::as_str).unwrap_or_default();
    word.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(entry: &Value, name: &str) -> Vec<String> {
    let words = entry.get(name).and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "differences_test.rs"]
mod differences_test;
