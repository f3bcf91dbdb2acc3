//! All experiments that were chosen, one after the other; resumable.
//!
//! In:  [`Settings`], experiments, a flag that ends it. Out: files an experiment, the page, and what came of it.
//!
//! Invariants:
//! - The record is written last: an experiment with a record is done. One that was interrupted or failed leaves what there was before.
//! - What is there is not measured again, unless it is asked for, or was a quick run and this is none.

use crate::all::list;
use crate::data::Data;
use crate::experiment::Experiment;
use crate::page::{Part, State, render, verdict};
use crate::peers::infinispan;
use crate::plot::{self, plot};
use crate::progress::Progress;
use crate::record::Record;
use crate::run::{Limits, Run};
use anyhow::Context as _;
use brickyard_bench::machine::Machine;
use brickyard_bench::peer::{Found, Peer, version_of};
use brickyard_bench::process::{CLIENT_CORE, pin, unpin};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What an hour's run is planned for.
const HOUR: Duration = Duration::from_secs(3_600);
/// A quick run takes about so long for each experiment.
const QUICK: Duration = Duration::from_secs(5);
/// Where Maven puts what it fetches.
const JAVA: &str = "java";
const PAGE: &str = "experiments.html";

/// How a run is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that serves.
    pub program: PathBuf,
    /// Where results go.
    pub out: PathBuf,
    /// Seconds an experiment, to see that all works.
    pub is_quick: bool,
    /// How long all 22 may take together; those that are chosen have their shares of it.
    pub budget: Duration,
    /// Measure also what is there.
    pub again: bool,
    /// Have Maven fetch what peers in Java need, unless it is there.
    pub is_fetching: bool,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Measured now, each with its verdict.
    pub measured: Vec<(String, String)>,
    /// Measured before.
    pub kept: Vec<String>,
    /// Failed, each with why.
    pub failed: Vec<(String, String)>,
    /// Whether it was ended before its end.
    pub is_interrupted: bool,
    /// The page.
    pub page: PathBuf,
}

