//! Tests with a mutant on.
//!
//! In:  the test programs, the mutants. Out: the test that noticed each, if any.
//!
//! Invariants:
//! - A mutant survives if all who judge its crate pass: its own tests, the simulator, tests of crates that use it.
//! - A program that hangs, or takes all memory, has noticed.

use super::build::Built;
use super::crates::{Judge, Judges};
use super::find::Mutant;
use super::results::{Known, Results};
use crate::planted::patience;
use crate::planted::programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is no Rust.
    LeftOut,
    /// Tests of this name failed.
    Caught(String),
    /// Tests of this name did not end.
    TimedOut(String),
    Survived,
}

/// Tests may take so many times the processor's time that they take without a mutant, and so much more. How busy the machine
/// is does not matter.
const PATIENCE_TIMES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(5);

/// And so many times that by the clock: whoever waits takes no processor's time.
const WAITING_TIMES: u32 = 6;

/// What a test program may have, in KiB of addresses.
const MEMORY_MAX: &str = "8000000";

/// Tries these, so many at a time, and notes what became of each.
pub(super) fn run(
    built: &Built,
    mutants: &[&Mutant],
    judges: Judges,
    jobs: usize,
    results: &Results,
) -> io::Result<()> {
    let crates: BTreeSet<&str> = mutants.iter().map(|it| it.krate()).collect();
    let mut patience = BTreeMap::new();
    for judge in judges.of_all(&crates) {
        let begun = processor_time()?;
        let Judge { name, krate, .. } = judge;
        let missing = || io::Error::other(format!("no test program of {krate}"));
        let program = built.programs.get(krate).ok_or_else(missing)?;
        if run_tests(program, judge, "", NEVER)? != Verdict::Passed {
            return Err(io::Error::other(format!(
                "the tests of {name} fail without a mutant: {}",
                program.path.display()
            )));
        }
        let took = processor_time()?.saturating_sub(begun);
        println!(
            "tests of {name}: {:.1} s of a processor",
            took.as_secs_f64()
        );
        patience.insert(name, took * PATIENCE_TIMES + PATIENCE);
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(mutant) = mutants.get(number) else {
                return Ok(());
            };
            if built.left_out.contains(&mutant.name) {
                continue;
            }
            let begun = Instant::now();
            let known = judge(built, mutant, judges, &patience, results)?;
            let took = begun.elapsed().as_secs_f64();
            println!("{number}/{} {took:.1} s {known:?}: {mutant}", mutants.len());
            results.note(mutant, &known)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|it| {
            let panicked = |_| Err(io::Error::other("a worker panicked"));
            it.join().unwrap_or_else(panicked)
        });
        ended.collect::<io::Result<()>>()
    })
}

fn judge(
    built: &Built,
    mutant: &Mutant,
    judges: Judges,
    patience: &BTreeMap<&str, Duration>,
    results: &Results,
) -> io::Result<Known> {
    let mut passed = results.passed(mutant);
    for judge in judges.of(mutant.krate()) {
        if passed.contains(judge.name) {
            continue;
        }
        let program = &built.programs[judge.krate];
        match run_tests(program, judge, &mutant.name, patience[judge.name])? {
            Verdict::Passed => drop(passed.insert(judge.name.to_owned())),
            Verdict::Failed => return Ok(Known::Caught(judge.name.to_owned())),
            Verdict::Hung => return Ok(Known::TimedOut(judge.name.to_owned())),
        }
    }
    Ok(Known::Passed(passed))
}

/// A day.
const NEVER: Duration = Duration::from_secs(86_400);

/// `SIGXCPU`: its processor's time is over.
const OUT_OF_TIME: i32 = 24;

/// What the programs that have ended took of processors.
fn processor_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may have blanks: the 16th and 17th of all, in hundredths of a second.
    let fields = stat.rsplit_once(") ").map_or("", |it| it.1);
    let fields = fields.split(' ').skip(13).take(2);
    let ticks: u64 = fields.filter_map(|it| it.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Hung,
}

/// Runs tests with a mutant on, up to the first failure.
fn run_tests(
    program: &Program,
    judge: Judge,
    mutant: &str,
    patience: Duration,
) -> io::Result<Verdict> {
    let mut command = Command::new("sh");
    let seconds = patience.as_secs();
    let script = format!("ulimit -v {MEMORY_MAX}; ulimit -t {seconds}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(&program.path);
    command.args(["--test-threads=2", judge.filter]);
    command.env("SABOTAGE_ON", mutant);
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
    let status = patience::wait(child, patience.saturating_mul(WAITING_TIMES))?;
    let has_failed = reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("a reader panicked")))?;
    Ok(match status {
        Some(status) if status.success() && !has_failed => Verdict::Passed,
        None if !has_failed => Verdict::Hung,
        Some(status) if status.signal() == Some(OUT_OF_TIME) => Verdict::Hung,
        _ => Verdict::Failed,
    })
}
