//! `brickyard inspect`: look into a data directory, verify it, repair it.
//!
//! In:  a data directory. Out: its tables, files and control log; with `--verify` every byte checked; on
//!      request a cut tail or a repaired segment.
//!
//! Invariants:
//! - Without `--repair-tail` and `--discard-damaged` nothing is changed.
//! - Everything but the plain listing holds the directory's lock, so no server is at work meanwhile.
//! - Nothing that can be read is lost by a repair, and what would be lost is told before.

mod control;
mod listing;
mod verify;

use anyhow::{Context as _, bail};
use brickyard_store::inspect::{plan_discard, repair_torn_tail};
use brickyard_store::{Create, DataDir};
use brickyard_types::{BrickId, SegmentId};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `brickyard inspect` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Without options the tables and files are listed, also while a server runs. The other options need
the directory to themselves: stop the server first. Exit code 1: something is damaged.
DIR may also be one that has the data directories of several nodes, as `brickyard dev --dir` makes it: then each is
listed, or verified.")]
pub(crate) struct Arguments {
    /// The data directory, or one with several in it
    dir: PathBuf,
    /// Read and check every byte of every log
    #[arg(long)]
    verify: bool,
    /// Cut an unreadable tail off the last segment; a server does so by itself after a crash
    #[arg(long, conflicts_with = "discard_damaged")]
    repair_tail: bool,
    /// Write this segment anew without its damaged ranges; the original is kept beside it
    #[arg(long, value_name = "SEGMENT")]
    discard_damaged: Option<u32>,
    /// Do it; without this only what would be lost is told
    #[arg(long, requires = "discard_damaged")]
    yes: bool,
    /// Only this brick's log
    #[arg(long, value_name = "N")]
    brick: Option<u32>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let within = data_directories(&arguments.dir);
    if within.is_empty() {
        return run_one(arguments);
    }
    if arguments.json || arguments.repair_tail || arguments.discard_damaged.is_some() {
        let within: Vec<String> = within.iter().map(|dir| dir.display().to_string()).collect();
        bail!(
            "{} is not a data directory and has {}: name one of them",
            arguments.dir.display(),
            within.join(", ")
        );
    }
    let mut code = ExitCode::SUCCESS;
    for dir in within {
        println!("{}:", dir.display());
        let one = Arguments {
            dir: dir.clone(),
            ..arguments.clone()
        };
        let ended = run_one(one).with_context(|| dir.display().to_string())?;
        if ended != ExitCode::SUCCESS {
            code = ended;
        }
    }
    Ok(code)
}

/// The data directories in a directory that is none itself, by name.
fn data_directories(dir: &Path) -> Vec<PathBuf> {
    let is_one = |dir: &Path| dir.join("FORMAT").is_file();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut within: Vec<PathBuf> = match is_one(dir) {
        true => Vec::new(),
        false => entries
            .map(|entry| entry.path())
            .filter(|it| is_one(it))
            .collect(),
    };
    within.sort();
    within
}

fn run_one(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if !arguments.verify && !arguments.repair_tail && arguments.discard_damaged.is_none() {
        return listing::run(&arguments.dir, arguments.json);
    }
    let directory = DataDir::open(&arguments.dir, Create::Never)?;
    let mut bricks = directory.bricks()?;
    if let Some(wanted) = arguments.brick {
        bricks.retain(|brick| brick.0 == wanted);
        if bricks.is_empty() {
            bail!(
                "{} has no brick {wanted}; see `brickyard inspect DIR`",
                directory.path().display()
            );
        }
    }
    if let Some(segment) = arguments.discard_damaged {
        let &[brick] = bricks.as_slice() else {
            bail!(
                "there are {} bricks, each with segments of its own: add --brick N",
                bricks.len()
            );
        };
        return discard(&directory, brick, SegmentId(segment), arguments.yes);
    }
    if arguments.repair_tail {
        repair_tails(&directory, &bricks)?;
        if !arguments.verify {
            return Ok(ExitCode::SUCCESS);
        }
    }
    verify::run(&directory, &bricks, arguments.json)
}

fn repair_tails(directory: &DataDir, bricks: &[BrickId]) -> anyhow::Result<()> {
    for &brick in bricks {
        let disk = directory.brick(brick)?;
        match repair_torn_tail(&disk).with_context(|| format!("brick {brick}"))? {
            Some(cut) => eprintln!("brick {brick}: {cut}"),
            None => eprintln!("brick {brick}: no torn tail"),
        }
    }
    Ok(())
}

fn discard(
    directory: &DataDir,
    brick: BrickId,
    segment: SegmentId,
    is_confirmed: bool,
) -> anyhow::Result<ExitCode> {
    let disk = directory.brick(brick)?;
    let Some(plan) = plan_discard(&disk, segment)? else {
        println!("brick {brick}: segment {segment} has no damage; nothing to do");
        return Ok(ExitCode::SUCCESS);
    };
    println!("brick {brick}: {plan}");
    if !is_confirmed {
        println!("Nothing was changed. To do it, add --yes.");
        return Ok(ExitCode::FAILURE);
    }
    let done = plan.apply()?;
    println!(
        "brick {brick}: segment {segment} was written anew with {} records ({} bytes); the original \
         is {} beside it",
        done.records, done.file_bytes, done.original
    );
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
#[path = "inspect_test.rs"]
mod inspect_test;
