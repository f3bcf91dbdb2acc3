//! Deliberate bugs: `cargo xtask sabotage` puts those of `sabotage/bugs` into a copy of the workspace, and has each hunted for.
//!
//! ```text
//! cargo xtask sabotage              what is found within a few seeds
//! cargo xtask sabotage --every      all of them
//! cargo xtask sabotage --release    the same, from an optimized build
//! cargo xtask sabotage --tests      what other tests than hunts find, one run of them for each bug
//! cargo xtask sabotage --page       what was found goes into docs/sabotage.md
//! cargo xtask sabotage --page-only  no hunt: the table goes into docs/sabotage.md
//! ```
//! `SABOTAGE=...` and the like choose bugs and checkers (sabotage/src/checker.rs).
//!
//! In:  the tree, the table. Out: findings about the table ([`findings`]), which need no build; hunts ([`run`]).
//!
//! Invariants:
//! - One build has all bugs, each behind a question.
//! - A checker that did not hunt is a failure: each pair of bug and checker in the table has a line in the report.

mod page;
mod plant;
mod table;
mod unit_tests;

use crate::planted::copy::{self, Changes};
use crate::planted::programs::{self, Program};
use crate::{finding::Finding, tree::Tree};
use page::PAGE;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};
use table::Bug;

const TABLE: &str = "sabotage/bugs/";

/// The bugs, in the order of files and lines.
fn bugs(tree: &Tree, findings: &mut Vec<Finding>) -> Vec<Bug> {
    let files = tree.ending(".txt").filter(|it| it.0.starts_with(TABLE));
    files
        .flat_map(|(path, text)| table::parse(path, text, findings))
        .collect()
}

/// What is wrong with the table: a bug that does not fit the code, has no checker, or is not on the page.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let bugs = bugs(tree, &mut findings);
    let mut names = BTreeSet::new();
    for bug in &bugs {
        if !names.insert(&bug.name) {
            findings.push(bug.finding("is there twice"));
        }
        if bug.name.is_empty() || bug.wrong.is_empty() || bug.places.is_empty() {
            findings.push(bug.finding("needs a name, `wrong` and `in`"));
        }
        let is_found = bug.checkers().next().is_some() || !bug.tests.is_empty();
        if is_found != bug.unfound.is_empty() {
            let what = "needs checkers (`quick`, `slow`) or `tests`, or else `unfound`";
            findings.push(bug.finding(what));
        }
        for (name, test) in bug.tests.iter().filter_map(|it| it.split_once('/')) {
            let (folder, function) = (format!("crates/{name}/"), format!("fn {test}("));
            let mut files = tree.ending(".rs").filter(|it| it.0.starts_with(&folder));
            if !files.any(|(_, text)| text.contains(&function)) {
                findings.push(bug.finding(format!("{name} has no test `{test}`")));
            }
        }
        for checker in bug.checkers() {
            let quoted = format!("\"{checker}\"");
            let is_there =
                |text: &str| text.contains("brickyard_sabotage") && text.contains(&quoted);
            if !tree.ending(".rs").any(|(_, text)| is_there(text)) {
                findings.push(bug.finding(format!("no test has a checker `{checker}`")));
            }
        }
    }
    plant::all(tree, &bugs, &mut findings);
    if let Some(text) = tree.text(PAGE)
        && page::update(text, &bugs, "") != text
    {
        let what = "does not show the table: `cargo xtask sabotage --page-only`";
        findings.push(Finding::new(PAGE, 0, what));
    }
    findings
}

/// The rule that each bug breaks: the file and line of the bug, and the rule's name.
pub(crate) fn rules(tree: &Tree) -> Vec<(String, usize, String)> {
    let bugs = bugs(tree, &mut Vec::new()).into_iter();
    let bugs = bugs.filter(|bug| !bug.rule.is_empty());
    bugs.map(|bug| (bug.file, bug.line, bug.rule)).collect()
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Also what is found with patience.
    pub is_every: bool,
    /// Optimized.
    pub is_release: bool,
    /// No hunts, but the other tests of crates.
    pub is_tests: bool,
    /// Write the page.
    pub is_page: bool,
    /// Hunt for nothing.
    pub is_page_only: bool,
}

