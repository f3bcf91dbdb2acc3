//! `brickyard sim`: whole clusters in virtual time, by the thousand, and what was wrong in any of them.
//!
//! In:  which seeds, for how long. Out: a progress bar, seeds a second and simulated hours; of a seed that fails the
//! shortest schedule that fails, as a transcript. The work is in `brickyard-sim`.

use crate::exit;
use anyhow::Context as _;
use brickyard_sim::{Coverage, Outcome, Plan, cover, plan_of, run as run_seed, shrink, tell};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Runs that shrinking a seed may take.
const SHRINK_RUNS_MAX: usize = 400;

/// Failing seeds after which no more are begun.
const FAILED_MAX: usize = 20;

const EXAMPLES: &str = "\
Examples:
  brickyard sim --seeds 1000            seeds 1 to 1000, on all processors
  brickyard sim --first 5000 --minutes 10   from seed 5000 on, for ten minutes
  brickyard sim --seed 44               one seed; if it fails, its story
  brickyard sim --seeds 1000 --coverage     and which transitions of the protocol they came through

A seed is a cluster, its clients and everything that goes wrong; two runs of one seed are the same. docs/simulator.md
tells what is simulated and how to read a transcript. Exit code 4: something was wrong.";

/// What `brickyard sim` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "seed")]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "seed")]
    first: u64,
    /// This seed alone
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Tell the seed's whole story, also if nothing is wrong
    #[arg(long, requires = "seed")]
    story: bool,
    /// Begin no more seeds after so long, and do not stop before
    #[arg(long, value_name = "N", conflicts_with_all = ["seed", "seeds"])]
    minutes: Option<f64>,
    /// Show which transitions of the protocol were come through, and which never
    #[arg(long, conflicts_with_all = ["seed", "json"])]
    coverage: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What came of many seeds.
#[derive(Debug, Default, Serialize)]
struct Report {
    seeds: u64,
    failed: Vec<Failed>,
    seconds: f64,
    seeds_per_second: f64,
    simulated_hours: f64,
    events: u64,
    requests_served: u64,
    /// Faults, and what else was counted.
    counts: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    coverage: Coverage,
}

#[derive(Debug, Serialize)]
struct Failed {
    seed: u64,
    violation: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // A panic inside of a run is one of the things that can be wrong with it, and is told as such.
    std::panic::set_hook(Box::new(|_| {}));
    let report = match arguments.seed {
        Some(seed) => one(seed, arguments)?,
        None => many(arguments)?,
    };
    if arguments.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        summarize(&report);
    }
    if arguments.coverage {
        show_coverage(&report.coverage);
    }
    Ok(if report.failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::NOT_WHOLE)
    })
}

fn one(seed: u64, arguments: &Arguments) -> anyhow::Result<Report> {
    let started = Instant::now();
    let plan = plan_of(seed);
    let outcome = if arguments.story {
        let (outcome, story) = tell(seed, plan);
        println!("{}", story.join("\n"));
        outcome
    } else {
        run_seed(seed)
    };
    let mut report = Report::default();
    report.add(outcome);
    report.end(started.elapsed());
    if !arguments.json && !arguments.story && !report.failed.is_empty() {
        tell_shortest(seed);
    }
    Ok(report)
}

