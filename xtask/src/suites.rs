//! The suites of others: `cargo xtask suites FOLDER ...` runs the tests of Redis and Valkey, in Tcl, against our ports.
//!
//! ```text
//! cargo xtask suites redis-7.2.6 valkey-9.1.2     sources of a release each, unpacked somewhere
//! cargo xtask suites redis-7.2.6 --ports brick    one of the kinds of port: node, cluster, brick
//! cargo xtask suites redis-7.2.6 --unit unit/scan one unit; may be said several times
//! cargo xtask suites redis-7.2.6 --program P      this program, and not target/debug/brickyard
//! cargo xtask suites redis-7.2.6 --page           the figures go into docs/suites.md
//! ```
//!
//! In:  their sources, xtask/suites.toml (what fails, or is not run, and why). Out: failures that have no reason there, and
//! reasons of tests that pass; findings about the page, which need no run ([`findings`]).
//!
//! Invariants:
//! - Nothing of theirs is in this repository: their tests run in a copy below `target/suites`.
//! - A test that fails for a reason runs all the same, unless it would take the rest of its unit with it.

mod differences;
mod output;
mod page;
mod servers;
mod unit;

use crate::{finding::Finding, tree::Tree};
use differences::{Differences, LIST};
use output::Report;
use page::{Figures, PAGE};
use servers::Servers;
use std::path::{Path, PathBuf};
use std::{fs, io};
use unit::Suite;

pub use servers::Port;

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where the suites' sources are.
    pub folders: Vec<PathBuf>,
    /// Against these kinds of port; none: all.
    pub ports: Vec<Port>,
    /// These units alone.
    pub units: Vec<String>,
    /// The program under test, if it is not the debug build.
    pub program: Option<PathBuf>,
    /// Write the page.
    pub is_page: bool,
}

impl Options {
    /// Reads arguments; `None`: there is one that this does not know, or no folder.
    pub fn parse<'a>(mut arguments: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument {
                "--ports" => {
                    for name in arguments.next()?.split(',') {
                        options.ports.push(Port::named(name)?);
                    }
                }
                "--unit" => options.units.push(arguments.next()?.to_owned()),
                "--program" => options.program = Some(arguments.next()?.into()),
                "--page" => options.is_page = true,
                folder if !folder.starts_with('-') => options.folders.push(folder.into()),
                _ => return None,
            }
        }
        if options.ports.is_empty() {
            options.ports = Port::ALL.to_vec();
        }
        (!options.folders.is_empty()).then_some(options)
    }

    /// A page says what whole runs have found.
    fn is_whole(&self) -> bool {
        self.units.is_empty()
    }
}

/// Runs them.
///
/// # Errors
/// If a suite cannot be copied, or a server does not start.
pub fn run(root: &Path, tree: &Tree, options: &Options) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let differences = Differences::read(tree, &mut findings);
    let default = root.join("target/debug/brickyard");
    let program = options.program.clone().unwrap_or(default);
    if !program.is_file() {
        let path = program.display();
        return Err(io::Error::other(format!(
            "there is no {path}: cargo build -p brickyard"
        )));
    }
    let scratch = root.join("target/suites");
    let mut figures = Vec::new();
    let mut runs = Vec::new();
    for folder in &options.folders {
        let suite = Suite::copy(folder, &scratch)?;
        for &port in &options.ports {
            let report = run_suite(&suite, port, &program, &scratch, options, &differences)?;
            findings.extend(differences.unlisted(&report));
            figures.push(Figures::of(&report, &differences));
            runs.push(report);
        }
    }
    if options.is_whole() {
        findings.extend(differences.outdated(&runs));
    }
    for it in &figures {
        println!("{it}");
    }
    if options.is_page && options.is_whole() {
        let page = tree.text(PAGE).unwrap_or_default();
        fs::write(root.join(PAGE), page::update(page, &figures, &differences))?;
    }
    Ok(findings)
}

/// One suite against one kind of port.
fn run_suite(
    suite: &Suite,
    port: Port,
    program: &Path,
    scratch: &Path,
    options: &Options,
    differences: &Differences,
) -> io::Result<Report> {
    let mut report = Report::new(suite, port);
    let mut servers = Servers::start(program, port, scratch)?;
    for unit in &suite.units {
        let is_wanted = options.units.is_empty() || options.units.contains(unit);
        if !is_wanted || differences.leaves_out(unit, port) {
            continue;
        }
        let skipped = differences.skipped(&report, unit);
        let output = suite.run(unit, port, servers.port(), &skipped)?;
        let log = scratch.join(format!(
            "{}-{}-{}.log",
            suite.title(),
            port.name(),
            unit.replace('/', "-")
        ));
        fs::write(&log, &output)?;
        let count = report.add(unit, &output);
        println!("{} {}: {unit}: {count}", suite.title(), port.name());
        if !servers.are_up() {
            // A server that ends is found here, by its unit, and the units after it get a new one.
            report.ended(unit, &log);
            drop(servers);
            servers = Servers::start(program, port, scratch)?;
        }
    }
    Ok(report)
}

/// What is wrong with the list or the page, without a run.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let differences = Differences::read(tree, &mut findings);
    let page = tree.text(PAGE).unwrap_or_default();
    let current = page::update(page, &[], &differences);
    if !page.is_empty() && current != page {
        let what = format!(
            "has other differences than {LIST}: BRICKYARD_REFRESH=1 cargo test -p xtask suites"
        );
        findings.push(Finding::new(PAGE, 0, what));
    }
    findings
}

#[cfg(test)]
#[path = "suites_test.rs"]
mod suites_test;