impl Options {
    /// Reads arguments; `None`: there is one that this does not know.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--every" => options.is_every = true,
                "--release" => options.is_release = true,
                "--tests" => options.is_tests = true,
                "--page" => options.is_page = true,
                "--page-only" => options.is_page_only = true,
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Hunts. The findings are about the table, or name the bugs that were not found.
///
/// # Errors
/// If the copy cannot be written, or cargo not be run.
pub fn run(root: &Path, tree: &Tree, options: Options) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let bugs = bugs(tree, &mut findings);
    if options.is_page_only {
        write_page(root, &bugs, "")?;
        return Ok(findings);
    }
    findings.extend(self::findings(tree));
    if options.is_page {
        findings.retain(|it| it.path != PAGE);
    }
    if !findings.is_empty() {
        return Ok(findings);
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let (copy, built) = (target.join("sabotage/tree"), target.join("sabotage/build"));
    let changes = Changes {
        files: plant::all(tree, &bugs, &mut findings),
        list: question_list(&bugs),
    };
    copy::write(root, &copy, &changes)?;
    let profile = if options.is_release {
        "release"
    } else {
        "debug"
    };
    copy::share_built(&target.join(profile), &built.join(profile))?;
    let programs = build(&copy, &built, options.is_release, &bugs)?;
    if options.is_tests {
        return unit_tests::run(&programs, &bugs);
    }

    let report = target.join("sabotage/report");
    if report.exists() {
        fs::remove_file(&report)?;
    }
    let checkers = bugs.iter().flat_map(Bug::checkers);
    let checkers = checkers.filter(|it| is_named("SABOTAGE_CHECKER", it));
    let crates: BTreeSet<&str> = checkers.filter_map(|it| it.split('-').next()).collect();
    let mut failed = Vec::new();
    for name in crates {
        let mut hunt = program(&programs, name)?.command();
        hunt.args(["sabotage", "--ignored"]);
        if options.is_every {
            hunt.env("SABOTAGE_EVERY", "1");
        }
        let status = hunt.env("SABOTAGE_REPORT", &report).status()?;
        if !status.success() {
            failed.push(format!("the hunts of {name}: {status}"));
        }
    }
    let Ok(lines) = fs::read_to_string(&report) else {
        let what = format!("no checker has hunted; {}", failed.join(", "));
        return Ok(vec![Finding::new(TABLE, 0, what)]);
    };
    let mut findings = missed(&bugs, &lines, options.is_every);
    if findings.is_empty() {
        let failed = failed.into_iter();
        findings.extend(failed.map(|what| Finding::new(TABLE, 0, what)));
    }
    if options.is_page {
        write_page(root, &bugs, &lines)?;
    }
    Ok(findings)
}

/// The test programs of all crates that have bugs or look for them: always the same ones, so that nothing is built twice.
fn build(
    copy: &Path,
    built: &Path,
    is_release: bool,
    bugs: &[Bug],
) -> io::Result<BTreeMap<String, Program>> {
    let places = bugs.iter().flat_map(|bug| &bug.places);
    let changed = places.filter_map(|it| it.file.split('/').nth(1));
    let checkers = bugs.iter().flat_map(Bug::checkers);
    let tests = bugs.iter().flat_map(|bug| &bug.tests);
    let crates: BTreeSet<&str> = changed
        .chain(checkers.filter_map(|it| it.split('-').next()))
        .chain(tests.filter_map(|it| it.split('/').next()))
        .collect();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--lib", "--no-run"]);
    cargo.arg("--message-format=json-render-diagnostics");
    if is_release {
        cargo.arg("--release");
    }
    for name in crates {
        cargo.args(["--package".to_owned(), format!("brickyard-{name}")]);
    }
    cargo.env("CARGO_TARGET_DIR", built).current_dir(copy);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        let what = format!("the copy does not build: {}", output.status);
        return Err(io::Error::other(what));
    }
    let messages = programs::messages(&output.stdout);
    Ok(programs::programs(&messages, copy))
}

/// The tests of a crate.
fn program<'a>(programs: &'a BTreeMap<String, Program>, name: &str) -> io::Result<&'a Program> {
    let missing = || io::Error::other(format!("cargo has built no tests of {name}"));
    programs.get(name).ok_or_else(missing)
}

/// Whether the environment names it there, or nothing, or `all`.
fn is_named(variable: &str, name: &str) -> bool {
    let names = env::var(variable).unwrap_or_else(|_| "all".to_owned());
    names.split(',').any(|it| it == name || it == "all")
}

fn write_page(root: &Path, bugs: &[Bug], lines: &str) -> io::Result<()> {
    let path = root.join(PAGE);
    let text = fs::read_to_string(&path)?;
    fs::write(path, page::update(&text, bugs, lines))
}

/// The pairs of bug and checker that should have a success in the report and have none. Says how many have one.
fn missed(bugs: &[Bug], lines: &str, is_every: bool) -> Vec<Finding> {
    let report = page::parse(lines);
    let mut findings = Vec::new();
    let mut hunted: BTreeMap<&str, bool> = BTreeMap::new();
    for bug in bugs.iter().filter(|it| is_named("SABOTAGE", &it.name)) {
        let slow = if is_every || env::var_os("SABOTAGE").is_some() {
            bug.slow.as_slice()
        } else {
            &[]
        };
        for checker in bug.quick.iter().chain(slow) {
            if !is_named("SABOTAGE_CHECKER", checker) {
                continue;
            }
            let found = report
                .get(bug.name.as_str())
                .and_then(|it| it.get(checker.as_str()));
            let what = match found {
                Some(Some(_)) => None,
                Some(None) => Some(format!("{checker} did not find it")),
                None => Some(format!("{checker} did not hunt for it")),
            };
            *hunted.entry(&bug.name).or_insert(true) &= what.is_none();
            findings.extend(what.map(|it| bug.finding(it)));
        }
    }
    for bug in bugs {
        for (checker, median) in report.get(bug.name.as_str()).into_iter().flatten() {
            if let Some(seeds) = median
                && !bug.checkers().any(|it| it == *checker)
            {
                println!("{}: {checker} finds it too ({seeds})", bug.name);
            }
        }
    }
    let found = hunted.values().filter(|it| **it).count();
    let (hunted, all) = (hunted.len(), bugs.len());
    println!("deliberate bugs: {found} found of {hunted} hunted for; the table has {all}");
    findings
}

/// The list of bugs as Rust, for the copy.
fn question_list(bugs: &[Bug]) -> String {
    let mut out = String::from("&[\n");
    for bug in bugs {
        let Bug {
            name, quick, slow, ..
        } = bug;
        let _ = writeln!(
            out,
            "    Planted {{ name: {name:?}, quick: &{quick:?}, slow: &{slow:?} }},"
        );
    }
    out += "];";
    out
}

#[cfg(test)]
#[path = "sabotage_test.rs"]
mod sabotage_test;