/// Runs what was chosen, and writes the page of all that is there.
///
/// # Errors
/// If the directory cannot be written to, or the program cannot be run. An experiment that fails is told in [`Finished`].
pub fn run(
    settings: &Settings,
    chosen: &[&'static Experiment],
    is_over: &AtomicBool,
) -> anyhow::Result<Finished> {
    fs::create_dir_all(&settings.out)
        .with_context(|| format!("cannot make {}", settings.out.display()))?;
    let program = Found {
        peer: Peer::Brickyard,
        version: version_of(&settings.program)?,
        program: settings.program.clone(),
    };
    if settings.is_fetching {
        infinispan::fetch(&settings.out.join(JAVA))?;
    }
    let mut finished = Finished::default();
    let (kept, left): (Vec<_>, Vec<_>) = chosen
        .iter()
        .copied()
        .partition(|it| !settings.again && is_done(settings, it));
    finished.kept = kept.iter().map(|it| it.name()).collect();
    let progress = Progress::new(left.iter().map(|it| settings.time_of(it)).sum());
    for experiment in left {
        progress.begin(experiment.name(), settings.time_of(experiment));
        let result = one(settings, &program, experiment, &progress, is_over);
        if is_over.load(Ordering::Relaxed) {
            finished.is_interrupted = true;
            break;
        }
        let (name, title) = (experiment.name(), experiment.title);
        match result {
            Ok(verdict) => {
                progress.line(&format!("{name:>3}  {title}: {verdict}"));
                finished.measured.push((name, verdict));
            }
            Err(error) => {
                progress.line(&format!("{name:>3}  {title}: failed: {error:#}"));
                finished.failed.push((name, format!("{error:#}")));
            }
        }
        // After each: whoever looks meanwhile sees what there is.
        page(&settings.out)?;
    }
    progress.end();
    finished.page = page(&settings.out)?;
    Ok(finished)
}

impl Settings {
    fn time_of(&self, experiment: &Experiment) -> Duration {
        if self.is_quick {
            return QUICK;
        }
        let minutes = Duration::from_secs_f64(experiment.minutes * 60.0);
        minutes.mul_f64(self.budget.as_secs_f64() / HOUR.as_secs_f64())
    }
}

/// The files of an experiment.
struct Files {
    data: PathBuf,
    record: PathBuf,
    drawing: PathBuf,
}

impl Files {
    fn of(out: &Path, experiment: &Experiment) -> Self {
        let file = |kind: &str| out.join(format!("{}.{kind}", experiment.stem()));
        Self {
            data: file("csv"),
            record: file("json"),
            drawing: file("svg"),
        }
    }
}

fn is_done(settings: &Settings, experiment: &Experiment) -> bool {
    let files = Files::of(&settings.out, experiment);
    let record = Record::read(&files.record);
    record.is_ok_and(|it| !it.is_quick || settings.is_quick) && Data::read(&files.data).is_ok()
}

fn one(
    settings: &Settings,
    program: &Found,
    experiment: &Experiment,
    progress: &Progress,
    is_over: &AtomicBool,
) -> anyhow::Result<String> {
    let begin = Instant::now();
    // Where results go, since the file system matters for what is on disk.
    let dir = tempfile::Builder::new()
        .prefix(&format!("{}-", experiment.stem()))
        .tempdir_in(&settings.out)
        .context("cannot make a directory for the servers' data")?;
    let limits = Limits {
        is_quick: settings.is_quick,
        time: settings.time_of(experiment),
    };
    let java = settings.out.join(JAVA);
    let run = Run::new(program, dir.path(), &java, limits, progress, is_over);
    pin(CLIENT_CORE)?;
    let data = (experiment.measure)(&run);
    unpin()?;
    let data = data?;
    let files = Files::of(&settings.out, experiment);
    // Without its record it is not done, should this end here.
    drop(fs::remove_file(&files.record));
    data.write(&files.data)?;
    let judgement = (experiment.judge)(&data);
    let svg = plot(&judgement.figures)?;
    if !svg.is_empty() {
        fs::write(&files.drawing, alone(&svg))
            .with_context(|| format!("cannot write {}", files.drawing.display()))?;
    }
    let (peers, missing) = run.into_peers();
    let record = Record {
        experiment: experiment.name(),
        machine: Machine::here(dir.path()),
        program: program.version.clone(),
        commit: commit(),
        is_quick: settings.is_quick,
        seconds: begin.elapsed().as_secs_f64(),
        rounds: data.rounds(),
        peers,
        missing,
    };
    record.write(&files.record)?;
    Ok(verdict(experiment, &judgement))
}

/// A drawing that stands alone brings its colours along.
fn alone(svg: &str) -> String {
    match svg.find('>') {
        Some(end) => format!(
            "{}<style>{}</style>{}",
            &svg[..=end],
            plot::STYLE,
            &svg[end + 1..]
        ),
        None => svg.to_owned(),
    }
}

/// Writes the page of all that is in a directory, and says where it is.
///
/// # Errors
/// If it cannot be written.
pub fn page(out: &Path) -> anyhow::Result<PathBuf> {
    let parts: Vec<Part> = list()
        .iter()
        .map(|experiment| {
            Ok(Part {
                experiment,
                state: state(out, experiment)?,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    let path = out.join(PAGE);
    fs::write(&path, render(&parts)).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// What an experiment has left.
fn state(out: &Path, experiment: &'static Experiment) -> anyhow::Result<State> {
    let files = Files::of(out, experiment);
    let (Ok(record), Ok(data)) = (Record::read(&files.record), Data::read(&files.data)) else {
        return Ok(State::Absent);
    };
    let judgement = (experiment.judge)(&data);
    Ok(State::Measured {
        record: Box::new(record),
        svg: plot(&judgement.figures)?,
        judgement,
    })
}

/// The commit of Brickyard's sources, if this runs in a checkout of them.
fn commit() -> Option<String> {
    let is_ours = Path::new("crates/experiments/Cargo.toml").is_file();
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if !is_ours {
        return None;
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

#[cfg(test)]
#[path = "campaign_test.rs"]
mod campaign_test;
