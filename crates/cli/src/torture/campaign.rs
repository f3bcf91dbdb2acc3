//! Round after round until the time is over.
//!
//! In:  a [`Plan`]. Out: a report, and whether every history was linearizable.

use super::cluster::Cluster;
use super::plan::Plan;
use super::report::{self, CampaignResult};
use super::round::{self, Round};
use anyhow::Context as _;
use brickyard_torture::Order;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// Runs the campaign; whether nothing was wrong.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let dir = Dir::open(plan.dir.as_deref())?;
    let result = LocalSet::new().block_on(&runtime, carry_out(plan, dir.path()));
    // What went wrong is to be looked into.
    let is_good = matches!(&result, Ok(result) if result.is_good());
    let kept = dir.end(is_good);
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            let place = kept.map_or_else(String::new, |kept| {
                format!("; data and logs are in {}", kept.display())
            });
            return Err(error.context(format!("the campaign did not come to its end{place}")));
        }
    };
    let page = report::page(plan, &result);
    fs::write(&plan.report, page)
        .with_context(|| format!("cannot write the report to {}", plan.report.display()))?;
    print!("{}", report::summary(&result));
    println!("Report: {}", plan.report.display());
    if let Some(kept) = kept {
        println!("Data and logs: {}", kept.display());
    }
    Ok(is_good)
}

async fn carry_out(plan: &Plan, dir: &Path) -> anyhow::Result<CampaignResult> {
    let begin = Instant::now();
    let cluster = Cluster::start(plan, dir).await?;
    let bar = bar(plan);
    let mut order = Order::new(&plan.kinds, plan.seed);
    let mut result = CampaignResult::default();
    while plan.time.is_none_or(|time| begin.elapsed() < time)
        && plan.rounds.is_none_or(|most| result.rounds.len() < most)
        && let Some((kind, draw)) = order.draw_next()
    {
        let number = result.rounds.len();
        bar.set_position(match plan.time {
            Some(time) => begin.elapsed().as_secs().min(time.as_secs()),
            None => number as u64,
        });
        bar.set_message(kind.title());
        let round = tokio::select! {
            round = round::run(&cluster, number, kind, draw, plan.patience) => round,
            _ = tokio::signal::ctrl_c() => break,
        };
        let round = round.map_err(|error| {
            anyhow::anyhow!(
                "round {number}, {}, seed {}: {error:#}; {}",
                kind.title(),
                plan.seed,
                cluster.last_words()
            )
        })?;
        let is_bad = round.checked.is_err();
        if is_bad {
            keep_history(dir, number, &round)?;
        }
        result.rounds.push(round);
        if is_bad {
            // What comes later would bury it.
            break;
        }
    }
    bar.finish_and_clear();
    cluster.end().await;
    result.took = begin.elapsed();
    Ok(result)
}

fn bar(plan: &Plan) -> ProgressBar {
    let (len, template) = match plan.time {
        Some(time) => (time.as_secs(), "{bar:30} {elapsed}/{len}s  {msg}"),
        None => {
            let rounds = plan.rounds.unwrap_or_default();
            (rounds as u64, "{bar:30} {elapsed}  {pos}/{len}  {msg}")
        }
    };
    let bar = ProgressBar::new(len);
    // The templates are constants, and have been seen to work.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// Writes every operation of a round, one a line, beside the logs.
fn keep_history(dir: &Path, number: usize, round: &Round) -> anyhow::Result<()> {
    let mut text = String::new();
    for operation in &round.history {
        let _ = writeln!(text, "{operation}");
    }
    let path = dir.join(format!("round{number}.history"));
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Where data and logs are.
pub(super) enum Dir {
    Given(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Dir {
    pub(super) fn open(given: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = given else {
            let dir = tempfile::Builder::new()
                .prefix("brickyard-torture-")
                .tempdir();
            return Ok(Self::Temporary(
                dir.context("cannot make a temporary directory")?,
            ));
        };
        fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        let mut entries =
            fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::ensure!(
            entries.next().is_none(),
            "{} is not empty; a campaign begins with new data, choose another --dir",
            path.display()
        );
        Ok(Self::Given(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Temporary(dir) => dir.path(),
        }
    }

    /// Where the data stays, if it does.
    pub(super) fn end(self, is_good: bool) -> Option<PathBuf> {
        match self {
            Self::Given(path) => Some(path),
            Self::Temporary(dir) => (!is_good).then(|| dir.keep()),
        }
    }
}