fn many(arguments: &Arguments) -> anyhow::Result<Report> {
    let started = Instant::now();
    let limit = arguments
        .minutes
        .map(|it| Duration::from_secs_f64(it * 60.0));
    let count = if limit.is_some() {
        u64::MAX
    } else {
        arguments.seeds
    };
    let end = arguments.first.saturating_add(count);
    let next = AtomicU64::new(arguments.first);
    let report = Mutex::new(Report::default());
    let bar = bar(limit, arguments)?;
    let has_failed_enough = || lock(&report).failed.len() >= FAILED_MAX;
    let work = || {
        loop {
            let is_late = limit.is_some_and(|limit| started.elapsed() >= limit);
            let seed = next.fetch_add(1, Relaxed);
            if seed >= end || is_late || has_failed_enough() {
                return;
            }
            let (outcome, coverage) = if arguments.coverage {
                cover(seed)
            } else {
                (run_seed(seed), Coverage::default())
            };
            if let Some(violation) = &outcome.violation {
                let first = violation.lines().next().unwrap_or_default().to_owned();
                bar.suspend(|| eprintln!("seed {seed}: {first}"));
            }
            let mut report = lock(&report);
            report.coverage.add(&coverage);
            report.add(outcome);
            drop(report);
            match limit {
                Some(_) => bar.set_position(started.elapsed().as_secs()),
                None => bar.inc(1),
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut report = report.into_inner().unwrap_or_else(|it| it.into_inner());
    report.failed.sort_by_key(|failed| failed.seed);
    report.end(started.elapsed());
    if !arguments.json
        && let Some(failed) = report.failed.first()
    {
        tell_shortest(failed.seed);
    }
    Ok(report)
}

fn lock(report: &Mutex<Report>) -> std::sync::MutexGuard<'_, Report> {
    // A thread that panicked has ended the program.
    report
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn bar(limit: Option<Duration>, arguments: &Arguments) -> anyhow::Result<ProgressBar> {
    let (length, unit) = match limit {
        Some(limit) => (limit.as_secs(), "s"),
        None => (arguments.seeds, "seeds"),
    };
    let bar = ProgressBar::new(length);
    let style = format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{elapsed}} so far, {{eta}} to go");
    let style = ProgressStyle::with_template(&style);
    bar.set_style(style.context("the progress bar's template")?);
    Ok(bar)
}

impl Report {
    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.simulated_hours += outcome.length as f64 / 3.6e12;
        self.events += outcome.events;
        self.requests_served += outcome.served;
        for (what, count) in outcome.counts {
            *self.counts.entry(what).or_insert(0) += count;
        }
        if let Some(violation) = outcome.violation {
            self.failed.push(Failed {
                seed: outcome.seed,
                violation,
            });
        }
    }

    fn end(&mut self, took: Duration) {
        self.seconds = took.as_secs_f64();
        self.seeds_per_second = self.seeds as f64 / self.seconds.max(1e-9);
    }
}

/// The shortest schedule with which a seed still fails, and everything that happens in it.
fn tell_shortest(seed: u64) {
    let Some(shrunk) = shrink(seed, plan_of(seed), SHRINK_RUNS_MAX) else {
        return;
    };
    let plan: Plan = shrunk.plan;
    let (_, story) = tell(seed, plan.clone());
    println!("{}\n", story.join("\n"));
    println!(
        "Seed {seed}, made shorter in {} runs. Schedule: {plan}",
        shrunk.runs
    );
    println!("{}", shrunk.violation);
}

fn show_coverage(coverage: &Coverage) {
    println!("\n{coverage}");
    for (table, event, state) in coverage.unreached() {
        println!("never: {table} {state}: {event}");
    }
}

fn summarize(report: &Report) {
    println!(
        "{} seeds in {:.1} s: {:.1} seeds/s, {:.1} simulated hours, {} events, {} requests served",
        report.seeds,
        report.seconds,
        report.seeds_per_second,
        report.simulated_hours,
        report.events,
        report.requests_served
    );
    let counts = report.counts.iter();
    let counts: Vec<String> = counts
        .map(|(what, count)| format!("{what} {count}"))
        .collect();
    println!("What happened: {}", counts.join(", "));
    match report.failed.len() {
        0 => println!("Nothing was wrong."),
        failed => {
            let seeds = report.failed.iter().map(|failed| failed.seed.to_string());
            let seeds: Vec<String> = seeds.collect();
            println!("{failed} failed: seeds {}", seeds.join(", "));
        }
    }
}
