//! Bugs that no hunt finds and other tests do: the tests of a crate are run with one bug on in all of their threads.
//!
//! In:  bugs with `tests`, or those that `SABOTAGE` names, which every crate that they change is tried for. Out: findings
//! about those whose tests pass.

use super::table::Bug;
use super::{TABLE, is_named};
use crate::finding::Finding;
use crate::planted::patience;
use std::collections::BTreeSet;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, io};

/// Tests that take longer hang, which is noticed too.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(cargo: impl Fn() -> Command, bugs: &[Bug]) -> io::Result<Vec<Finding>> {
    let is_asked = env::var_os("SABOTAGE").is_some();
    let bugs = bugs.iter().filter(|it| is_named("SABOTAGE", &it.name));
    let pairs: Vec<(&Bug, String)> = bugs
        .flat_map(|bug| {
            let changed = bug.places.iter().filter_map(|it| it.file.split('/').nth(1));
            let changed = changed.filter(|_| is_asked).map(str::to_owned);
            let tests: BTreeSet<String> = changed.chain(bug.tests.iter().cloned()).collect();
            tests.into_iter().map(move |name| (bug, name))
        })
        .collect();
    let package = |name: &str| ["--package".to_owned(), format!("brickyard-{name}")];
    let arguments = |tests: &str| {
        let (name, test) = tests.split_once('/').unwrap_or((tests, ""));
        let test = Some(test.to_owned()).filter(|it| !it.is_empty());
        package(name).into_iter().chain(test).collect::<Vec<_>>()
    };
    let crates: BTreeSet<&str> = pairs
        .iter()
        .filter_map(|it| it.1.split('/').next())
        .collect();
    let packages = crates.iter().flat_map(|it| package(it));
    let built = cargo().arg("--no-run").args(packages).status()?;
    if !built.success() {
        let what = format!("the tests were not built: {built}");
        return Ok(vec![Finding::new(TABLE, 0, what)]);
    }
    // Tests that fail without a bug say nothing about one.
    for name in crates {
        if with(&cargo, "", &package(name))?.is_none_or(|it| !it.success()) {
            let what = format!("the tests of {name} fail without a bug");
            return Ok(vec![Finding::new(TABLE, 0, what)]);
        }
    }
    let mut findings = Vec::new();
    for (bug, name) in pairs {
        let is_found = with(&cargo, &bug.name, &arguments(&name))?.is_none_or(|it| !it.success());
        let told = if is_found { "fail" } else { "pass" };
        println!("{}: the tests of {name} {told}", bug.name);
        if !is_found && bug.tests.contains(&name) {
            findings.push(bug.finding(format!("the tests of {name} do not find it")));
        }
    }
    Ok(findings)
}

/// Runs tests with a bug on; `None`: they hang.
fn with(
    cargo: impl Fn() -> Command,
    bug: &str,
    package: &[String],
) -> io::Result<Option<ExitStatus>> {
    let mut cargo = cargo();
    cargo.args(package).env("SABOTAGE_ON", bug);
    cargo.stdout(Stdio::null()).stderr(Stdio::null());
    patience::groups(&mut cargo);
    patience::wait(cargo.spawn()?, PATIENCE)
}
