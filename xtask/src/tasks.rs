//! The contributor's map: every task, what it does, and when it is the one to use.
//!
//! In:  [`TASKS`]. Out: the text that `cargo xtask help` prints.
//!
//! A task that is added gets a line here; a test compares them with what `main` knows.

use std::fmt::Write;

/// Something to run.
struct Task {
    command: &'static str,
    what: &'static str,
    when: &'static str,
}

const fn task(command: &'static str, what: &'static str, when: &'static str) -> Task {
    Task {
        command,
        what,
        when,
    }
}

/// The tasks, by the question that leads to them.
const TASKS: &[(&str, &[Task])] = &[
    (
        "Change something",
        &[
            task(
                "cargo check -p brickyard-CRATE",
                "compiles one crate",
                "while you write",
            ),
            task(
                "cargo test -p brickyard-CRATE",
                "its tests",
                "before a commit",
            ),
            task(
                "cargo test --workspace",
                "all tests, as in CI",
                "before a pull request",
            ),
            task(
                ".ci/run",
                "all that CI runs: formats, lints, tests, bugs, fuzzing, seeds",
                "before a pull request that touches the protocol, the log or leases",
            ),
        ],
    ),
    (
        "Keep the crates in order",
        &[
            task(
                "cargo xtask tidy",
                "rules that no compiler knows: crates without IO, headers, dead files, unsafe",
                "a test of `xtask` fails and you want its findings alone",
            ),
            task(
                "cargo xtask arrows",
                "dependencies between crates point one way",
                "you add a dependency on another crate",
            ),
            task(
                "cargo xtask shape",
                "structs, import circles, lines, asserts, names, a SET's way: the table",
                "before and after you move code",
            ),
            task(
                "cargo xtask shape --check",
                "fails on a figure worse than in xtask/shape.toml",
                "a test of `xtask` fails and you want its findings alone",
            ),
            task(
                "cargo xtask shape --lower",
                "writes the limits that are lower now",
                "the check says that limits can be lower",
            ),
            task(
                "cargo xtask shape --circles",
                "the files of each import circle",
                "you want to take a circle apart",
            ),
            task(
                "cargo xtask shape --names",
                "the public type names that occur twice, and where",
                "you rename a type",
            ),
            task(
                "cargo xtask lengths",
                "files that have grown long (a report)",
                "you look for something to split",
            ),
        ],
    ),
    (
        "Try it out",
        &[
            task(
                "cargo run -p brickyard -- dev",
                "a cluster of three nodes on this machine",
                "you want to see a change work",
            ),
            task(
                "cargo run -p brickyard -- sim --first 1 --seeds 400",
                "whole clusters in virtual time, checked",
                "you change the protocol, the log or leases",
            ),
            task(
                "cargo run --release -p brickyard -- torture --minutes 5",
                "real processes under failures, checked",
                "the simulator finds nothing and you want to be sure",
            ),
            task(
                "cargo run --release -p brickyard-bench --bin peers",
                "speed beside Redis, Valkey and memcached",
                "you change what each request passes through",
            ),
            task(
                "cargo run -p brickyard-fuzz -- --seconds 60",
                "every decoder on any bytes",
                "you change a decoder",
            ),
        ],
    ),
    (
        "Prepare and record",
        &[
            task(
                ".ci/clients",
                "fetches stock clients, in pinned versions, below target/",
                "a test says `skipped:` and names this command",
            ),
            task(
                "cargo xtask sabotage",
                "has every deliberate bug hunted for; `--page` writes docs/sabotage.md",
                "you add a deliberate bug, or change a rule of the protocol, the log or leases",
            ),
            task(
                "cargo xtask mutants",
                "makes small errors by rule and names those that no test notices (docs/mutants.md)",
                "you want to know what the tests of a file are worth: `--file store/src/append.rs`",
            ),
            task(
                "cargo xtask suites FOLDER",
                "runs the tests of Redis's or Valkey's source in FOLDER against our ports (docs/suites.md)",
                "you change what a command answers",
            ),
        ],
    ),
];

/// The map.
#[must_use]
pub fn map() -> String {
    let mut out = String::from(
        "usage: cargo xtask TASK\n\nEvery task of a contributor, those of cargo and of the program too:\n",
    );
    for (question, tasks) in TASKS {
        let _ = write!(out, "\n{question}\n");
        for Task {
            command,
            what,
            when,
        } in *tasks
        {
            let _ = write!(out, "  {command}\n      {what}.\n      When: {when}.\n");
        }
    }
    out
}

#[cfg(test)]
#[path = "tasks_test.rs"]
mod tasks_test;
