//! Bugs that no hunt finds and other tests do: the tests of a crate are run with one bug on in all of their threads.
//!
//! In:  bugs with `tests`, or those that `SABOTAGE` names, which every crate that they change is tried for. Out: findings
//! about those whose tests pass.

use super::table::Bug;
use super::{TABLE, is_named, program};
use crate::finding::Finding;
use crate::planted::patience;
use crate::planted::programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{env, io};

/// Tests that take longer hang, which is noticed too.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(programs: &BTreeMap<String, Program>, bugs: &[Bug]) -> io::Result<Vec<Finding>> {
    let is_asked = env::var_os("SABOTAGE").is_some();
    let bugs = bugs.iter().filter(|it| is_named("SABOTAGE", &it.name));
    let pairs: Vec<(&Bug, String)> = bugs
        .flat_map(|bug| {
            let changed = bug.places.iter().filter_map(|it| it.file.split('/').nth(1));
            let changed = changed.filter(|_| is_asked).map(str::to_owned);
            let tests: BTreeSet<String> = changed.chain(bug.tests.iter().cloned()).collect();
            tests.into_iter().map(move |tests| (bug, tests))
        })
        .collect();
    let crates: BTreeSet<&str> = pairs.iter().map(|it| parts(&it.1).0).collect();
    // Tests that fail without a bug say nothing about one.
    for name in crates {
        if with(program(programs, name)?, "", "")?.is_none_or(|it| !it.success()) {
            let what = format!("the tests of {name} fail without a bug");
            return Ok(vec![Finding::new(TABLE, 0, what)]);
        }
    }
    let mut findings = Vec::new();
    for (bug, tests) in pairs {
        let (name, test) = parts(&tests);
        let status = with(program(programs, name)?, &bug.name, test)?;
        let is_found = status.is_none_or(|it| !it.success());
        let told = if is_found { "fail" } else { "pass" };
        println!("{}: the tests of {tests} {told}", bug.name);
        if !is_found && bug.tests.contains(&tests) {
            findings.push(bug.finding(format!("the tests of {tests} do not find it")));
        }
    }
    Ok(findings)
}

/// A crate, and the test of it that is meant; all of them if none is named.
fn parts(tests: &str) -> (&str, &str) {
    tests.split_once('/').unwrap_or((tests, ""))
}

/// Runs tests with a bug on; `None`: they hang.
fn with(program: &Program, bug: &str, test: &str) -> io::Result<Option<ExitStatus>> {
    let mut command = program.command();
    command.arg(test).env("SABOTAGE_ON", bug);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    patience::groups(&mut command);
    patience::wait(command.spawn()?, PATIENCE)
}
