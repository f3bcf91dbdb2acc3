//! Tests with a mutant on.
//!
//! In:  the test programs, the mutants. Out: who noticed each, if anybody.
//!
//! Invariants:
//! - A mutant survives if all who judge its crate pass: its own tests, those of crates that use it, the simulator's.
//! - A program that hangs, or takes all memory, has noticed.

use super::build::{Built, Program};
use super::crates::Judges;
use super::find::Mutant;
use crate::planted::patience;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is no Rust.
    LeftOut,
    /// Tests of this crate failed.
    Caught(String),
    /// Tests of this crate did not end.
    TimedOut(String),
    Survived,
}

/// Tests may take so many times as long as without a mutant, and so much more.
const PATIENCE_TIMES: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(20);

/// What a test program may have, in KiB of addresses.
const MEMORY_MAX: &str = "8000000";

/// Tries all of them, on all processors.
pub(super) fn run(built: &Built, mutants: &[Mutant], judges: Judges) -> io::Result<Vec<Outcome>> {
    let crates: BTreeSet<&str> = mutants.iter().map(Mutant::krate).collect();
    let mut patience = BTreeMap::new();
    for name in judges.of_all(&crates) {
        let begun = Instant::now();
        let missing = || io::Error::other(format!("no test program of {name}"));
        let program = built.programs.get(name).ok_or_else(missing)?;
        if run_tests(program, "", Duration::MAX)? != Verdict::Passed {
            return Err(io::Error::other(format!(
                "the tests of {name} fail without a mutant: {}",
                program.path.display()
            )));
        }
        let took = begun.elapsed();
        println!("tests of {name}: {:.1} s", took.as_secs_f64());
        patience.insert(name, took * PATIENCE_TIMES + PATIENCE);
    }
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Outcome::LeftOut; mutants.len()]);
    let work = || -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(mutant) = mutants.get(number) else {
                return Ok(());
            };
            if built.left_out.contains(&mutant.name) {
                continue;
            }
            let outcome = judge(built, mutant, judges, &patience)?;
            println!("{number}/{} {outcome:?}: {mutant}", mutants.len());
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes[number] = outcome;
            }
        }
    };
    let count = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|it| {
            let panicked = |_| Err(io::Error::other("a worker panicked"));
            it.join().unwrap_or_else(panicked)
        });
        ended.collect::<io::Result<()>>()
    })?;
    outcomes
        .into_inner()
        .map_err(|_| io::Error::other("a worker panicked"))
}

fn judge(
    built: &Built,
    mutant: &Mutant,
    judges: Judges,
    patience: &BTreeMap<&str, Duration>,
) -> io::Result<Outcome> {
    for name in judges.of(mutant.krate()) {
        let verdict = run_tests(&built.programs[*name], &mutant.name, patience[name])?;
        match verdict {
            Verdict::Passed => {}
            Verdict::Failed => return Ok(Outcome::Caught((*name).to_owned())),
            Verdict::Hung => return Ok(Outcome::TimedOut((*name).to_owned())),
        }
    }
    Ok(Outcome::Survived)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Hung,
}

/// Runs a test program with a mutant on, up to the first failure.
fn run_tests(program: &Program, mutant: &str, patience: Duration) -> io::Result<Verdict> {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY_MAX}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(&program.path);
    command.arg("--test-threads=2").env("SABOTAGE_ON", mutant);
    command.current_dir(&program.folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    patience::groups(&mut command);
    let mut child = command.spawn()?;
    let (group, output) = (child.id(), child.stdout.take());
    let reader = thread::spawn(move || -> io::Result<bool> {
        for line in output.into_iter().flat_map(|it| BufReader::new(it).lines()) {
            if line.is_ok_and(|it| it.ends_with("... FAILED")) {
                patience::end(group)?;
                return Ok(true);
            }
        }
        Ok(false)
    });
    let status = patience::wait(child, patience)?;
    let has_failed = reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("a reader panicked")))?;
    Ok(match status {
        Some(status) if status.success() && !has_failed => Verdict::Passed,
        None if !has_failed => Verdict::Hung,
        _ => Verdict::Failed,
    })
}
